"""A record of a run on a RayCluster that rdlc did not start."""

import json
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from rdlc.cli.wiring import LocalArchive, LocalCollector
from rdlc.errors import InputError, RdlcError
from rdlc.operations.collect_cluster import ClusterRequest, CollectedCluster, collect_cluster
from rdlc.operations.verify import verify_record
from tests.core.kube.recorded import OLD, PODS, RAYCLUSTER, status_of, worker
from tests.operations.fake_eyes import FakeEyes
from tests.operations.scripted import Voice, record_in

CORE = Path(__file__).parents[1] / "core/transport"
SOCKET = (CORE / "logs/socket.log").read_bytes()
EFA = next((CORE / "cases").glob("36-*.log")).read_bytes()
WORKER = "rdlc-w-gpu-worker-pkcfv"
NODE = {"metadata": {"name": "bed", "labels": {}}, "status": {"nodeInfo": {"kernelVersion": "6.12.40"}}}
JOBS = [
    {"job_id": "01000000", "submission_id": "first", "status": "FAILED", "start_time": "1"},
    {"job_id": "02000000", "submission_id": "second", "status": "SUCCEEDED", "start_time": "2"},
]


def ray_answer(state: str = "ALIVE") -> bytes:
    nodes = [
        {"node_id": f"{number}", "node_ip": pod["status"]["podIP"], "state": state, "is_head_node": False, "gpus": "4"}
        for number, pod in enumerate(PODS)
    ]
    return json.dumps({"nodes": nodes, "jobs": JOBS}).encode() + b"\n"


def write_logs(pods: Path, said: bytes) -> None:
    """What Ray leaves in the pod of a worker."""
    logs = pods / WORKER / "ray/session_1/logs"
    logs.mkdir(parents=True, exist_ok=True)
    latest = logs.parents[1] / "session_latest"
    if not latest.is_symlink():
        latest.symlink_to("session_1")
    (logs / "worker-aa-02000000-77.out").write_bytes(b"HF_TOKEN=secret\n" + said)
    (logs / "worker-bb-01000000-55.out").write_bytes(b"h:55:55 [0] NCCL INFO of an earlier job\n")
    (logs / "raylet.out").write_bytes(b"nothing here\n")


@pytest.fixture
def eyes(tmp_path: Path) -> FakeEyes:
    write_logs(tmp_path / "pods", SOCKET)
    objects = {"rayclusters.ray.io": [RAYCLUSTER], "pods": deepcopy(PODS), "nodes": [NODE]}
    return FakeEyes(objects=objects, pods=tmp_path / "pods", answers={"ray": ray_answer()})


@pytest.fixture
def collect(eyes: FakeEyes, tmp_path: Path) -> Callable[..., CollectedCluster]:
    def run(cluster: str = "rdlc-w", voice: Voice | None = None) -> CollectedCluster:
        request = ClusterRequest(
            cluster=cluster, namespace="ray-train", name="seen", runs=tmp_path / "runs", tool="rdlc 0"
        )
        return collect_cluster(request, eyes=eyes, collector=LocalCollector(), reporter=voice or Voice())

    return run


Collect = Callable[..., CollectedCluster]


def test_pods_and_logs_become_a_record_that_verifies(collect: Collect) -> None:
    done = collect()

    record = record_in(done.path)
    assert (record.kind, record.status, record.level, record.lock_id) == ("collect", "collected", "recorded", "")
    assert done.wrong == ()
    assert done.report.judged.finding == "fallback"
    assert record.observed["nodes: kernel"] == "6.12.40"
    assert record.observed["Ray job"] == "second (SUCCEEDED)"
    assert record.cluster is not None
    assert (record.cluster.namespace, record.cluster.name) == ("ray-train", "rdlc-w")
    assert verify_record(done.path, archive=LocalArchive()).findings == ()


def test_only_lines_of_nccl_and_only_of_the_last_job_are_kept(collect: Collect) -> None:
    done = collect()

    kept = [file.read_bytes() for file in done.path.rglob("*") if file.is_file()]
    assert not any(b"secret" in data or b"an earlier job" in data for data in kept)
    assert done.logs.num_left_out == 1
    assert [name for name in done.record.observed if name.startswith("log ")] == [
        f"log 0002-{WORKER}-worker-aa-02000000-77.out.log"
    ]


def test_a_record_whose_cluster_was_changed_is_invalid(collect: Collect) -> None:
    done = collect()
    file = done.path / "cluster/after.json"
    file.write_bytes(file.read_bytes().replace(b'"restarts": 0', b'"restarts": 3', 1))

    messages = {finding.message for finding in verify_record(done.path, archive=LocalArchive()).findings}

    assert "what was seen of the cluster gives other checks than the record holds" in messages


@pytest.mark.parametrize(
    ("change", "name", "found"),
    [
        (lambda pods: status_of(worker(pods)).update(imageID=f"x/ray@{OLD}"), "one image", OLD),
        (lambda pods: status_of(worker(pods)).update(restartCount=1), "container restarts", "1 of gpu-1/ray-worker"),
        (lambda pods: pods.pop(0), "pods", "head 1, gpu 1"),
    ],
)
def test_what_is_wrong_with_a_cluster_is_named(
    eyes: FakeEyes, collect: Collect, change: Callable[[list[dict[str, Any]]], object], name: str, found: str
) -> None:
    change(eyes.objects["pods"])

    wrong = {check.name: check.found for check in collect().wrong}

    assert found in wrong[name]


def test_a_dead_ray_node_is_named(eyes: FakeEyes, collect: Collect) -> None:
    eyes.answers["ray"] = ray_answer("DEAD")

    (wrong,) = collect().wrong

    assert (wrong.name, wrong.found.partition(" (")[0]) == ("Ray nodes", "0 alive, 3 dead")


def test_what_cannot_be_seen_is_said_and_does_not_end_it(eyes: FakeEyes, collect: Collect) -> None:
    eyes.refused = {"nodes": "nodes is forbidden", WORKER: "exec is forbidden"}
    voice = Voice()

    done = collect(voice=voice)

    words = f"the program in pod `{WORKER}` ended with 1: exec is forbidden"
    assert done.record.cluster is not None
    assert done.record.cluster.unseen == {"nodes": "nodes is forbidden"}
    assert voice.warnings == [f"the logs of pod {WORKER} cannot be read: {words}"]
    assert done.record.observed[f"logs of {WORKER}"] == f"not measured: {words}"
    assert done.report.judged.finding == "unknown"


@pytest.mark.parametrize("said", [b"", b'F{"path": "x"}\nLa\n', b"hello\n", b"Lx NCCL\n", b'Z{"left_out": 0}\nmore\n'])
def test_a_pod_that_says_something_else_is_not_measured(eyes: FakeEyes, collect: Collect, said: bytes) -> None:
    eyes.answers[WORKER] = said

    assert collect().record.observed[f"logs of {WORKER}"].startswith("not measured: ")


def test_a_raycluster_that_is_not_there_is_said_with_the_way_to_find_it(collect: Collect, tmp_path: Path) -> None:
    with pytest.raises(RdlcError) as caught:
        collect("other")

    assert not isinstance(caught.value, InputError)
    assert caught.value.message == "there is no RayCluster `other` in namespace `ray-train`"
    assert caught.value.hint == "`kubectl get rayclusters -n ray-train`"
    assert not (tmp_path / "runs").exists()


def test_a_raycluster_without_pods_leaves_nothing(eyes: FakeEyes, collect: Collect, tmp_path: Path) -> None:
    eyes.objects["pods"].clear()

    with pytest.raises(RdlcError, match="has no pods"):
        collect()
    assert not (tmp_path / "runs").exists()
