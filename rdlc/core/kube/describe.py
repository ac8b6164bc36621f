"""What a record keeps of the sightings of a cluster."""

from collections import Counter
from collections.abc import Sequence

from rdlc.core.kube.cluster_record import ClusterRecord
from rdlc.core.kube.observed import HEAD
from rdlc.core.kube.placement import place_ranks
from rdlc.core.kube.sightings import Sightings
from rdlc.core.record import Rank


def record_cluster(sightings: Sightings, ranks: Sequence[Rank]) -> ClusterRecord | None:
    """The part of a record; None where the cluster was never looked at."""
    seen = sightings.last
    if seen is None:
        return None
    images = Counter(held.image_id for pod in seen.pods for held in pod.containers if held.image_id)
    return ClusterRecord(
        name=seen.cluster.name,
        namespace=seen.cluster.namespace,
        uid=seen.cluster.uid,
        kuberay=", ".join(sorted({pod.kuberay for pod in seen.pods if pod.kuberay})),
        placements=place_ranks(seen, ranks),
        images=dict(sorted(images.items())),
        unseen=seen.unseen,
    )


def describe_cluster(sightings: Sightings) -> dict[str, str]:
    """What was seen of a cluster by name, for a comparison of two runs: no name of a pod or node is in it."""
    seen = sightings.last
    if seen is None:
        return {}
    described = {f"{name} image": image for name, image in (seen.plugins or {}).items()}
    if versions := sorted({pod.kuberay for pod in seen.pods if pod.kuberay}):
        described["KubeRay"] = ", ".join(versions)
    workers = {pod.node for pod in seen.pods if pod.group != HEAD}
    for node in seen.nodes or ():
        for fact, value in node.facts.items() if node.name in workers else ():
            held = described.get(f"nodes: {fact}", "")
            if value not in held.split(", "):
                described[f"nodes: {fact}"] = f"{held}, {value}" if held else value
    for held in sorted({c.image_id for pod in seen.pods for c in pod.containers if c.image_id}):
        at = held.rpartition("@")[2]
        described["images"] = f"{described['images']}, {at}" if "images" in described else at
    return dict(sorted(described.items()))
