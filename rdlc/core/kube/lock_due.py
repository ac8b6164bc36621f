"""What a lock asks of the cluster that its run has."""

from rdlc.core.kube.due import ClusterDue, groups_due
from rdlc.core.kube.objects import read_groups
from rdlc.core.lockfile import RunLock

INDEX, MANIFEST = "the index", "the platform's manifest"


def due_of_lock(lock: RunLock) -> ClusterDue | None:
    """What must be seen of the cluster; None for a lock without a RayCluster."""
    sections = lock.sections
    raycluster = getattr(sections.cluster, "raycluster", None)
    if raycluster is None:
        return None
    image = sections.image
    digests = {}
    if image is not None:
        digests = {image.manifest_digest: MANIFEST}
        if image.index_digest:
            digests = {image.index_digest: INDEX, **digests}
    request = sections.cluster.requested
    return ClusterDue(
        groups=groups_due(read_groups(raycluster), digests=digests),
        optional=frozenset(sections.run.requested.secrets),
        ranks=sections.recipe.world_size,
        nodes=sections.cluster.nodes,
        gpus=request.workers * request.gpus_per_worker,
    )
