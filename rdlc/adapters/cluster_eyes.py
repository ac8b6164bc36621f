"""Looks at a Kubernetes cluster with `kubectl`: only reads, page by page, every argument explicit."""

import json
import logging
import os
import re
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol
from urllib.parse import quote, urlencode

from rdlc.core.canonical import Json
from rdlc.core.kube.answers import ClusterRefused, UnknownKind
from rdlc.core.text import one_line
from rdlc.errors import OutsideError, RdlcError

_log = logging.getLogger(__name__)
_PAGE = 250
_PAGE_LIMIT_BYTES = 64 << 20
_CHUNK_BYTES = 1 << 16
_CALL_LIMIT_S = 60.0
_TOLD_LIMIT_BYTES = 4096
_PATHS = {
    "daemonsets.apps": "/apis/apps/v1",
    "nodes": "/api/v1",
    "pods": "/api/v1",
    "rayclusters.ray.io": "/apis/ray.io/v1",
}
_REASON = re.compile(r"Error from server(?: \((?P<reason>\w+)\))?: (?P<text>.*)", re.DOTALL)
# The server answered, and its answer is no; everything else is a service that does not work.
_ENDED = re.compile(r"command terminated with exit code ([0-9]{1,3})\b")
_NOT_FOUND = "NotFound"
_REFUSALS = ("BadRequest", "Forbidden", _NOT_FOUND, "MethodNotAllowed", "Invalid")


class Place(Protocol):
    """A container of a pod, as the operations name it."""

    @property
    def namespace(self) -> str:
        """The namespace of the pod."""
        ...

    @property
    def pod(self) -> str:
        """The name of the pod."""
        ...

    @property
    def container(self) -> str:
        """The name of the container."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class ExecEnd:
    """How a program in a pod ended: None where the stream does not tell."""

    exit_code: int | None
    told: str


class KubectlEyes:
    """One cluster through the user's own `kubectl`; `context` "" is the current one of the kubeconfig."""

    def __init__(self, *, context: str = "", kubectl: str = "kubectl") -> None:
        self._start = (kubectl, *((f"--context={context}",) if context else ()))

    def get(self, kind: str, name: str, *, namespace: str | None) -> Mapping[str, Json] | None:
        """One object; None if there is none of that name."""
        try:
            return self._raw(f"{_path(kind, namespace)}/{quote(name, safe='')}")
        except UnknownKind:
            raise
        except ClusterRefused as error:
            if error.reason == _NOT_FOUND:
                return None
            raise

    def list(
        self, kind: str, *, namespace: str | None, labels: str = "", fields: str = ""
    ) -> Iterator[Mapping[str, Json]]:
        """The objects of a kind, one by one, a page in memory at a time."""
        query = {"limit": str(_PAGE)}
        query |= {"labelSelector": labels} if labels else {}
        query |= {"fieldSelector": fields} if fields else {}
        onward = ""
        while True:
            page = self._raw(
                f"{_path(kind, namespace)}?{urlencode({**query, **({'continue': onward} if onward else {})})}"
            )
            items = page.get("items")
            if not isinstance(items, list):
                raise OutsideError(f"the cluster gave no list of `{kind}`")
            yield from (item for item in items if isinstance(item, dict))
            metadata = page.get("metadata")
            following = metadata.get("continue") if isinstance(metadata, dict) else None
            if not isinstance(following, str) or not following or following == onward:
                return
            onward = following

    def exec(
        self,
        place: Place,
        command: Sequence[str],
        *,
        stdin: bytes | Path = b"",
        stdout: Callable[[bytes], object],
        limit_s: float,
    ) -> ExecEnd:
        """Runs a program in a pod to its end, or until the stream breaks or the time is over."""
        assert isinstance(stdin, bytes)
        started = (
            *self._start, "exec", "-i", f"--namespace={place.namespace}", place.pod, f"--container={place.container}",
            "--pod-running-timeout=10s", "--", *command,
        )  # fmt: skip
        try:
            with _called(started, stdin, limit_s) as output:
                while chunk := os.read(output.fileno(), _CHUNK_BYTES):
                    stdout(chunk)
        except _ExitCode as error:
            return ExecEnd(exit_code=error.exit_code, told=error.message)
        except OutsideError as error:
            return ExecEnd(exit_code=None, told=error.message)
        return ExecEnd(exit_code=0, told="")

    def _raw(self, path: str) -> Mapping[str, Any]:
        command = (*self._start, "get", f"--request-timeout={_CALL_LIMIT_S:.0f}s", "--raw", path)
        with _called(command, b"", 2 * _CALL_LIMIT_S) as output:
            data = output.read(_PAGE_LIMIT_BYTES + 1)
        if len(data) > _PAGE_LIMIT_BYTES:
            raise OutsideError(f"the cluster's answer is larger than {_PAGE_LIMIT_BYTES >> 20} MiB")
        try:
            value = json.loads(data, parse_float=str, parse_constant=str)
        except (ValueError, RecursionError) as error:
            raise OutsideError("the cluster's answer is not JSON") from error
        if not isinstance(value, dict):
            raise OutsideError("the cluster's answer is no object")
        return value


class _ExitCode(RdlcError):
    """A program in a pod ended with another exit code than 0."""

    def __init__(self, message: str, *, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def _path(kind: str, namespace: str | None) -> str:
    inside = "" if namespace is None else f"/namespaces/{quote(namespace, safe='')}"
    return f"{_PATHS[kind]}{inside}/{kind.partition('.')[0]}"


@contextmanager
def _called(command: tuple[str, ...], stdin: bytes, limit_s: float) -> Iterator[IO[bytes]]:
    """What a call prints; raises when it ends with another status than 0, and ends it in any case."""
    _log.debug("%s", command)
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as told:
        given.write(stdin)
        given.seek(0)
        try:
            process = subprocess.Popen(command, stdin=given, stdout=subprocess.PIPE, stderr=told)
        except FileNotFoundError as error:
            raise RdlcError("`kubectl` is not installed", hint="install kubectl 1.30 or newer") from error
        timer = threading.Timer(limit_s, process.kill)
        timer.start()
        try:
            assert process.stdout is not None
            with process.stdout:
                yield process.stdout
            status = process.wait()
        finally:
            is_late = not timer.is_alive()
            timer.cancel()
            process.kill()
            process.wait()
        if status != 0:
            told.seek(max(0, told.seek(0, 2) - _TOLD_LIMIT_BYTES))
            raise _error(told.read().decode("utf-8", "replace"), limit_s if is_late else None)


def _error(told: str, limit_s: float | None) -> RdlcError:
    if limit_s is not None:
        return OutsideError(f"`kubectl` was ended after {limit_s:.0f} s")
    found = _REASON.search(told)
    words = one_line((found["text"] if found else told).strip(), limit=400) or "it said nothing"
    if found is None:
        if ended := _ENDED.search(told):
            return _ExitCode(words, exit_code=int(ended[1]))
        return OutsideError(f"`kubectl`: {words}", hint="`kubectl cluster-info`")
    reason = found["reason"] or ""
    if reason not in _REFUSALS:
        return OutsideError(f"the cluster: {words}")
    if "could not find the requested resource" in words:
        return UnknownKind("the cluster does not know this kind of object", reason=reason, hint="install KubeRay")
    return ClusterRefused(f"{reason.lower()}: {words}", reason=reason)
