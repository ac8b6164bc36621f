"""Runs on a cluster that was not, or did not stay, what it was made as: named, and not reproduced."""

import threading
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from rdlc.cli.wiring import LocalArchive
from rdlc.operations.run import RunResult
from rdlc.operations.verify import verify_record
from tests.kubernetes.cluster_world import NAMESPACE, World, cluster_world, ray_nodes, trains
from tests.kubernetes.fake_api import FakeApi
from tests.kubernetes.fake_operator import comes_up
from tests.operations.scripted import ScriptedMachine
from tests.projects import make_project

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.usefixtures("kubectl"),
]
OLD = "sha256:" + "0" * 64


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    machine = ScriptedMachine(make_project(tmp_path / "project"))
    with cluster_world(machine, tmp_path) as made:
        yield made


def worker(api: FakeApi) -> dict[str, Any]:
    """The worker's pod."""
    (pod,) = (pod for pod in api.list("pods") if pod["metadata"]["labels"]["ray.io/node-type"] == "worker")
    return pod


def during(world: World, change: Callable[[FakeApi], object]) -> None:
    """Changes the cluster while the job runs."""

    def driver(record: Path, stop: threading.Event) -> int:
        change(world.api)
        return trains(record, stop)

    world.ray.driver = driver


def unmet(result: RunResult, *, status: str = "finished") -> dict[str, str]:
    assert not result.is_fine
    assert (result.record.status, result.record.level, result.baseline) == (status, "recorded", "not-due")
    findings = verify_record(result.path, archive=LocalArchive()).findings
    assert [item.message for item in findings if not item.message.startswith("the run did not finish: ")] == []
    return {check.name: check.found for check in result.record.checks if not check.is_met}


def test_a_cluster_that_stays_as_it_was_made_conforms_and_its_record_says_where_each_rank_ran(world: World) -> None:
    result = world.run()

    assert result.is_fine
    assert result.record.cluster is not None
    places = [
        (at.rank, at.pod.removeprefix(result.record.cluster.name), at.node) for at in result.record.cluster.placements
    ]
    assert places == [(0, "-gpu-0", "node-2"), (1, "-gpu-0", "node-2")]
    assert all(check.is_met for check in result.record.checks)
    assert "image of gpu-0/ray-worker" in {check.name for check in result.record.checks}


def test_a_worker_on_an_old_image_is_not_what_was_asked_for(world: World) -> None:
    def after(api: FakeApi) -> None:
        worker(api)["status"]["containerStatuses"][0]["imageID"] = f"registry.local/ray@{OLD}"

    during(world, after)

    found = unmet(world.run())

    assert found["image of gpu-0/ray-worker"].endswith(f"; after {OLD}")


def test_a_worker_that_was_replaced_during_the_job_is_named(world: World) -> None:
    def after(api: FakeApi) -> None:
        pod = worker(api)
        api.remove("pods", pod["metadata"]["name"], NAMESPACE)
        new = deepcopy(pod)
        new["metadata"].update(name=f"{pod['metadata']['name']}-later", uid="later")
        api.put("pods", new)

    during(world, after)

    # A run that lost a pod is not waited for any longer.
    found = unmet(world.run(), status="failed")

    assert "gpu-0 came later: " in found["pods before and after"]


def test_an_extra_pod_a_restart_and_a_dead_ray_node_are_named(world: World) -> None:
    def after(api: FakeApi) -> None:
        pod = worker(api)
        pod["status"]["containerStatuses"][0]["restartCount"] = 1
        extra = deepcopy(pod)
        extra["metadata"].update(name=f"{pod['metadata']['name']}-extra", uid="extra")
        api.put("pods", extra)
        dead = {"node_id": "gone", "node_ip": "10.9.9.9", "state": "DEAD", "is_head_node": False}
        world.ray.nodes = lambda: [*ray_nodes(api), dead]

    during(world, after)

    found = unmet(world.run())

    assert found["pods"].startswith("before head 1, gpu 1; after head 1, gpu 2 (gpu: ")
    assert "after 1 of gpu-0/ray-worker" in found["container restarts"]
    assert "DEAD gone at 10.9.9.9" in found["Ray nodes"]


def test_a_changed_variable_of_the_live_object_is_named(world: World) -> None:
    def after(api: FakeApi) -> None:
        (raycluster,) = api.list("rayclusters", NAMESPACE)
        container = raycluster["spec"]["workerGroupSpecs"][0]["template"]["spec"]["containers"][0]
        container["env"] = [{"name": "FI_PROVIDER", "value": "tcp"}]
        raycluster["metadata"]["generation"] = 2

    during(world, after)

    found = unmet(world.run())

    words = "before as locked; after generation 2: gpu/ray-worker: FI_PROVIDER tcp (not locked)"
    assert found == {"RayCluster object": words}


def test_a_role_of_one_namespace_is_no_failure_where_the_lock_asks_nothing_of_nodes(world: World) -> None:
    world.api.forbidden = {("nodes", "*")}

    result = world.run()

    assert result.is_fine
    assert result.record.cluster is not None
    assert result.record.cluster.unseen["nodes"].startswith("nodes is forbidden")
    assert "workers' nodes" not in {check.name for check in result.record.checks}


def test_what_ray_does_not_tell_is_not_measured_and_proves_nothing(world: World) -> None:
    def after(api: FakeApi) -> None:
        def no_answer() -> list[dict[str, Any]]:
            raise RuntimeError("made up by the test")

        world.ray.nodes = no_answer

    during(world, after)

    found = unmet(world.run())

    assert set(found) == {"Ray nodes"}
    assert "after not measured: " in found["Ray nodes"]


def test_an_image_of_another_digest_from_the_start_is_named(world: World) -> None:
    world.api.on_create = comes_up(lambda image: f"registry.local/ray@{OLD}")

    found = unmet(world.run())

    assert found["image of gpu-0/ray-worker"] == OLD
    assert found["image of head/ray-head"] == OLD
