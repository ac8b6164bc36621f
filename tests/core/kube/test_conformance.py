"""Which clusters are the one that was locked, and what is said of those that are not."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest

from rdlc.core.kube.conformance import check_cluster
from rdlc.core.kube.objects import read_object
from rdlc.core.kube.observed import ClusterSeen, NodeSeen
from rdlc.core.kube.sightings import Sightings
from rdlc.core.record import Check
from tests.core.kube.recorded import (
    CONFIG,
    DUE,
    FACTS,
    IMAGE,
    OLD,
    PLATFORM,
    RANKS,
    RAYCLUSTER,
    see,
    status_of,
    without_nodes,
    worker,
)

Pods = list[dict[str, Any]]


def checks(before: ClusterSeen | None = None, after: ClusterSeen | None = None) -> tuple[Check, ...]:
    return check_cluster(DUE, Sightings(before=before or see(), after=after or see()), RANKS)


def unmet(before: ClusterSeen | None = None, after: ClusterSeen | None = None) -> dict[str, tuple[str, bool | None]]:
    return {check.name: (check.found, check.is_met) for check in checks(before, after) if not check.is_met}


def test_a_cluster_as_locked_meets_every_check() -> None:
    rows = checks()

    assert all(row.is_met for row in rows)
    assert [row.name for row in rows] == [
        "pods",
        *(
            f"{what} of {place}"
            for place in (
                "head/ray-head",
                "gpu-0/ray-worker",
                "gpu-0/wait-gcs-ready",
                "gpu-1/ray-worker",
                "gpu-1/wait-gcs-ready",
            )
            for what in ("image", "environment")
        ),
        "container restarts",
        "pods before and after",
        "RayCluster object",
        "KubeRay",
        "Ray nodes",
        *(f"{fact} of the workers' nodes" for fact in FACTS),
        "workers' nodes",
        "EFA plugin",
        "placement",
    ]


@pytest.mark.parametrize(
    ("image_id", "found"),
    [
        (f"registry.local/ray@{IMAGE}", f"{IMAGE} (the index)"),
        (f"123456789012.dkr.ecr.us-east-2.amazonaws.com/ray@{IMAGE}", f"{IMAGE} (the index)"),
        (f"docker-pullable://mirror.example/team/ray@{PLATFORM}", f"{PLATFORM} (the platform's manifest)"),
    ],
)
def test_either_digest_is_the_image_whatever_the_registry_and_the_row_says_which(image_id: str, found: str) -> None:
    def change(pods: Pods) -> None:
        status_of(worker(pods))["imageID"] = image_id

    (row,) = (row for row in checks(see(change=change), see(change=change)) if row.name == "image of gpu-1/ray-worker")

    locked = f"{IMAGE} (the index) or {PLATFORM} (the platform's manifest)"
    assert row == Check(name="image of gpu-1/ray-worker", locked=locked, found=found, is_met=True)


def test_one_worker_on_an_old_image_is_named() -> None:
    def change(pods: Pods) -> None:
        status_of(worker(pods))["imageID"] = f"registry.local/ray@{OLD}"

    assert unmet(see(change=change), see(change=change)) == {"image of gpu-1/ray-worker": (OLD, False)}


def test_a_config_digest_is_not_measured_and_never_equal() -> None:
    def change(pods: Pods) -> None:
        status_of(worker(pods))["imageID"] = CONFIG

    words = f"not measured: kubelet names no manifest, but {CONFIG}"
    assert unmet(see(change=change), see(change=change)) == {"image of gpu-1/ray-worker": (words, None)}


def test_a_worker_that_was_replaced_is_named_with_both_pods() -> None:
    def change(pods: Pods) -> None:
        worker(pods)["metadata"] |= {"name": "rdlc-w-gpu-worker-later", "uid": "00000000"}

    found = unmet(after=see(change=change))

    gone = "gpu-1 is gone: rdlc-w-gpu-worker-gbsw8 (uid d848bbe2-5e81-43c2-a654-4821574f2c70, node bed)"
    later = "gpu-1 came later: rdlc-w-gpu-worker-later (uid 00000000, node bed)"
    assert found["pods before and after"] == (f"{later}; {gone}", False)


def test_an_extra_pod_is_named() -> None:
    def change(pods: Pods) -> None:
        extra = deepcopy(worker(pods))
        extra["metadata"] |= {"name": "rdlc-w-gpu-worker-extra", "uid": "00000000"}
        extra["metadata"]["labels"]["ray.io/worker-group-replica-index"] = "2"
        pods.append(extra)

    found = unmet(after=see(change=change))

    names = "rdlc-w-gpu-worker-gbsw8, rdlc-w-gpu-worker-pkcfv, rdlc-w-gpu-worker-extra"
    assert found["pods"] == (f"before head 1, gpu 2; after head 1, gpu 3 (gpu: {names})", False)


def test_a_pod_that_is_gone_or_going_is_missing() -> None:
    def change(pods: Pods) -> None:
        worker(pods)["metadata"]["deletionTimestamp"] = "2026-11-30T20:20:00Z"

    found = unmet(after=see(change=change))

    assert found["pods"] == ("before head 1, gpu 2; after head 1, gpu 1 (gpu: rdlc-w-gpu-worker-pkcfv)", False)


def test_a_container_that_was_restarted_is_named() -> None:
    def change(pods: Pods) -> None:
        status_of(worker(pods))["restartCount"] = 2

    assert unmet(after=see(change=change)) == {"container restarts": ("before 0; after 2 of gpu-1/ray-worker", False)}


def test_a_dead_ray_node_and_one_that_is_no_pod_are_named() -> None:
    seen = see()
    assert seen.ray_nodes is not None
    first, *others = seen.ray_nodes
    dead = replace(seen, ray_nodes=(replace(first, state="DEAD"), *others))
    foreign = replace(seen, ray_nodes=(replace(first, address="10.9.9.9"), *others))

    words = f"2 alive, 1 dead, 4 GPUs (DEAD {first.id} at {first.address})"
    assert unmet(after=dead) == {"Ray nodes": (f"before 3 alive, 0 dead, 8 GPUs; after {words}", False)}
    assert unmet(before=foreign, after=foreign) == {
        "Ray nodes": (f"3 alive, 0 dead, 8 GPUs ({first.id} at 10.9.9.9 is no pod of it)", False)
    }


def test_a_changed_variable_of_the_live_object_is_named_although_the_pods_do_not_have_it() -> None:
    changed = deepcopy(RAYCLUSTER)
    changed["metadata"]["generation"] = 2
    changed["spec"]["workerGroupSpecs"][0]["template"]["spec"]["containers"][0]["env"][1]["value"] = "tcp"
    after = replace(see(), cluster=read_object(changed, clear={}))

    words = "before as locked; after generation 2: gpu/ray-worker: FI_PROVIDER tcp (locked efa)"
    assert unmet(after=after) == {"RayCluster object": (words, False)}


@pytest.mark.parametrize(
    ("alter", "found"),
    [
        (lambda env: env.__setitem__(1, {"name": "FI_PROVIDER", "value": "tcp"}), "FI_PROVIDER tcp (locked efa)"),
        (lambda env: env.pop(0), "NCCL_DEBUG none (locked INFO)"),
        (lambda env: env.append({"name": "NCCL_NET", "value": "Socket"}), "NCCL_NET Socket (not locked)"),
        (lambda env: env.append({"name": "API", "value": "x"}), "API (not kept) (not locked)"),
    ],
)
def test_a_variable_of_a_pod_that_is_not_as_locked_is_named(alter: Callable[[Any], object], found: str) -> None:
    def change(pods: Pods) -> None:
        alter(worker(pods)["spec"]["containers"][0]["env"])

    seen = see(change=change)

    assert unmet(seen, seen) == {"environment of gpu-1/ray-worker": (found, False)}


def test_a_container_that_nobody_asked_for_is_named() -> None:
    def change(pods: Pods) -> None:
        pod = worker(pods)
        pod["spec"]["containers"].append({"name": "istio-proxy", "image": "istio:1"})

    seen = see(change=change)

    assert unmet(seen, seen) == {"container gpu-1/istio-proxy": ("istio:1", False)}


def test_what_a_role_of_one_namespace_cannot_see_is_not_measured_and_says_why() -> None:
    seen = without_nodes(see())

    found = unmet(seen, seen)

    assert set(found) == {*(f"{fact} of the workers' nodes" for fact in FACTS), "EFA plugin"}
    assert "workers' nodes" not in {check.name for check in checks(seen, seen)}
    words = ("not measured: forbidden: nodes is forbidden to the role", None)
    assert set(found.values()) == {words}


def test_a_node_with_another_driver_is_named() -> None:
    def change(pods: Pods) -> None:
        worker(pods)["spec"]["nodeName"] = "second"

    nodes = (NodeSeen(name="bed", facts=FACTS), NodeSeen(name="second", facts={**FACTS, "driver": "570.1"}))
    seen = replace(see(change=change), nodes=nodes)

    found = unmet(seen, seen)

    assert found["driver of the workers' nodes"] == ("bed 580.95.05; second 570.1", False)
    assert found["workers' nodes"] == ("driver: bed 580.95.05, second 570.1", False)


def test_another_plugin_or_operator_is_named() -> None:
    def change(pods: Pods) -> None:
        for pod in pods:
            pod["metadata"].setdefault("annotations", {})["ray.io/kuberay-version"] = "v1.6.2"

    seen = replace(see(change=change), plugins={"EFA plugin": f"plugin@{IMAGE}"})

    assert unmet(seen, seen) == {"KubeRay": ("1.6.2", False), "EFA plugin": (f"plugin@{IMAGE}", False)}


def test_a_cluster_that_nobody_looked_at_is_not_measured() -> None:
    rows = check_cluster(DUE, Sightings(), RANKS)

    assert {(row.found, row.is_met) for row in rows} == {("not measured", None)}


def test_ranks_outside_the_cluster_and_ranks_that_lie_unevenly_are_named() -> None:
    stray = replace(RANKS[0], host="laptop")
    both = Sightings(before=see(), after=see())

    def placed(*ranks: Any) -> tuple[str, bool | None]:
        (row,) = (row for row in check_cluster(DUE, both, ranks) if row.name == "placement")
        return row.found, row.is_met

    assert placed(*RANKS) == ("8 ranks on 1 node, the same number on each", True)
    assert placed(stray, *RANKS[1:]) == ("in no pod of the cluster: rank 0 on laptop", False)
    assert placed(*RANKS[1:]) == ("7 ranks: 7 on bed", False)
    assert placed() == ("not measured", None)
