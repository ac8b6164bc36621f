"""The line between rdlc and the guard and keeper of one job."""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import IO

import rdlc
from rdlc.adapters.ray.processes import KEEPER_VARIABLE
from rdlc.errors import RdlcError

# The folder goes last on the path, so that nothing in it can stand in for the standard library.
_BOOTSTRAP = "import sys; sys.path.append(sys.argv[1]); from rdlc.adapters.ray.keeper import main; main()"


class Channel:
    """Guard and keeper, seen from rdlc; both are gone when their output ends."""

    __slots__ = ("_guard", "_input", "_output")

    def __init__(self, *, token: str, log: Path) -> None:
        """Start the guard, which starts the keeper; what they have to say goes to `log`."""
        order_read, order_write = os.pipe()
        report_read, report_write = os.pipe()
        # As file objects these two are closed whatever happens, and the guard then ends by itself.
        self._input = os.fdopen(order_write, "wb", buffering=0)
        self._output = os.fdopen(report_read, "rb", buffering=0)
        try:
            with os.fdopen(order_read) as stdin, os.fdopen(report_write, "wb") as stdout:
                self._guard = _start_guard(stdin, stdout, token=token, log=log)
        except BaseException as error:
            self._input.close()
            self._output.close()
            if isinstance(error, OSError):
                message = f"cannot start a job: {error.strerror}: `{error.filename}`"
                raise RdlcError(message) from error
            raise

    def send(self, line: bytes) -> None:
        """Write one line, unless nobody is there to read it."""
        with contextlib.suppress(BrokenPipeError):
            while not self._input.closed and line:
                line = line[self._input.write(line) :]

    def receive(self, *, timeout_s: float) -> bytes:
        """Return one line, or what there is of it at the end; may raise `TimeoutError`."""
        deadline_s = time.monotonic() + timeout_s
        line = b""
        while not line.endswith(b"\n"):
            if not self.is_readable(timeout_s=deadline_s - time.monotonic()):
                raise TimeoutError
            part = self._output.read(4096)
            if not part:
                break
            line += part
        return line

    def is_readable(self, *, timeout_s: float) -> bool:
        """Tell whether there is a line to receive, or the end."""
        if self._output.closed:
            return True
        events = select.poll()
        events.register(self._output, select.POLLIN)
        return bool(events.poll(max(0.0, 1000 * timeout_s)))

    def close(self, *, timeout_s: float) -> bool:
        """Let the two end the job and themselves; return whether they did within the time."""
        self._input.close()
        with contextlib.suppress(TimeoutError, subprocess.TimeoutExpired):
            while not self._output.closed and self.receive(timeout_s=timeout_s):
                pass
            self._output.close()
            self._guard.wait(timeout_s)
            return True
        return False


def _start_guard(stdin: IO[str], stdout: IO[bytes], *, token: str, log: Path) -> subprocess.Popen[bytes]:
    root = str(Path(rdlc.__file__).resolve().parents[1])
    environment = {KEEPER_VARIABLE: token}
    if "LD_LIBRARY_PATH" in os.environ:  # some interpreters do not start without it
        environment["LD_LIBRARY_PATH"] = os.environ["LD_LIBRARY_PATH"]
    with log.open("ab") as stderr:
        return subprocess.Popen(
            [sys.executable, "-I", "-S", "-B", "-c", _BOOTSTRAP, root],
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            cwd="/",
            env=environment,
            start_new_session=True,
        )
