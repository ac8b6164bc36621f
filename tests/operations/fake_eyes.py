"""A cluster that is a dictionary of objects, and whose pods are folders of this machine."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rdlc.errors import RdlcError
from rdlc.operations.cluster_ports import Container
from rdlc.operations.look_cluster import Object


@dataclass(frozen=True, kw_only=True)
class End:
    """How a program ended."""

    exit_code: int | None
    told: str


@dataclass(kw_only=True)
class FakeEyes:
    """Objects by kind; a program of a pod runs here, with its Ray below a folder of its own.

    `answers` are printed in place of running a program, by pod; `refused` are kinds and pods that say why not.
    """

    objects: Mapping[str, list[dict[str, Any]]]
    pods: Path
    answers: dict[str, bytes] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)

    def get(self, kind: str, name: str, *, namespace: str | None) -> Object | None:
        return next((item for item in self.list(kind, namespace=namespace) if item["metadata"]["name"] == name), None)

    def list(self, kind: str, *, namespace: str | None, labels: str = "", fields: str = "") -> Iterator[dict[str, Any]]:
        if kind in self.refused:
            raise RdlcError(self.refused[kind])
        for item in self.objects.get(kind, []):
            if namespace in {None, item["metadata"].get("namespace")}:
                yield item

    def exec(
        self,
        place: Container,
        command: Sequence[str],
        *,
        stdin: bytes | Path = b"",
        stdout: Callable[[bytes], object],
        limit_s: float,
    ) -> End:
        assert isinstance(stdin, bytes)
        if place.pod in self.refused:
            return End(exit_code=1, told=self.refused[place.pod])
        said = self.answers["ray"] if b"/api/v0/nodes" in stdin else self.answers.get(place.pod)
        if said is None:
            environment = {**os.environ, "RAY_TMPDIR": str(self.pods / place.pod)}
            python, *arguments = command
            assert python == "python3"
            done = subprocess.run(
                [sys.executable, *arguments], input=stdin, env=environment, capture_output=True, check=True
            )
            said = done.stdout
        for start in range(0, len(said), 1000):
            stdout(said[start : start + 1000])
        return End(exit_code=0, told="")
