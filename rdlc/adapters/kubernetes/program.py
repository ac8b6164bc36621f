"""Starts `kubectl` and reads it in bounds: every argument explicit, no shell, a time limit, an end for sure."""

import contextlib
import logging
import os
import re
import select
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO

from rdlc.core.kube.answers import ClusterRefused, UnknownKind
from rdlc.core.text import one_line
from rdlc.errors import OutsideError, RdlcError

_log = logging.getLogger(__name__)
CHUNK_BYTES = 1 << 16
_TOLD_LIMIT_BYTES = 8192
_SAID = re.compile(r"Error from server(?: \((?P<reason>[A-Za-z]+)\))?: (?P<text>.*)", re.DOTALL)
# The server answered, and its answer is no; everything else is a service that does not work now.
_REFUSALS = ("AlreadyExists", "BadRequest", "Conflict", "Forbidden", "Invalid", "MethodNotAllowed", "NotFound")
_NO_KIND = ("could not find the requested resource", "the server doesn't have a resource type")
_LOGIN = ("You must be logged in", "Unauthorized", "getting credentials")


@dataclass(frozen=True, kw_only=True, slots=True)
class Kubectl:
    """Which cluster, as every call says it; `kubeconfig` None and `context` "" are the user's own."""

    cache: Path
    kubeconfig: Path | None = None
    context: str = ""
    program: str = "kubectl"

    def command(self, verb: str, *arguments: str) -> tuple[str, ...]:
        """The whole argument list of a call."""
        place = () if self.kubeconfig is None else (f"--kubeconfig={self.kubeconfig}",)
        context = (f"--context={self.context}",) if self.context else ()
        return (self.program, verb, *place, *context, f"--cache-dir={self.cache}", *arguments)


def current_context(kubectl: Kubectl) -> str:
    """The context that the kubeconfig names as the current one; "" if it names none."""
    try:
        command = kubectl.command("config", "current-context")
        return read_all(command, limit_s=30.0, limit_bytes=4096).decode("utf-8", "replace").strip()
    except OutsideError:
        return ""


class Call:
    """A running `kubectl`; leaving its `with` block ends it."""

    def __init__(self, command: tuple[str, ...], *, stdin: bytes | Path = b"") -> None:
        _log.debug("%s", command)
        self._told = tempfile.TemporaryFile()  # noqa: SIM115 - closed by close()
        try:
            with _given(stdin) as given:
                self._process = subprocess.Popen(
                    command, stdin=given, stdout=subprocess.PIPE, stderr=self._told, start_new_session=True
                )
        except OSError as error:
            self._told.close()
            hint = "install kubectl 1.30 or newer"
            raise RdlcError(f"`{command[0]}` cannot be started: {error.strerror}", hint=hint) from error
        assert self._process.stdout is not None
        self._output = self._process.stdout

    def __enter__(self) -> "Call":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def read(self, *, wait_s: float) -> bytes | None:
        """Some bytes of its output within the time; None if there are none yet, b"" at the end."""
        if self._output.closed:
            return b""
        if not select.select([self._output], [], [], max(0.0, wait_s))[0]:
            return None
        return os.read(self._output.fileno(), CHUNK_BYTES)

    def wait(self, *, limit_s: float) -> int | None:
        """Its exit status; None if it had to be ended."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self._process.wait(limit_s)
        return None

    def told(self) -> str:
        """The end of what it said on stderr."""
        if self._told.closed:
            return ""
        size = self._told.seek(0, os.SEEK_END)
        self._told.seek(max(0, size - _TOLD_LIMIT_BYTES))
        return self._told.read().decode("utf-8", "replace")

    def close(self) -> None:
        """Ends it and what it started (a login helper, for one)."""
        self._output.close()
        if self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._told.close()


def read_all(command: tuple[str, ...], *, stdin: bytes = b"", limit_s: float, limit_bytes: int) -> bytes:
    """What a short call prints; raises when it says no, is too slow or prints too much."""
    deadline_s = time.monotonic() + limit_s
    data = bytearray()
    with Call(command, stdin=stdin) as call:
        while chunk := call.read(wait_s=deadline_s - time.monotonic()):
            data += chunk
            if len(data) > limit_bytes:
                raise OutsideError(f"the cluster's answer is larger than {limit_bytes >> 20} MiB")
        status = call.wait(limit_s=max(0.0, deadline_s - time.monotonic()) + 1) if chunk is not None else None
        if status is None:
            raise OutsideError(f"the cluster did not answer within {limit_s:.0f} s")
        if status != 0:
            raise said_no(call.told())
    return bytes(data)


def said_no(told: str) -> RdlcError:
    """The error in what `kubectl` said on stderr."""
    found = _SAID.search(told)
    words = one_line((found["text"] if found else told).strip(), limit=600) or "it said nothing"
    if any(sign in told for sign in _NO_KIND):
        return UnknownKind(f"the cluster does not know this kind of object: {words}", reason="NotFound")
    if any(sign in told for sign in _LOGIN):
        return OutsideError(f"the cluster does not accept the login: {words}", hint="`kubectl auth whoami`")
    if found and found["reason"] in _REFUSALS:
        return ClusterRefused(words, reason=found["reason"])
    if found:
        return OutsideError(f"the cluster did not answer as it should: {words}")
    return OutsideError(f"the cluster cannot be reached: {words}", hint="`kubectl cluster-info`")


def _given(stdin: bytes | Path) -> IO[bytes]:
    if isinstance(stdin, Path):
        return stdin.open("rb")
    file = tempfile.TemporaryFile()  # noqa: SIM115 - closed by the caller
    file.write(stdin)
    file.seek(0)
    return file
