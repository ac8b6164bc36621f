"""Look at a cluster: a RayCluster, its pods, their nodes, what serves them, and Ray's own tables."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Protocol, TypeVar

from rdlc.core.canonical import Json
from rdlc.core.kube.objects import Clear, belongs_to, read_groups, read_node, read_object, read_pod
from rdlc.core.kube.observed import HEAD, ClusterSeen, NodeSeen, PodSeen
from rdlc.core.kube.plugins import OPERATOR_SELECTOR, PLUGIN_NAMESPACE, find_plugins
from rdlc.core.kube.pod_programs import RAY_PROGRAM
from rdlc.core.kube.ray_answer import ANSWER_LIMIT_BYTES, JobSeen, RayAnswer, read_ray_answer
from rdlc.core.text import one_line
from rdlc.errors import InputError, Interrupted, RdlcError
from rdlc.operations.cluster_ports import Container, ExecEnd

Seen = TypeVar("Seen")
Object = Mapping[str, Json]
_RAYCLUSTER = "rayclusters.ray.io"
_WHY_LIMIT = 300
_PROGRAM_LIMIT_S = 900.0
_NO_CLEAR: Clear = {}


class Eyes(Protocol):
    """What looking needs of a cluster: a part of ClusterPort."""

    def get(self, kind: str, name: str, *, namespace: str | None) -> Object | None:
        """One object; None if there is none of that name."""
        ...

    def list(self, kind: str, *, namespace: str | None, labels: str = "", fields: str = "") -> Iterator[Object]:
        """The objects of a kind, one by one."""
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


@dataclass(frozen=True, kw_only=True, slots=True)
class Look:
    """A cluster as it was seen, and the jobs of its Ray, the last one last; None if they could not be seen."""

    seen: ClusterSeen
    jobs: tuple[JobSeen, ...] | None


def look(
    eyes: Eyes, *, namespace: str, name: str, time: str, clear: Clear = _NO_CLEAR, asked: Object | None = None
) -> Look:
    """The cluster at this moment; what the role may not see is left open, with the reason.

    `clear` are values of environments that were asked for. `asked` is what it was created from a moment ago:
    then it gets a while until Ray has counted its pods. Raises RdlcError if there is no such
    RayCluster, or its pods cannot be seen.
    """
    found = eyes.get(_RAYCLUSTER, name, namespace=namespace)
    if found is None:
        raise RdlcError(
            f"there is no RayCluster `{one_line(name)}` in namespace `{one_line(namespace)}`",
            hint=f"`kubectl get rayclusters -n {one_line(namespace)}`",
        )
    pods = sorted(
        (
            read_pod(pod, clear=clear)
            for pod in eyes.list("pods", namespace=namespace, labels=f"ray.io/cluster={name}")
            # A server that ignores selectors must not bring another cluster's pods in.
            if belongs_to(pod, name)
        ),
        key=lambda pod: (pod.group != HEAD, pod.group, pod.name),
    )
    unseen: dict[str, str] = {}
    nodes = _try("nodes", unseen, lambda: _look_at_nodes(eyes, pods))
    plugins = _try("plugins", unseen, lambda: _look_at_plugins(eyes))
    ray = _try("Ray nodes", unseen, lambda: _ask_ray(eyes, namespace, pods, due=len(pods) if asked is not None else 0))
    seen = ClusterSeen(
        time=time,
        cluster=read_object(found, clear=clear),
        pods=tuple(pods),
        nodes=nodes,
        plugins=plugins,
        ray_nodes=None if ray is None else ray.nodes,
        unseen=unseen,
        asked=None if asked is None else read_groups(asked),
    )
    return Look(seen=seen, jobs=None if ray is None else ray.jobs)


def run_python(eyes: Eyes, place: Container, program: str, *arguments: str, stdout: Callable[[bytes], object]) -> None:
    """Runs a Python program in a pod and hands over what it prints; raises RdlcError unless it ended with 0."""
    # Through stdin: a command stands in the address of the request, and proxies cut long ones.
    end = eyes.exec(
        place, ("python3", "-", *arguments), stdin=program.encode("ascii"), stdout=stdout, limit_s=_PROGRAM_LIMIT_S
    )
    told = one_line(end.told.strip(), limit=_WHY_LIMIT)
    if end.exit_code is None:
        raise RdlcError(f"the stream from pod `{place.pod}` broke off{f': {told}' if told else ''}")
    if end.exit_code != 0:
        raise RdlcError(f"the program in pod `{place.pod}` ended with {end.exit_code}{f': {told}' if told else ''}")


def main_container(pod: PodSeen) -> str:
    """The container of a pod that Ray runs in: the first that is no init container."""
    names = [held.name for held in pod.containers if not held.is_init]
    if not names:
        raise RdlcError(f"pod `{pod.name}` has no container")
    return names[0]


def _try(what: str, unseen: dict[str, str], see: Callable[[], Seen]) -> Seen | None:
    try:
        return see()
    except Interrupted:
        raise
    except RdlcError as error:
        unseen[what] = one_line(error.message, limit=_WHY_LIMIT) or "no reason was given"
        return None


def _look_at_nodes(eyes: Eyes, pods: Sequence[PodSeen]) -> tuple[NodeSeen, ...]:
    names = {pod.node for pod in pods}
    nodes = (read_node(node) for node in eyes.list("nodes", namespace=None))
    return tuple(sorted((node for node in nodes if node.name in names), key=lambda node: node.name))


def _look_at_plugins(eyes: Eyes) -> Mapping[str, str]:
    serving = eyes.list("pods", namespace=PLUGIN_NAMESPACE)
    operator = eyes.list("pods", namespace=None, labels=OPERATOR_SELECTOR)
    return find_plugins(chain(serving, operator))


def _ask_ray(eyes: Eyes, namespace: str, pods: Sequence[PodSeen], *, due: int) -> RayAnswer:
    head = next((pod for pod in pods if pod.group == HEAD and not pod.is_leaving), None)
    if head is None:
        raise RdlcError("there is no head pod to ask")
    said = bytearray()

    def take(chunk: bytes) -> None:
        said.extend(chunk)
        if len(said) > ANSWER_LIMIT_BYTES:
            raise InputError("says more than was asked for", file=head.name)

    place = Container(namespace=namespace, pod=head.name, container=main_container(head))
    run_python(eyes, place, RAY_PROGRAM, str(due), stdout=take)
    # An exec that lost its stream can end like one that did not.
    if not said.endswith(b"\n"):
        raise RdlcError(f"the answer of pod `{head.name}` broke off")
    return read_ray_answer(bytes(said), name=head.name)
