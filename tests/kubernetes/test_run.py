"""Runs on a cluster, over a real kubectl: what becomes of them when all goes well, and when it does not."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from rdlc.cli.wiring import LocalArchive
from rdlc.core.kube.started import read_started
from rdlc.errors import Interrupted, OutsideError, RdlcError
from rdlc.operations.cluster_site import Detached
from rdlc.operations.verify import verify_record
from tests.kubernetes.cluster_world import NAMESPACE, World, cluster_world, trains, trains_slowly
from tests.kubernetes.fake_api import Fault
from tests.kubernetes.fake_exec import ExecFault
from tests.kubernetes.fake_operator import recorded
from tests.operations.scripted import ScriptedMachine, lock, record_in, records
from tests.projects import make_project

pytestmark = pytest.mark.usefixtures("kubectl")


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A cluster that comes up at once."""
    machine = ScriptedMachine(make_project(tmp_path / "project"))
    with cluster_world(machine, tmp_path) as made:
        yield made


def _started(path: Path) -> tuple[str, str]:
    run = read_started((path / "cluster-run.json").read_bytes(), name="cluster-run.json")
    return run.name, run.stage


def test_run_ends_in_a_record_and_leaves_nothing_behind(world: World) -> None:
    result = world.run()
    name, stage = _started(result.path)

    assert result.is_fine, (result.record.reason, world.voice.notes, world.voice.warnings)
    assert (stage, world.voice.warnings) == ("ended", [])
    assert world.voice.notes == [
        f"RayCluster {name} is made in namespace {NAMESPACE}",
        "the code lies in 2 pods, each compared by sha256",
        f"job {name} is submitted",
        f"RayCluster {name} is deleted: nothing of this run costs money any more",
    ]
    assert (world.api.list("rayclusters"), world.api.list("pods")) == ([], [])
    assert (result.path / "driver.log").read_text() == "first line\n"
    assert (result.record.level, result.baseline) == ("execution", "written")
    assert verify_record(result.path, archive=LocalArchive()).findings == ()
    (event,) = world.api.list("events")
    assert (event["reason"], event["type"]) == ("TransportProven", "Normal")
    assert event["message"] == "transport: not applicable, NCCL was not used"
    assert [path for method, path in world.api.asked if method == "PATCH"] != []


@pytest.mark.late
def test_replay_on_a_cluster_is_compared_with_the_run(world: World) -> None:
    path = lock(world.machine)
    world.run(path=path)

    replay = world.run(kind="replay", path=path)

    assert (replay.record.level, replay.baseline) == ("outcome-bitwise", "compared")
    assert replay.record.outcome == "the same bits in 3 steps and the final parameters"


@pytest.mark.late
@pytest.mark.parametrize("kind", ["drop", "close"])
def test_broken_streams_lose_and_repeat_no_line(world: World, kind: str) -> None:
    world.ray.driver = trains_slowly
    world.api.exec_faults += [ExecFault(kind=kind, command="metrics.jsonl", times=2, after_bytes=300)]
    world.api.exec_faults += [ExecFault(kind=kind, command="driver.log", times=2)]

    result = world.run()

    assert result.is_fine, (result.record.reason, world.voice.warnings)
    assert [step.step for step in world.voice.steps] == [1, 2, 3]
    assert any("was taken up again, with no line lost or repeated" in note for note in world.voice.notes)


@pytest.mark.late
def test_files_that_break_off_are_fetched_again(world: World) -> None:
    # The program that fetches is the only one whose last word is the run's folder.
    world.api.exec_faults.append(ExecFault(kind="drop", command="/tmp/rdlc/", times=0))

    def fetching(record: Path, stop: threading.Event) -> int:
        code = trains(record, stop)
        world.api.exec_faults.append(ExecFault(kind="drop", command=str(record.parent), times=1, after_bytes=2000))
        return code

    world.ray.driver = fetching

    assert world.run().is_fine


@pytest.mark.late
def test_job_is_submitted_once_although_its_answer_got_lost(world: World) -> None:
    world.api.exec_faults.append(ExecFault(kind="drop", command="ray job submit", times=1))

    result = world.run()

    assert result.is_fine
    assert len(world.ray.jobs) == 1


@pytest.mark.late
def test_failed_job_is_a_failed_run_in_the_recipes_own_words(world: World) -> None:
    def fails(record: Path, stop: threading.Event) -> int:
        error = {"message": "rank 1: out of memory", "rank": 1, "field": None}
        (record / "result.json").write_text(json.dumps({"error": error, "status": "failed"}))
        return 3

    world.ray.driver = fails
    result = world.run()

    assert (result.record.status, result.record.reason) == ("failed", "rank 1: out of memory")
    assert world.api.list("rayclusters") == []


@pytest.mark.late
def test_limit_stops_a_hanging_job_collects_and_says_why(world: World) -> None:
    def hangs(record: Path, stop: threading.Event) -> int:
        (record / "driver.log").write_text("waiting for a peer\n")
        stop.wait(60)
        return 1

    world.ray.driver = hangs
    spec = world.machine.project / "run.yaml"
    spec.write_text(spec.read_text() + "limits: {no_step_minutes: '0.02'}\n")

    result = world.run()

    assert result.record.status == "stopped"
    assert "no_step_minutes" in result.record.reason
    assert (result.path / "driver.log").read_text() == "waiting for a peer\n"
    assert world.api.list("rayclusters") == []


@pytest.mark.parametrize(
    ("recording", "cause"),
    [
        ("auth", "KubeRay refuses the spec: The RayCluster spec is invalid"),
        ("img", "the image of the head "),
        ("oom", "the head "),
    ],
)
def test_cluster_that_never_comes_up_is_taken_away_at_once_with_the_cause(
    world: World, recording: str, cause: str
) -> None:
    world.api.on_create = recorded(recording)

    with pytest.raises(RdlcError) as caught:
        world.run()

    assert caught.value.message.startswith(cause)
    assert world.api.list("rayclusters") == []
    (path,) = records(world.machine)
    assert record_in(path).reason == caught.value.message
    assert len(world.voice.outlooks) == 1


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (Fault(method="POST", path="/rayclusters", code=403, reason="Forbidden", message="no"), "no"),
        (Fault(method="POST", path="/rayclusters", code=409, reason="AlreadyExists"), "there is a RayCluster `"),
    ],
)
def test_cluster_that_may_not_be_made_is_a_clear_no(world: World, fault: Fault, message: str) -> None:
    world.api.faults.append(fault)

    with pytest.raises(RdlcError) as caught:
        world.run()

    assert caught.value.message.startswith(message)
    assert world.api.list("rayclusters") == []


@pytest.mark.late
def test_code_that_may_not_be_brought_takes_the_cluster_away(world: World) -> None:
    world.api.exec_faults.append(ExecFault(kind="forbidden"))

    with pytest.raises(OutsideError) as caught:
        world.run()

    assert "pods/exec is forbidden" in caught.value.message
    assert world.api.list("rayclusters") == []


@pytest.mark.late
def test_server_that_stumbles_while_pods_come_up_is_asked_again(world: World) -> None:
    world.api.faults.append(Fault(method="GET", path="/pods", code=500, reason="InternalError", times=2))

    assert world.run().is_fine


def test_ctrl_c_detaches_and_the_job_goes_on(world: World) -> None:
    world.ray.driver = trains_slowly
    world.voice.interrupt_at = 1

    with pytest.raises(Detached) as caught:
        world.run(path=lock(world.machine))

    (path,) = records(world.machine)
    name, stage = _started(path)
    given = world.machine.project / "lock/toy.lock.yaml"
    assert caught.value.exit_code == 130
    assert caught.value.message.splitlines() == [
        "detached; the job goes on",
        f"  attach again   rdlc run {given} --resume {path}",
        f"  look           kubectl get pods -n ray-train --context fake -l ray.io/cluster={name}",
        f"  collect        rdlc collect {path}",
        f"  delete         kubectl delete raycluster {name} -n ray-train --context fake",
        f"  costs money    RayCluster {name} holds its nodes until it is deleted",
    ]
    assert (stage, record_in(path).status, len(world.api.list("rayclusters"))) == ("submitted", "running", 1)
    assert not (path / ".running").exists()


@pytest.mark.late
def test_ctrl_c_before_the_job_takes_the_cluster_away(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupts(*given: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(world.voice, "pods", interrupts)

    with pytest.raises(Interrupted):
        world.run()

    (path,) = records(world.machine)
    assert record_in(path).reason == "interrupted by the user"
    assert world.api.list("rayclusters") == []


@pytest.mark.late
def test_head_that_is_gone_ends_the_run_and_says_so(world: World) -> None:
    def vanishes(record: Path, stop: threading.Event) -> int:
        (head,) = [pod for pod in world.api.list("pods") if "head" in pod["metadata"]["name"]]
        head["metadata"]["uid"] = "another"
        world.api.exec_faults.append(ExecFault(kind="drop", command="driver.log"))
        stop.wait(30)
        return 1

    world.ray.driver = vanishes
    result = world.run()
    name, _ = _started(result.path)

    assert result.record.status == "failed"
    assert result.record.reason == f"pod `{name}-head-0` is gone, and the job with it"


@pytest.mark.late
def test_changed_code_in_a_pod_is_refused_and_named(world: World) -> None:
    tool = world.api.environment("pod")["PATH"].split(":")[0]
    python = Path(tool) / "python3"
    real = python.resolve()
    python.unlink()
    script = f"""#!/bin/sh
{real} "$@" | sed 's/"toy.__init__.py": "./"toy\\/__init__.py": "x/'
"""
    python.write_text(script)
    python.chmod(0o755)

    with pytest.raises(RdlcError) as caught:
        world.run()

    assert "is not the one that was sent: " in caught.value.message
    assert world.api.list("rayclusters") == []
