"""A real Docker engine with its own folders, started for the tests and ended with them."""

import contextlib
import http.client
import os
import socket
from collections.abc import Iterator
from pathlib import Path

from tests.registry.needs import give_up, need_programs
from tests.registry.processes import running


@contextlib.contextmanager
def docker_engine(folder: Path) -> Iterator[str]:
    """The engine's address, `unix://...`; it takes registries on loopback without TLS.

    It has no bridge and leaves the network of this machine alone.
    """
    need_programs("dockerd", "containerd", "runc")
    if os.geteuid() != 0:
        give_up("not root: an engine of one's own cannot be started")
    path = folder / "docker.sock"
    if len(str(path)) > 100:
        raise ValueError(f"too long for a socket: {path}")
    command = (
        "dockerd",
        *("--data-root", str(folder / "data"), "--exec-root", str(folder / "exec")),
        *("--pidfile", str(folder / "pid"), "-H", f"unix://{path}"),
        *("--bridge=none", "--iptables=false"),
    )
    search = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/sbin"))
    environment = {**os.environ, "PATH": search}
    with running(command, log=folder / "log", is_ready=lambda: _is_ready(path), environment=environment):
        yield f"unix://{path}"


def _is_ready(path: Path) -> bool:
    """Whether the engine answers `/_ping`."""
    with contextlib.suppress(OSError, http.client.HTTPException), socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(10)
        connection.connect(str(path))
        connection.sendall(b"GET /_ping HTTP/1.0\r\nHost: engine\r\n\r\n")
        return b" 200 " in connection.recv(100)
    return False
