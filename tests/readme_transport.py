"""The transport example of the README: what `rdlc transport` says of a real log."""

import contextlib
import io
from pathlib import Path

from rdlc.cli import run_command_line

LOG = Path(__file__).parent / "core/transport/logs/socket.log"


def transport_example() -> str:
    """What `rdlc transport` prints for a job of two H200s that was made to use sockets, in one code block."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        code = run_command_line(["transport", str(LOG)])
    if code != 1:
        raise RuntimeError(f"`rdlc transport` of the example ended with exit code {code}")
    text = said.getvalue().replace(str(LOG), "nccl.log")
    lines = "\n".join(line.rstrip() for line in text.rstrip().split("\n"))
    return f"```\n$ rdlc transport nccl.log\n{lines}\n```"
