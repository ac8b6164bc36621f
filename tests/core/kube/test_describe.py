"""What a record keeps of a cluster."""

from dataclasses import replace

from rdlc.core.kube.cluster_record import ClusterRecord, Placement
from rdlc.core.kube.describe import describe_cluster, record_cluster
from rdlc.core.kube.observed import NodeSeen
from rdlc.core.kube.sightings import Sightings
from tests.core.kube.recorded import FACTS, IMAGE, OLD, RANKS, see, without_nodes


def test_a_record_names_the_cluster_and_the_pod_and_node_of_each_rank() -> None:
    seen = without_nodes(see())

    why = "forbidden: nodes is forbidden to the role"
    assert record_cluster(Sightings(before=see(), after=seen), RANKS[:1]) == ClusterRecord(
        name="rdlc-w",
        namespace="ray-train",
        uid="d4285f0c-f88b-447a-a94f-84377f965e2c",
        kuberay="v1.7.0",
        placements=(Placement(rank=0, pod="rdlc-w-gpu-worker-pkcfv", node="bed"),),
        images={f"registry.local/ray@{IMAGE}": 5},
        unseen={"nodes": why, "plugins": why},
    )
    assert record_cluster(Sightings(), RANKS) is None


def test_what_two_runs_are_compared_by_holds_no_name_of_a_pod_or_node() -> None:
    seen = see()
    mixed = replace(seen, nodes=(*(seen.nodes or ()), NodeSeen(name="idle", facts={"kernel": "other"})))

    assert describe_cluster(Sightings(after=mixed)) == {
        "EFA plugin image": f"plugin@{OLD}",
        "KubeRay": "v1.7.0",
        "images": IMAGE,
        **{f"nodes: {fact}": value for fact, value in FACTS.items()},
    }
    assert describe_cluster(Sightings()) == {}
