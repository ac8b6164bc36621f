"""What was seen of a cluster at one moment: pods, nodes, plugins, Ray's own table; one JSON file of a record."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from rdlc.core.canonical import Json
from rdlc.core.fields import Fields
from rdlc.core.lines import read_json_file
from rdlc.errors import InputError

FORMAT = 1
SEEN_LIMIT_BYTES = 64 << 20
HEAD = "head"


@dataclass(frozen=True, kw_only=True, slots=True)
class ContainerSeen:
    """One container of a pod: the image that was asked for, and the one that kubelet says it runs.

    `image_id` is "" until kubelet says it. `environment` maps each variable to its value, or to words
    in round brackets for one that is not kept or comes from elsewhere.
    """

    name: str
    is_init: bool
    image: str
    image_id: str
    environment: Mapping[str, str]
    restarts: int
    state: str


@dataclass(frozen=True, kw_only=True, slots=True)
class PodSeen:
    """One pod of a RayCluster; `group` is `head` or the name of a worker group, `index` its replica index or "".

    `kuberay` is the version of the operator that made it, "" where it does not say.
    """

    name: str
    uid: str
    group: str
    index: str
    node: str
    address: str
    phase: str
    is_leaving: bool
    kuberay: str
    containers: tuple[ContainerSeen, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeSeen:
    """One node of Kubernetes, and what it says of itself by name (`AMI`, `kernel`, ...)."""

    name: str
    facts: Mapping[str, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class AskedContainer:
    """One container as the RayCluster object asks for it."""

    image: str
    environment: Mapping[str, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class AskedGroup:
    """One group of the RayCluster object: how many pods, and their containers by name."""

    replicas: int
    containers: Mapping[str, AskedContainer]


@dataclass(frozen=True, kw_only=True, slots=True)
class ObjectSeen:
    """The RayCluster object; `observed_generation` is None until the operator has looked at it."""

    name: str
    namespace: str
    uid: str
    generation: int
    observed_generation: int | None
    groups: Mapping[str, AskedGroup]


@dataclass(frozen=True, kw_only=True, slots=True)
class RayNodeSeen:
    """One row of Ray's own node table, which keeps the dead ones; `gpus` as Ray writes it, "" for none."""

    id: str
    address: str
    state: str
    is_head: bool
    gpus: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ClusterSeen:
    """A cluster at one moment.

    None, for nodes, plugins and Ray's table, means that it could not be seen: `unseen` says why, by what
    was not seen. `plugins` maps what serves the cluster (`EFA plugin`, ...) to its image with its digest.
    `asked` is what the cluster was created from, None where nobody said.
    """

    time: str
    cluster: ObjectSeen
    pods: tuple[PodSeen, ...]
    nodes: tuple[NodeSeen, ...] | None = None
    plugins: Mapping[str, str] | None = None
    ray_nodes: tuple[RayNodeSeen, ...] | None = None
    unseen: Mapping[str, str] = field(default_factory=dict)
    asked: Mapping[str, AskedGroup] | None = None


def write_seen(seen: ClusterSeen) -> bytes:
    """The bytes of the file: the same cluster always gives the same ones."""
    # The order is kept: the first container of a group is the one that Ray runs in.
    return json.dumps(_payload(seen), indent=1).encode("ascii") + b"\n"


def read_seen(data: bytes, *, name: str) -> ClusterSeen:
    """What was seen, from the bytes of a file; raises InputError naming file and field."""
    fields = read_json_file(data, name=name, limit_bytes=SEEN_LIMIT_BYTES)
    if fields.count("format") != FORMAT:
        raise fields.error("format", f"this rdlc reads format {FORMAT}", "`pip install --upgrade rdlc`")
    seen = ClusterSeen(
        time=fields.text("time"),
        cluster=_read_object(fields.below("cluster")),
        pods=tuple(_read_pod(item) for item in fields.each("pods")),
        nodes=tuple(_read_node(item) for item in fields.each("nodes")) if fields.has("nodes") else None,
        plugins=fields.table("plugins") if fields.has("plugins") else None,
        ray_nodes=tuple(_read_ray_node(item) for item in fields.each("ray_nodes")) if fields.has("ray_nodes") else None,
        unseen=fields.table("unseen"),
        asked=_read_groups(fields.below("asked")) if fields.has("asked") else None,
    )
    fields.finish()
    if write_seen(seen) != data:
        raise InputError("the file is not what rdlc writes for this content", file=name)
    return seen


def _payload(seen: ClusterSeen) -> Json:
    return {
        "format": FORMAT,
        "time": seen.time,
        "cluster": _object_payload(seen.cluster),
        "pods": [_pod_payload(pod) for pod in seen.pods],
        "nodes": None if seen.nodes is None else [_node_payload(node) for node in seen.nodes],
        "plugins": None if seen.plugins is None else dict(seen.plugins),
        "ray_nodes": None if seen.ray_nodes is None else [_ray_payload(node) for node in seen.ray_nodes],
        "unseen": dict(seen.unseen),
        "asked": None if seen.asked is None else _groups_payload(seen.asked),
    }


def _object_payload(cluster: ObjectSeen) -> Json:
    return {
        "name": cluster.name,
        "namespace": cluster.namespace,
        "uid": cluster.uid,
        "generation": cluster.generation,
        "observed_generation": cluster.observed_generation,
        "groups": _groups_payload(cluster.groups),
    }


def _groups_payload(groups: Mapping[str, AskedGroup]) -> Json:
    return {
        name: {
            "replicas": group.replicas,
            "containers": {
                key: {"image": asked.image, "environment": dict(asked.environment)}
                for key, asked in group.containers.items()
            },
        }
        for name, group in groups.items()
    }


def _pod_payload(pod: PodSeen) -> Json:
    return {
        "name": pod.name,
        "uid": pod.uid,
        "group": pod.group,
        "index": pod.index,
        "node": pod.node,
        "address": pod.address,
        "phase": pod.phase,
        "is_leaving": pod.is_leaving,
        "kuberay": pod.kuberay,
        "containers": [
            {
                "name": held.name,
                "is_init": held.is_init,
                "image": held.image,
                "image_id": held.image_id,
                "environment": dict(held.environment),
                "restarts": held.restarts,
                "state": held.state,
            }
            for held in pod.containers
        ],
    }


def _node_payload(node: NodeSeen) -> Json:
    return {"name": node.name, "facts": dict(node.facts)}


def _ray_payload(node: RayNodeSeen) -> Json:
    return {
        "id": node.id,
        "address": node.address,
        "state": node.state,
        "is_head": node.is_head,
        "gpus": node.gpus,
    }


def _read_object(fields: Fields) -> ObjectSeen:
    has_looked = fields.has("observed_generation")
    return ObjectSeen(
        name=fields.text("name"),
        namespace=fields.text("namespace"),
        uid=fields.text("uid"),
        generation=fields.count("generation"),
        observed_generation=fields.count("observed_generation") if has_looked else None,
        groups=_read_groups(fields.below("groups")),
    )


def _read_groups(table: Fields) -> dict[str, AskedGroup]:
    return {name: _read_group(table.below(name)) for name in table.names()}


def _read_group(fields: Fields) -> AskedGroup:
    table = fields.below("containers")
    containers = {}
    for name in table.names():
        held = table.below(name)
        containers[name] = AskedContainer(image=held.text("image"), environment=held.remarks("environment"))
    return AskedGroup(replicas=fields.count("replicas"), containers=containers)


def _read_pod(fields: Fields) -> PodSeen:
    return PodSeen(
        name=fields.text("name"),
        uid=fields.text("uid"),
        group=fields.text("group"),
        index=fields.remark("index"),
        node=fields.remark("node"),
        address=fields.remark("address"),
        phase=fields.remark("phase"),
        is_leaving=fields.flag("is_leaving"),
        kuberay=fields.remark("kuberay"),
        containers=tuple(
            ContainerSeen(
                name=held.text("name"),
                is_init=held.flag("is_init"),
                image=held.text("image"),
                image_id=held.remark("image_id"),
                environment=held.remarks("environment"),
                restarts=held.count("restarts"),
                state=held.remark("state"),
            )
            for held in fields.each("containers")
        ),
    )


def _read_node(fields: Fields) -> NodeSeen:
    return NodeSeen(name=fields.text("name"), facts=fields.remarks("facts"))


def _read_ray_node(fields: Fields) -> RayNodeSeen:
    return RayNodeSeen(
        id=fields.text("id"),
        address=fields.remark("address"),
        state=fields.text("state"),
        is_head=fields.flag("is_head"),
        gpus=fields.remark("gpus"),
    )
