"""What a lock asks of the cluster that its run has."""

from collections.abc import Mapping

from rdlc.core.kube.due import ClusterDue, groups_due
from rdlc.core.kube.objects import read_groups
from rdlc.core.kube.observed import AskedGroup
from rdlc.core.lockfile import RunLock

INDEX, MANIFEST = "the index", "the platform's manifest"


def due_of_lock(lock: RunLock, asked: Mapping[str, AskedGroup] | None = None) -> ClusterDue | None:
    """What must be seen of the cluster; None for a run that has none.

    `asked` is what the cluster was created from, for a lock that holds no RayCluster itself.
    """
    sections = lock.sections
    raycluster = getattr(sections.cluster, "raycluster", None)
    groups = asked if raycluster is None else read_groups(raycluster)
    if groups is None:
        return None
    image = sections.image
    digests = {}
    if image is not None:
        digests = {image.manifest_digest: MANIFEST}
        if image.index_digest:
            digests = {image.index_digest: INDEX, **digests}
    request = sections.cluster.requested
    return ClusterDue(
        groups=groups_due(groups, digests=digests),
        optional=frozenset(sections.run.requested.secrets),
        ranks=sections.recipe.world_size,
        nodes=sections.cluster.nodes,
        gpus=request.workers * request.gpus_per_worker,
    )
