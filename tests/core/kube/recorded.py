"""A RayCluster as a real operator made it: one head, two workers, KubeRay 1.7.0."""

import json
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

from rdlc.core.kube.due import ClusterDue, groups_due
from rdlc.core.kube.objects import clear_values, read_groups, read_object, read_pod
from rdlc.core.kube.observed import ClusterSeen, NodeSeen, RayNodeSeen
from rdlc.core.record import Rank

IMAGE = "sha256:6362fde136edd331454272695c5a461d506aeb739c7123073c68d9acd09d8438"
PLATFORM = "sha256:" + "1" * 64
CONFIG = "sha256:" + "2" * 64
OLD = "sha256:" + "0" * 64
_RECORDING = json.loads((Path(__file__).parents[2] / "kubernetes/recordings/ready.json").read_bytes())
RAYCLUSTER: dict[str, Any] = _RECORDING["raycluster"]
PODS: list[dict[str, Any]] = _RECORDING["pods"]
FACTS = {"AMI": "ami-0123", "driver": "580.95.05", "instance type": "g6.12xlarge", "kernel": "6.12.40"}
PLUGINS = {"EFA plugin": f"plugin@{OLD}"}
RANKS = tuple(
    Rank(rank=4 * node + local, local_rank=local, node_rank=node, host=name)
    for node, name in enumerate(("rdlc-w-gpu-worker-pkcfv", "rdlc-w-gpu-worker-gbsw8"))
    for local in range(4)
)
DUE = ClusterDue(
    groups=groups_due(read_groups(RAYCLUSTER), digests={IMAGE: "the index", PLATFORM: "the platform's manifest"}),
    kuberay="1.7.0",
    node_facts=FACTS,
    plugins=PLUGINS,
    ranks=8,
    nodes=1,
    gpus=8,
)


def see(
    pods: list[dict[str, Any]] | None = None, *, change: Callable[[list[dict[str, Any]]], object] | None = None
) -> ClusterSeen:
    """The cluster with all that can be seen of it; `change` alters the pods before they are read."""
    held = deepcopy(PODS if pods is None else pods)
    if change is not None:
        change(held)
    clear = clear_values(RAYCLUSTER)
    read = tuple(read_pod(pod, clear=clear) for pod in held)
    return ClusterSeen(
        time="2026-11-30T20:18:00Z",
        cluster=read_object(RAYCLUSTER, clear=clear),
        pods=read,
        nodes=(NodeSeen(name="bed", facts=FACTS),),
        plugins=PLUGINS,
        ray_nodes=tuple(
            RayNodeSeen(
                id=f"{number:056x}",
                address=pod.address,
                state="ALIVE",
                is_head=pod.group == "head",
                gpus="" if pod.group == "head" else "4",
            )
            for number, pod in enumerate(read)
        ),
    )


def worker(pods: list[dict[str, Any]], number: int = 0) -> dict[str, Any]:
    """One of the workers among the pods of a list."""
    return [pod for pod in pods if pod["metadata"]["labels"].get("ray.io/node-type") == "worker"][number]


def status_of(pod: dict[str, Any]) -> dict[str, Any]:
    """What kubelet says of the main container of a pod."""
    status: dict[str, Any] = pod["status"]["containerStatuses"][0]
    return status


def without_nodes(seen: ClusterSeen) -> ClusterSeen:
    """The cluster as a role of one namespace sees it."""
    why = "forbidden: nodes is forbidden to the role"
    return replace(seen, nodes=None, plugins=None, unseen={"nodes": why, "plugins": why})
