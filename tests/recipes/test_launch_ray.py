"""Whole runs on a real Ray, embedded in the driver: killed ranks, and bits equal to plain processes."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fsdp_qwen.checkpoint_index import checkpoint_name
from tests.recipes.conftest import Start, make_config, read_lines, start_driver, wait_for

# Long enough that a rank can be killed between two checkpoints, on a machine of any speed.
RECIPE = {"steps": 100, "checkpoint_every": 20, "fingerprint_every": 10, "evaluation_rows": 4}


def kill_rank_after(output: Path, *, rank: int, step: int) -> int:
    """Kills a rank once a step was recorded; gives back its process id."""
    deadline = time.monotonic() + 400
    metrics = output / "metrics.jsonl"
    while not metrics.exists() or len(metrics.read_text().splitlines()) < step:
        assert time.monotonic() < deadline, "the run does not get on"
        time.sleep(0.01)
    pid = json.loads((output / f"workers/{rank}/worker.json").read_text())["pid"]
    os.kill(pid, signal.SIGKILL)
    return int(pid)


def wait_for_checkpoint(output: Path, *, step: int) -> None:
    """Returns once Ray's controller has taken a checkpoint over, which is later than its last rank gave it."""
    deadline = time.monotonic() + 400
    name = checkpoint_name(step)
    while not any(name in path.read_text() for path in output.glob("checkpoints/*/checkpoint_manager_snapshot.json")):
        assert time.monotonic() < deadline, "the run does not get to its checkpoint"
        time.sleep(0.01)


def processes_below(folder: Path) -> list[str]:
    """The command lines of processes that use a folder, such as a Ray's own."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().replace(b"\0", b" ").decode()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if str(folder) in words:
            found.append(words)
    return found


@pytest.fixture
def scratch() -> Iterator[Path]:
    """A folder with a path short enough for Ray's sockets."""
    folder = Path(tempfile.mkdtemp(prefix="fsdp-", dir="/tmp"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.slow
def test_a_run_whose_rank_was_killed_continues_and_ends_with_the_bits_of_an_unbroken_one(
    run: Start, tmp_path: Path, scratch: Path
) -> None:
    folder = tmp_path / "ray"
    folder.mkdir()
    config = make_config(recipe=RECIPE, max_failures=1, scratch=str(scratch))
    driver = start_driver(folder, config)
    output = folder / "output"
    wait_for_checkpoint(output, step=20)
    pid = kill_rank_after(output, rank=1, step=24)

    ended = wait_for(driver, output)
    unbroken = run("unbroken", recipe=RECIPE)

    assert (ended.exit_code, ended.stderr) == (0, "")
    reason = f"rank 1 (pid {pid}) died: its process was killed or crashed"
    first, second = ended.result["attempts"]
    assert first == {"attempt": 1, "start_step": 1, "reason": None}
    assert (second["attempt"], second["reason"]) == (2, reason)
    assert second["start_step"] % 20 == 1
    assert second["start_step"] > 20
    # What the second attempt did again is the same again, so the records agree step by step.
    expected = {record["step"]: record for record in unbroken.steps}
    assert all(record == expected[record["step"]] for record in ended.steps)
    assert {record["step"] for record in ended.steps} == set(expected)
    assert ended.fingerprints[100]["tensors"] == unbroken.fingerprints[100]["tensors"]
    for name in ("parameters", "evaluation", "layout", "checkpoints"):
        assert ended.result[name] == unbroken.result[name]
    assert ended.phases == [
        ("starting-ray", 1),
        ("starting-workers", 1),
        ("training", 1),
        ("warmed-up", 1),
        ("restarting", 2),
        ("training", 2),
        ("warmed-up", 2),
        ("evaluating", 2),
        ("finished", 2),
    ]
    worker = ended.worker(1)
    assert (worker["ray"], worker["attempt"]) == ("2.58.0", 2)
    assert worker["environment"] == unbroken.worker(1)["environment"]
    assert worker["switches"] == unbroken.worker(1)["switches"]
    assert processes_below(scratch) == []
    assert list(scratch.iterdir()) == []


@pytest.mark.late
@pytest.mark.slow
def test_a_killed_rank_fails_a_run_that_allows_no_failure(tmp_path: Path, scratch: Path) -> None:
    config = make_config(recipe={"steps": 5000, "fingerprint_every": 5000}, scratch=str(scratch))
    driver = start_driver(tmp_path, config)
    output = tmp_path / "output"
    pid = kill_rank_after(output, rank=1, step=2)

    ended = wait_for(driver, output)

    message = f"rank 1 (pid {pid}) died: its process was killed or crashed"
    assert (ended.exit_code, ended.stderr) == (1, f"error: {message}\n")
    assert ended.result["status"] == "failed"
    assert ended.result["error"] == {"message": message, "rank": 1, "field": None}
    assert ended.result["attempts"] == [{"attempt": 1, "start_step": 1, "reason": None}]
    failures = read_lines(output / "failures.jsonl")
    assert [(line["attempt"], line["kind"]) for line in failures] == [(1, "killed")]
    assert processes_below(scratch) == []


def start_until_workers_start(folder: Path, scratch: Path) -> subprocess.Popen[str]:
    """A driver whose Ray is up."""
    config = make_config(recipe={"steps": 5000}, scratch=str(scratch))
    driver = start_driver(folder, config)
    deadline = time.monotonic() + 400
    phases = folder / "output/phases.jsonl"
    while not phases.exists() or "starting-workers" not in phases.read_text():
        assert time.monotonic() < deadline, "Ray does not start"
        time.sleep(0.05)
    return driver


@pytest.mark.slow
def test_a_terminated_driver_takes_its_ray_with_it(tmp_path: Path, scratch: Path) -> None:
    driver = start_until_workers_start(tmp_path, scratch)

    driver.terminate()
    ended = wait_for(driver, tmp_path / "output")

    assert (ended.exit_code, ended.stderr) == (143, "error: stopped by SIGTERM\n")
    assert ended.result["error"] == {"message": "stopped by SIGTERM", "rank": None, "field": None}
    assert processes_below(scratch) == []


@pytest.mark.slow
def test_a_killed_drivers_ray_ends_by_itself(tmp_path: Path, scratch: Path) -> None:
    driver = start_until_workers_start(tmp_path, scratch)
    assert processes_below(scratch) != []

    driver.kill()
    driver.communicate(timeout=400)

    deadline = time.monotonic() + 400
    while processes_below(scratch):
        assert time.monotonic() < deadline, processes_below(scratch)
        time.sleep(0.1)
