"""What the operations need of a Kubernetes cluster.

A kind is written as `kubectl api-resources` names it: `pods`, `nodes`, `events`, `daemonsets.apps`,
`deployments.apps`, `rayclusters.ray.io`. The API server's no is `core.kube.answers.ClusterRefused`, with its
reason; a server that cannot be reached or asks to wait is `OutsideError`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from rdlc.core.canonical import Json


@dataclass(frozen=True, kw_only=True, slots=True)
class Container:
    """One container of a pod."""

    namespace: str
    pod: str
    container: str


class ExecEnd(Protocol):
    """How a program in a pod ended, as far as its stream tells."""

    @property
    def exit_code(self) -> int | None:
        """The exit code of the program; None if the stream broke before it was told: then it may still run."""
        ...

    @property
    def told(self) -> str:
        """The end of what was said on stderr, by the program or by the client."""
        ...


class RunningExec(Protocol):
    """A program in a pod whose output comes as it runs."""

    def read_new(self, *, wait_s: float) -> bytes:
        """What came since the last call, after at most `wait_s`; b"" if nothing did."""
        ...

    def poll(self) -> ExecEnd | None:
        """How it ended, once all of its output was read; None before."""
        ...

    def close(self) -> None:
        """Lets go of the stream; the program in the pod may go on."""
        ...


class ClusterLook(Protocol):
    """A cluster that is only looked at."""

    def get(self, kind: str, name: str, *, namespace: str | None) -> Mapping[str, Json] | None:
        """One object; None if there is none of that name. Raises ClusterRefused, `Forbidden` among others."""
        ...

    def list(
        self, kind: str, *, namespace: str | None, labels: str = "", fields: str = ""
    ) -> Iterator[Mapping[str, Json]]:
        """The objects of a kind, one by one, a page in memory at a time; `namespace` None means all of them."""
        ...

    def can_i(self, verb: str, kind: str, *, namespace: str | None, subresource: str = "") -> bool:
        """Whether the cluster lets this user do that."""
        ...

    def version(self) -> str:
        """The version of the API server, such as `v1.36.2`."""
        ...

    def logs(self, place: Container, *, stdout: Callable[[bytes], object], limit_bytes: int) -> None:
        """Hands over what the container wrote, up to a bound."""
        ...


class ClusterPort(ClusterLook, Protocol):
    """A cluster in which something is run."""

    def create(self, item: Mapping[str, Json], *, kind: str, namespace: str) -> Mapping[str, Json]:
        """The object as it was created, fields checked strictly; ClusterRefused, `AlreadyExists` among others."""
        ...

    def delete(self, kind: str, name: str, *, namespace: str, uid: str = "") -> bool:
        """Takes an object away, with all that belongs to it; False if there was none, or none of that uid."""
        ...

    def annotate(self, kind: str, name: str, values: Mapping[str, str], *, namespace: str) -> None:
        """Puts annotations on an object."""
        ...

    def exec(
        self,
        place: Container,
        command: Sequence[str],
        *,
        stdin: bytes | Path = b"",
        stdout: Callable[[bytes], object],
        limit_s: float,
    ) -> ExecEnd:
        """Runs a program in a pod to its end, or until the stream breaks or the time is over."""
        ...

    def start_exec(self, place: Container, command: Sequence[str], *, stdin: bytes = b"") -> RunningExec:
        """Starts a program in a pod and gives its stream."""
        ...
