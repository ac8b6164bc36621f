"""AWS as moto imitates it, in a process of its own."""

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.registry.needs import give_up
from tests.registry.processes import answers, free_port, running


@contextlib.contextmanager
def moto_server(folder: Path, *, port: int | None = None) -> Iterator[str]:
    """The address to give as `AWS_ENDPOINT_URL`; on a free port if none is given."""
    program = Path(sys.executable).parent / "moto_server"
    if not program.exists():
        give_up("not installed: moto, `pip install 'moto[server,ecr]'`")
    port = port or free_port()
    command = (str(program), "-H", "127.0.0.1", "-p", str(port))
    with running(command, log=folder / "moto.log", is_ready=lambda: answers(port)):
        yield f"http://127.0.0.1:{port}"
