"""Starting the programs that the tests talk to, and ending exactly those."""

import contextlib
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest


def free_port() -> int:
    """A loopback port that nothing listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def answers(port: int) -> bool:
    """Whether something listens on the loopback port."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


@contextlib.contextmanager
def running(
    command: Sequence[str],
    *,
    log: Path,
    is_ready: Callable[[], bool],
    environment: Mapping[str, str] | None = None,
    timeout_s: float = 120,
) -> Iterator[subprocess.Popen[bytes]]:
    """The program while it runs; fails with its log if it ends early or does not get ready."""
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, env=environment)
    try:
        deadline = time.monotonic() + timeout_s
        while not is_ready():
            if process.poll() is not None or time.monotonic() > deadline:
                text = log.read_text(encoding="utf-8", errors="replace")[-3000:]
                pytest.fail(f"{command[0]} did not get ready:\n{text}", pytrace=False)
            time.sleep(0.02)
        yield process
    finally:
        process.terminate()
        try:
            process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
