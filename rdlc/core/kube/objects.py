"""What is kept of the objects of a Kubernetes API: everything in them is untrusted."""

import re
from collections.abc import Iterator, Mapping

from rdlc.core.canonical import Json
from rdlc.core.document import Document
from rdlc.core.fields import Fields
from rdlc.core.kube.kept import read_environment
from rdlc.core.kube.observed import (
    HEAD,
    AskedContainer,
    AskedGroup,
    ContainerSeen,
    NodeSeen,
    ObjectSeen,
    PodSeen,
)
from rdlc.core.text import one_line

_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
_LIMIT = 500
_CLUSTER, _GROUP, _TYPE = "ray.io/cluster", "ray.io/group", "ray.io/node-type"
_INDEX, _KUBERAY = "ray.io/worker-group-replica-index", "ray.io/kuberay-version"
# What a node says of itself by labels: Amazon's node groups, Karpenter, NVIDIA's feature discovery.
_LABELS = {
    "AMI": ("eks.amazonaws.com/nodegroup-image", "karpenter.k8s.aws/instance-ami-id"),
    "GPU": ("nvidia.com/gpu.product",),
    "capacity": ("eks.amazonaws.com/capacityType", "karpenter.sh/capacity-type"),
    "driver": ("nvidia.com/cuda.driver-version.full", "nvidia.com/cuda.driver.full"),
    "instance type": ("node.kubernetes.io/instance-type",),
    "zone": ("topology.kubernetes.io/zone",),
}
_INFO = {
    "container runtime": "containerRuntimeVersion",
    "kernel": "kernelVersion",
    "kubelet": "kubeletVersion",
    "system": "osImage",
}
_OFFERED = {"EFA": "vpc.amazonaws.com/efa", "GPUs": "nvidia.com/gpu", "hugepages": "hugepages-2Mi"}
_NO_CLEAR: Mapping[str, str] = {}
# Group and container to the values of its environment that a lock shows in clear.
Clear = Mapping[str, Mapping[str, str]]


def read_object(value: Json, *, clear: Clear) -> ObjectSeen:
    """A RayCluster; raises InputError with the field of what it cannot be."""
    fields = _fields(value, "raycluster")
    metadata, spec = fields.below("metadata"), fields.below("spec")
    status = fields.below("status", default={})
    has_looked = status.has("observedGeneration")
    return ObjectSeen(
        name=_name(metadata, "name"),
        namespace=_name(metadata, "namespace"),
        uid=one_line(metadata.text("uid", default="none")),
        generation=metadata.count("generation", default=1),
        observed_generation=status.count("observedGeneration") if has_looked else None,
        groups=_read_groups(spec, clear),
    )


def read_groups(value: Json) -> dict[str, AskedGroup]:
    """The groups of the RayCluster in a lock, with all their values."""
    return _read_groups(_fields(value, "raycluster").below("spec"), clear_values(value))


def clear_values(value: Json) -> Clear:
    """What the RayCluster in a lock shows of the environment of each group anyway."""
    spec = _fields(value, "raycluster").below("spec")
    groups = [(HEAD, spec.below("headGroupSpec"))]
    groups += [(_group_name(group.text("groupName")), group) for group in spec.each("workerGroupSpecs")]
    return {
        name: {
            variable.text("name"): variable.remark("value")
            for kind in ("initContainers", "containers")
            for held in group.below("template").below("spec").each(kind)
            for variable in held.each("env")
            if not variable.has("valueFrom")
        }
        for name, group in groups
    }


def read_pod(value: Json, *, clear: Clear) -> PodSeen:
    """A pod of a RayCluster; raises InputError with the field of what it cannot be."""
    fields = _fields(value, "pod")
    metadata, spec = fields.below("metadata"), fields.below("spec")
    status = fields.below("status", default={})
    labels = metadata.below("labels", default={})
    is_head = labels.remark(_TYPE) == HEAD
    group = HEAD if is_head else _group_name(labels.remark(_GROUP))
    return PodSeen(
        name=_name(metadata, "name"),
        uid=one_line(metadata.text("uid", default="none")),
        group=group,
        index="" if is_head else one_line(labels.remark(_INDEX)),
        node=one_line(spec.remark("nodeName"), limit=_LIMIT),
        address=one_line(status.remark("podIP")),
        phase=one_line(status.remark("phase")),
        is_leaving=metadata.has("deletionTimestamp"),
        kuberay=one_line(metadata.below("annotations", default={}).remark(_KUBERAY)),
        containers=tuple(_read_containers(spec, status, clear.get(group, _NO_CLEAR))),
    )


def belongs_to(value: Json, cluster: str) -> bool:
    """Whether a pod says that it is one of the RayCluster."""
    labels = _fields(value, "pod").below("metadata").below("labels", default={})
    return labels.remark(_CLUSTER) == cluster


def read_node(value: Json) -> NodeSeen:
    """A node and what it says of itself; what it does not say is not there."""
    fields = _fields(value, "node")
    metadata, status = fields.below("metadata"), fields.below("status", default={})
    labels = metadata.below("labels", default={})
    info = status.below("nodeInfo", default={})
    offered = status.below("allocatable", default={})
    facts = {name: labels.remark(key) for name, keys in _LABELS.items() for key in keys if labels.has(key)}
    facts |= {name: info.remark(key) for name, key in _INFO.items()}
    facts |= {name: str(offered.scalar(key)) for name, key in _OFFERED.items() if offered.has(key)}
    if driver := _driver(labels):
        facts.setdefault("driver", driver)
    kept = {name: one_line(text, limit=_LIMIT) for name, text in sorted(facts.items()) if text}
    return NodeSeen(name=_name(metadata, "name"), facts=kept)


def _fields(value: Json, name: str) -> Fields:
    # The place in a message is the object's kind; its address says the rest.
    return Fields(Document(name=name, value=value, lines={}), value)


def _read_groups(spec: Fields, clear: Clear) -> dict[str, AskedGroup]:
    groups = {HEAD: _read_group(spec.below("headGroupSpec"), replicas=1, clear=clear.get(HEAD, _NO_CLEAR))}
    for group in spec.each("workerGroupSpecs"):
        name = _group_name(group.text("groupName"))
        pods = group.count("replicas", default=0) * group.count("numOfHosts", default=1)
        groups[name] = _read_group(group, replicas=pods, clear=clear.get(name, _NO_CLEAR))
    return groups


def _read_group(group: Fields, *, replicas: int, clear: Mapping[str, str]) -> AskedGroup:
    spec = group.below("template").below("spec")
    return AskedGroup(
        replicas=replicas,
        containers={
            one_line(held.text("name")): AskedContainer(
                image=one_line(held.text("image"), limit=_LIMIT), environment=read_environment(held, clear=clear)
            )
            for kind in ("containers", "initContainers")
            for held in spec.each(kind)
        },
    )


def _group_name(text: str) -> str:
    # Nothing keeps anybody from calling a group of workers `head`.
    return "(workers) head" if text == HEAD else one_line(text) or "(no group)"


def _read_containers(spec: Fields, status: Fields, clear: Mapping[str, str]) -> Iterator[ContainerSeen]:
    for kind, statuses, is_init in (
        ("containers", "containerStatuses", False),
        ("initContainers", "initContainerStatuses", True),
        ("ephemeralContainers", "ephemeralContainerStatuses", False),
    ):
        told = {item.text("name"): item for item in status.each(statuses)}
        for held in spec.each(kind):
            name = held.text("name")
            now = told.get(name)
            yield ContainerSeen(
                name=one_line(name),
                is_init=is_init,
                image=one_line(held.text("image"), limit=_LIMIT),
                image_id="" if now is None else one_line(now.remark("imageID"), limit=_LIMIT),
                environment=read_environment(held, clear=clear),
                restarts=0 if now is None else now.count("restartCount", default=0),
                state="" if now is None else _state(now.below("state", default={})),
            )


def _state(state: Fields) -> str:
    for kind in ("running", "waiting", "terminated"):
        if state.has(kind):
            reason = state.below(kind).remark("reason")
            return one_line(f"{kind}: {reason}" if reason else kind)
    return ""


def _driver(labels: Fields) -> str:
    for family in ("nvidia.com/cuda.driver", "nvidia.com/cuda.driver-version"):
        parts = [labels.remark(f"{family}.{part}") for part in ("major", "minor", "rev", "revision")]
        if given := [part for part in parts if part]:
            return ".".join(given)
    return ""


def _name(fields: Fields, key: str) -> str:
    text = fields.text(key)
    if not _NAME.fullmatch(text):
        raise fields.error(key, f"is no name of Kubernetes: `{one_line(text)}`")
    return text
