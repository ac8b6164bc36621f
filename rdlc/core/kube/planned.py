"""A RayCluster as it is about to be created for one run."""

import ipaddress
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from rdlc.core.canonical import Json
from rdlc.core.kube.pod_states import PodState
from rdlc.core.kube.waiting import Patience
from rdlc.errors import InputError

RUN_LABEL = "rdlc/run"


@dataclass(frozen=True, kw_only=True, slots=True)
class ClusterPlan:
    """Where a run goes: the context and namespace, the RayCluster without its name, and how long to wait for it."""

    context: str
    namespace: str
    raycluster: Mapping[str, Json]
    patience: Patience = field(default_factory=Patience)


def named(raycluster: Mapping[str, Json], name: str, *, namespace: str) -> Mapping[str, Json]:
    """The object that is created: with a name of its own, and a label by which it is known as rdlc's."""
    metadata = _below(raycluster, "metadata")
    labels = {**_below(metadata, "labels"), RUN_LABEL: name}
    return {**raycluster, "metadata": {**metadata, "name": name, "namespace": namespace, "labels": labels}}


def count_pods(raycluster: Mapping[str, Json]) -> int:
    """How many pods it will have: the head and all workers."""
    return 1 + sum(_count(group, "replicas", 0) * _count(group, "numOfHosts", 1) for group in _groups(raycluster))


def ray_container(raycluster: Mapping[str, Json], group: str) -> str:
    """The name of the container that Ray runs in, the first of a pod, in the `head` or a group of workers."""
    found = {"head": _below(_below(raycluster, "spec"), "headGroupSpec")}
    found.update({str(worker.get("groupName")): worker for worker in _groups(raycluster)})
    spec = _below(_below(found.get(group, {}), "template"), "spec")
    containers = spec.get("containers")
    first = containers[0] if isinstance(containers, Sequence) and containers else None
    name = first.get("name") if isinstance(first, Mapping) else None
    if not isinstance(name, str):
        raise InputError(f"group `{group}` of the RayCluster has no container with a name")
    return name


def first_worker(pods: Sequence[PodState]) -> PodState:
    """The pod that rank 0 runs in: the recipe fills nodes in the order of their addresses, the head last."""
    workers = [pod for pod in pods if not pod.is_head] or list(pods)
    return min(workers, key=lambda pod: (_address(pod.address), pod.name))


def _address(text: str) -> tuple[int, int]:
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        return (9, 0)
    return (found.version, int(found))


def _groups(raycluster: Mapping[str, Json]) -> Iterator[Mapping[str, Json]]:
    groups = _below(raycluster, "spec").get("workerGroupSpecs")
    if isinstance(groups, Sequence) and not isinstance(groups, str):
        yield from (group for group in groups if isinstance(group, Mapping))


def _below(item: Mapping[str, Json], key: str) -> Mapping[str, Json]:
    value = item.get(key)
    return value if isinstance(value, Mapping) else {}


def _count(item: Mapping[str, Json], key: str, default: int) -> int:
    value = item.get(key, default)
    return value if isinstance(value, int) and not isinstance(value, bool) else default
