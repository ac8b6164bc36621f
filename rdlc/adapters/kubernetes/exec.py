"""Programs in pods, by `kubectl exec`, with an end that can be trusted.

kubectl's own exit code does not tell a program that failed from a stream that broke. So the program runs below a
shell that prints some words behind its output: a mark that only this call knows, and the exit code. What lies
before the mark is whole; without the mark nothing is known, and the program may still run.
"""

import re
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rdlc.adapters.kubernetes.program import Call

# "$@" is the program; printf is part of every shell.
_WRAPPED = '"$@"; printf "%s %d\\n" "$RDLC_MARK" "$?"'
_CODE = re.compile(rb" (\d{1,3})\n")
_ENDING_LIMIT_S = 10.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Ended:
    """How a program in a pod ended; `exit_code` None if the stream broke before it was told."""

    exit_code: int | None
    told: str


def wrapped(command: Sequence[str], mark: str) -> tuple[str, ...]:
    """The command with a mark printed behind its output."""
    return ("sh", "-c", f"RDLC_MARK={mark}; {_WRAPPED}", "sh", *command)


class Trailer:
    """Takes the output in pieces and keeps the mark back."""

    def __init__(self, mark: str) -> None:
        self._mark = mark.encode("ascii")
        self._held = b""
        self.exit_code: int | None = None

    def take(self, chunk: bytes) -> bytes:
        """The bytes that surely belong to the program's output."""
        data = self._held + chunk
        found = data.find(self._mark)
        if found >= 0:
            code = _CODE.fullmatch(data, found + len(self._mark))
            if code:
                self.exit_code = int(code[1])
            self._held = data[found:]
            return data[:found]
        # Only what may be the beginning of the mark: a sign of life must not wait for what comes behind it.
        most = min(len(data), len(self._mark) - 1)
        kept = next((size for size in range(most, 0, -1) if self._mark.startswith(data[len(data) - size :])), 0)
        self._held = data[len(data) - kept :]
        return data[: len(data) - kept]

    def rest(self) -> bytes:
        """What was held back, once the stream is over; b"" when that was the mark."""
        return b"" if self.exit_code is not None else self._held


class Running:
    """A program in a pod whose output comes as it runs."""

    def __init__(self, command: tuple[str, ...], mark: str, *, stdin: bytes | Path) -> None:
        self._call = Call(command, stdin=stdin)
        self._trailer = Trailer(mark)
        self._end: Ended | None = None

    def read_new(self, *, wait_s: float) -> bytes:
        """What came since the last call, after at most `wait_s`; b"" if nothing did."""
        if self._end is not None:
            return b""
        chunk = self._call.read(wait_s=wait_s)
        if chunk is None:
            return b""
        if chunk:
            return self._trailer.take(chunk)
        self._call.wait(limit_s=_ENDING_LIMIT_S)
        self._end = Ended(exit_code=self._trailer.exit_code, told=self._call.told())
        self._call.close()
        return self._trailer.rest()

    def poll(self) -> Ended | None:
        """How it ended, once all of its output was read; None before."""
        return self._end

    def close(self) -> None:
        """Lets go of the stream; the program in the pod may go on."""
        if self._end is None:
            self._end = Ended(exit_code=self._trailer.exit_code, told=self._call.told())
            self._call.close()


def run_to_end(running: Running, *, stdout: Callable[[bytes], object], limit_s: float) -> Ended:
    """Hands over the output until the program ends, the stream breaks or the time is over."""
    deadline_s = time.monotonic() + limit_s
    try:
        while (end := running.poll()) is None:
            left_s = deadline_s - time.monotonic()
            if left_s <= 0:
                return Ended(exit_code=None, told=f"it did not end within {limit_s:.0f} s")
            if data := running.read_new(wait_s=left_s):
                stdout(data)
        return end
    finally:
        running.close()


def new_mark() -> str:
    """A mark that no output holds by chance."""
    return f"rdlc-end-{secrets.token_hex(16)}"
