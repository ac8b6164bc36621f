"""What a record says of its cluster, besides the checks: which it was, and where each rank ran."""

from collections.abc import Mapping
from dataclasses import dataclass

from rdlc.core.canonical import Json
from rdlc.core.fields import Fields


@dataclass(frozen=True, kw_only=True, slots=True)
class Placement:
    """One rank with its pod and node; both "" for a host that is no pod of the cluster."""

    rank: int
    pod: str
    node: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ClusterRecord:
    """The RayCluster of a run: its name and uid, the operator's version, the ranks' places.

    `images` maps each image id that its containers had to how many had it, `unseen` what could not be
    seen to the reason.
    """

    name: str
    namespace: str
    uid: str
    kuberay: str
    placements: tuple[Placement, ...]
    images: Mapping[str, int]
    unseen: Mapping[str, str]

    def payload(self) -> dict[str, Json]:
        """The mapping in `record.json`."""
        return {
            "name": self.name,
            "namespace": self.namespace,
            "uid": self.uid,
            "kuberay": self.kuberay,
            "placements": [{"rank": at.rank, "pod": at.pod, "node": at.node} for at in self.placements],
            "images": dict(self.images),
            "unseen": dict(self.unseen),
        }


def read_cluster_record(fields: Fields) -> ClusterRecord:
    """That part of a record; raises InputError with the address of a bad field."""
    images = fields.below("images")
    cluster = ClusterRecord(
        name=fields.text("name"),
        namespace=fields.text("namespace"),
        uid=fields.text("uid"),
        kuberay=fields.remark("kuberay"),
        placements=tuple(_read_placement(item) for item in fields.each("placements")),
        images={image: images.count(image) for image in images.names()},
        unseen=fields.table("unseen"),
    )
    fields.finish()
    return cluster


def _read_placement(fields: Fields) -> Placement:
    placement = Placement(rank=fields.count("rank"), pod=fields.remark("pod"), node=fields.remark("node"))
    fields.finish()
    return placement
