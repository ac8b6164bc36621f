"""A cluster that is a dictionary of objects, and whose pods are folders of this machine."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rdlc.errors import RdlcError
from rdlc.operations.look_cluster import Object, PodPlace


@dataclass(kw_only=True)
class FakeEyes:
    """Objects by kind; a program of a pod runs here, with its Ray below a folder of its own.

    `answers` are printed in place of running a program, by pod; `refused` are kinds and pods that say why not.
    """

    objects: Mapping[str, list[dict[str, Any]]]
    pods: Path
    answers: dict[str, bytes] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)

    def get(self, kind: str, name: str, *, namespace: str) -> Object | None:
        return next((item for item in self.list(kind, namespace=namespace) if item["metadata"]["name"] == name), None)

    def list(self, kind: str, *, namespace: str | None, selector: str = "") -> Iterator[dict[str, Any]]:
        if kind in self.refused:
            raise RdlcError(self.refused[kind])
        for item in self.objects.get(kind, []):
            if namespace in {None, item["metadata"].get("namespace")}:
                yield item

    def run_python(self, place: PodPlace, program: str, *arguments: str, stdout: Callable[[bytes], object]) -> None:
        if place.pod in self.refused:
            raise RdlcError(self.refused[place.pod])
        if "8265" in program:
            stdout(self.answers["ray"])
            return
        said = self.answers.get(place.pod)
        if said is None:
            environment = {**os.environ, "RAY_TMPDIR": str(self.pods / place.pod)}
            done = subprocess.run(
                [sys.executable, "-", *arguments],
                input=program.encode(),
                env=environment,
                capture_output=True,
                check=True,
            )
            said = done.stdout
        for start in range(0, len(said), 1000):
            stdout(said[start : start + 1000])
