"""Is a cluster that rdlc did not start one thing? Judged without a lock, against its own RayCluster."""

from rdlc.core.kube.conformance import check_cluster
from rdlc.core.kube.due import ClusterDue, groups_due
from rdlc.core.kube.observed import ClusterSeen
from rdlc.core.kube.sightings import Sightings
from rdlc.core.record import Check

_ONE = "one image"


def check_foreign(seen: ClusterSeen) -> tuple[Check, ...]:
    """What the pods are, held against what their RayCluster asks for, and against each other."""
    due = ClusterDue(groups=groups_due(seen.cluster.groups, digests={}), is_locked=False)
    return (_check_one_image(seen), *check_cluster(due, Sightings(after=seen), ()))


def _check_one_image(seen: ClusterSeen) -> Check:
    """Ray refuses mixed versions, and a moving tag can be two images on two nodes."""
    images: dict[str, list[str]] = {}
    for pod in seen.pods:
        for held in pod.containers[:1]:
            images.setdefault(held.image_id.rpartition("@")[2], []).append(pod.name)
    if len(images) == 1 and "" not in images:
        return Check(name=_ONE, locked="the same in every pod", found="the same in every pod", is_met=True)
    known = {image: pods for image, pods in images.items() if image}
    words = "; ".join(f"{image or 'not measured'} in {', '.join(pods)}" for image, pods in sorted(images.items()))
    is_met = False if len(known) > 1 else None
    return Check(name=_ONE, locked="the same in every pod", found=words or "not measured", is_met=is_met)
