"""What a cluster must be, for a run to be the one that was locked."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from rdlc.core.kube.image_ids import due_digests
from rdlc.core.kube.observed import HEAD, AskedGroup

# KubeRay puts these into every pod, and EKS what a service account needs to log in to AWS.
ADDED = frozenset({
    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_DEFAULT_REGION",
    "AWS_REGION", "AWS_ROLE_ARN", "AWS_STS_REGIONAL_ENDPOINTS", "AWS_WEB_IDENTITY_TOKEN_FILE", "FQ_RAY_IP",
    "KUBERAY_GEN_RAY_START_CMD", "RAY_ADDRESS", "RAY_CLOUD_INSTANCE_ID", "RAY_CLUSTER_NAME",
    "RAY_CLUSTER_NAMESPACE", "RAY_DASHBOARD_ENABLE_K8S_DISK_USAGE", "RAY_IP", "RAY_NODE_TYPE_NAME", "RAY_PORT",
    "RAY_USAGE_STATS_EXTRA_TAGS", "RAY_USAGE_STATS_KUBERAY_IN_USE", "REDIS_PASSWORD",
})  # fmt: skip
# The init container that KubeRay gives to workers: the same image and environment as theirs.
WAITING = "wait-gcs-ready"


@dataclass(frozen=True, kw_only=True, slots=True)
class ContainerDue:
    """One container: digests that are accepted, each with what it is of, and its variables.

    No digests means that the image was asked for by a tag, which says nothing of what is due.
    """

    digests: Mapping[str, str]
    environment: Mapping[str, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupDue:
    """One group: how many pods, and the containers of each by name."""

    replicas: int
    containers: Mapping[str, ContainerDue]


@dataclass(frozen=True, kw_only=True, slots=True)
class ClusterDue:
    """All that can be held against what is seen; an empty value asks nothing.

    `node_facts` are those of the workers' nodes, `plugins` the images that serve the cluster, `optional`
    the variables that a pod may have besides. `nodes` is on how many nodes the ranks lie, and `gpus` how
    many Ray must have; both 0 where nobody says.
    """

    groups: Mapping[str, GroupDue]
    kuberay: str = ""
    node_facts: Mapping[str, str] = field(default_factory=dict)
    plugins: Mapping[str, str] = field(default_factory=dict)
    optional: frozenset[str] = frozenset()
    ranks: int = 0
    nodes: int = 0
    gpus: int | None = None
    is_locked: bool = True

    def container(self, group: str, name: str) -> ContainerDue | None:
        """What is due of a container; None for one that nobody asked for."""
        held = self.groups.get(group)
        if held is None:
            return None
        if name == WAITING and group != HEAD and name not in held.containers:
            return next(iter(held.containers.values()), None)
        return held.containers.get(name)


def groups_due(groups: Mapping[str, AskedGroup], *, digests: Mapping[str, str]) -> Mapping[str, GroupDue]:
    """The groups as a RayCluster asks for them; `digests` are those of the one image of which more is known."""
    return {name: _group(group, digests) for name, group in groups.items()}


def _group(group: AskedGroup, known: Mapping[str, str]) -> GroupDue:
    return GroupDue(
        replicas=group.replicas,
        containers={
            name: ContainerDue(digests=due_digests(asked.image, known), environment=asked.environment)
            for name, asked in group.containers.items()
        },
    )
