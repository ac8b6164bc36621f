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
    hosts = _name_hosts(seen)
    return tuple(_place(rank, hosts.get(rank.host)) for rank in _by_rank(ranks))


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


def _name_hosts(seen: ClusterSeen) -> dict[str, PodSeen]:
    """The pods by the host names that their processes see."""
    on_node: dict[str, list[PodSeen]] = {}
    for pod in seen.pods:
        on_node.setdefault(pod.node, []).append(pod)
    # With the host's own network the name is the node's.
    hosts = {node: pods[0] for node, pods in on_node.items() if node and len(pods) == 1}
    # Linux cuts a long one.
    return {**hosts, **{name: pod for pod in seen.pods for name in (pod.name[:63].rstrip("-."), pod.name)}}
