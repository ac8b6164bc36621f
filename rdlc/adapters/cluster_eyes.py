"""Looks at a Kubernetes cluster with `kubectl`: only reads, page by page, every argument explicit."""

import json
import logging
import os
import re
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any, Protocol
from urllib.parse import quote, urlencode

from rdlc.core.canonical import Json
from rdlc.core.text import one_line
from rdlc.errors import OutsideError, RdlcError

_log = logging.getLogger(__name__)
_PAGE = 250
_PAGE_LIMIT_BYTES = 64 << 20
_CHUNK_BYTES = 1 << 16
_CALL_LIMIT_S = 60.0
_PROGRAM_LIMIT_S = 900.0
_TOLD_LIMIT_BYTES = 4096
_PATHS = {
    "daemonsets.apps": "/apis/apps/v1",
    "nodes": "/api/v1",
    "pods": "/api/v1",
    "rayclusters.ray.io": "/apis/ray.io/v1",
}
_REASON = re.compile(r"Error from server(?: \((?P<reason>\w+)\))?: (?P<text>.*)", re.DOTALL)
# The server answered, and its answer is no; everything else is a service that does not work.
_REFUSALS = ("BadRequest", "Forbidden", "NotFound", "MethodNotAllowed", "Invalid")


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


class KubectlEyes:
    """One cluster through the user's own `kubectl`; `context` "" is the current one of the kubeconfig."""

    def __init__(self, *, context: str = "", kubectl: str = "kubectl") -> None:
        self._start = (kubectl, *((f"--context={context}",) if context else ()))

    def get(self, kind: str, name: str, *, namespace: str) -> Mapping[str, Json] | None:
        """One object; None if there is none of that name."""
        try:
            return self._raw(f"{_path(kind, namespace)}/{quote(name, safe='')}")
        except _NotFound as error:
            # The kind itself may be unknown: then there is no such thing as one of that name.
            if error.is_of_kind:
                raise RdlcError(f"the cluster does not know `{kind}`", hint="install the KubeRay operator") from error
            return None

    def list(self, kind: str, *, namespace: str | None, selector: str = "") -> Iterator[Mapping[str, Json]]:
        """The objects of a kind, one by one, a page in memory at a time."""
        query = {"limit": str(_PAGE), **({"labelSelector": selector} if selector else {})}
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

    def run_python(self, place: Place, program: str, *arguments: str, stdout: Callable[[bytes], object]) -> None:
        """Runs a Python program in a pod, through its stdin, and hands over what it prints."""
        command = (
            *self._start, "exec", "-i", f"--namespace={place.namespace}", place.pod, f"--container={place.container}",
            "--pod-running-timeout=10s", "--", "python3", "-", *arguments,
        )  # fmt: skip
        with _called(command, program.encode(), _PROGRAM_LIMIT_S) as output:
            while chunk := os.read(output.fileno(), _CHUNK_BYTES):
                stdout(chunk)

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


class _NotFound(RdlcError):
    """The server does not have it; `is_of_kind` if it does not know the kind."""

    def __init__(self, message: str, *, is_of_kind: bool) -> None:
        super().__init__(message)
        self.is_of_kind = is_of_kind


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
        if "command terminated with exit code" in told:
            return RdlcError(f"the program in the pod failed: {words}")
        return OutsideError(f"`kubectl`: {words}", hint="`kubectl cluster-info`")
    if found["reason"] == "NotFound":
        return _NotFound(words, is_of_kind="could not find the requested resource" in words)
    if found["reason"] in _REFUSALS:
        return RdlcError(f"{found['reason'].lower()}: {words}")
    return OutsideError(f"the cluster: {words}")
