"""Where each rank ran: its pod and its node."""

from collections import Counter
from collections.abc import Sequence

from rdlc.core.kube.cluster_record import Placement
from rdlc.core.kube.due import ClusterDue
from rdlc.core.kube.image_ids import NOT_MEASURED
from rdlc.core.kube.observed import ClusterSeen, PodSeen
from rdlc.core.kube.sightings import count
from rdlc.core.record import Check, Rank
from rdlc.core.text import one_line

_NAME = "placement"


def place_ranks(seen: ClusterSeen, ranks: Sequence[Rank]) -> tuple[Placement, ...]:
    """The pod and node of each rank, by the name of its host."""
    return tuple(_place(rank, _find_pod(seen, rank)) for rank in sorted(ranks, key=lambda rank: rank.rank))


def check_placement(due: ClusterDue, seen: ClusterSeen | None, ranks: Sequence[Rank]) -> Check:
    """Whether as many ranks as asked for lie evenly on the workers' pods, on as many nodes as locked."""
    locked = f"{count(due.ranks, 'rank')} on {count(due.nodes, 'node')}, the same number on each"
    if seen is None or not ranks:
        return Check(name=_NAME, locked=locked, found=NOT_MEASURED, is_met=None)
    placements = place_ranks(seen, ranks)
    strays = [
        f"rank {rank.rank} on {one_line(rank.host)}"
        for rank, at in zip(_by_rank(ranks), placements, strict=True)
        if not at.pod
    ]
    if strays:
        return Check(name=_NAME, locked=locked, found=f"in no pod of the cluster: {', '.join(strays)}", is_met=False)
    counts = Counter(at.node for at in placements)
    is_even = len(set(counts.values())) == 1
    if is_even and len(counts) == due.nodes and len(placements) == due.ranks:
        return Check(name=_NAME, locked=locked, found=locked, is_met=True)
    words = ", ".join(f"{count} on {node or 'no node'}" for node, count in sorted(counts.items()))
    return Check(name=_NAME, locked=locked, found=f"{len(placements)} ranks: {words}", is_met=False)


def _by_rank(ranks: Sequence[Rank]) -> list[Rank]:
    return sorted(ranks, key=lambda rank: rank.rank)


def _place(rank: Rank, pod: PodSeen | None) -> Placement:
    return Placement(rank=rank.rank, pod=pod.name if pod else "", node=pod.node if pod else "")


def _find_pod(seen: ClusterSeen, rank: Rank) -> PodSeen | None:
    # The host's name is the pod's, cut where it is long; with the host's own network it is the node's.
    for pod in seen.pods:
        if rank.host in {pod.name, pod.name[:63].rstrip("-.")}:
            return pod
    there = [pod for pod in seen.pods if rank.host == pod.node]
    return there[0] if len(there) == 1 else None
