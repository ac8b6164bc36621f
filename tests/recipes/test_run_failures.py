"""Whole runs that are refused or end early: who is named, and that nothing is left behind."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fsdp_qwen.ray_callback import is_alive
from tests.recipes.conftest import (
    RECIPES,
    Run,
    Start,
    make_config,
    run_processes,
    start_driver,
    wait_for,
)


def wait_until_step(output: Path, step: int) -> None:
    """Waits until a step of the first attempt was recorded."""
    deadline = time.monotonic() + 400
    metrics = output / "metrics.jsonl"
    while not metrics.exists() or len(metrics.read_text().splitlines()) < step:
        assert time.monotonic() < deadline, "the run does not get on"
        time.sleep(0.01)


def test_a_worker_refuses_code_that_is_not_the_configs(run: Start) -> None:
    ended = run(code_digest="sha256:" + "0" * 64)

    received = ended.worker(0)["code_digest"]
    message = f"code_digest: the config says sha256:{'0' * 64}, but the worker received {received}"
    assert (ended.exit_code, ended.stderr) == (1, f"error: rank 0: {message}\n")
    assert ended.result["status"] == "failed"
    assert ended.result["error"] == {"message": message, "rank": 0, "field": "code_digest"}
    assert not (ended.output / "metrics.jsonl").exists()


def test_numbers_that_overflow_end_the_run_naming_the_step_and_the_field(run: Start) -> None:
    ended = run(recipe={"learning_rate": "1e30"})

    assert ended.exit_code == 1
    error = ended.result["error"]
    assert error == {"message": "step 2: loss is nan", "rank": 0, "field": "loss"}
    assert ended.result["last_step"] == 1


def test_an_output_folder_is_used_once(copy: Run) -> None:
    again = run_processes(copy.output.parent, copy.output.name)

    assert again.exit_code == 2
    assert again.stderr == f"error: --output: `{copy.output}` already holds a run's metrics.jsonl\n"


@pytest.mark.slow
def test_a_killed_rank_fails_the_run_and_names_the_rank(tmp_path: Path) -> None:
    config = make_config(recipe={"steps": 2000})
    driver = start_driver(tmp_path, config, "--launcher", "processes")
    output = tmp_path / "output"
    wait_until_step(output, 2)
    pid = json.loads((output / "workers/1/worker.json").read_text())["pid"]

    os.kill(pid, signal.SIGKILL)
    ended = wait_for(driver, output)

    message = f"rank 1 (pid {pid}) was killed by signal 9"
    assert (ended.exit_code, ended.stderr) == (1, f"error: {message}\n")
    assert ended.result["error"] == {"message": message, "rank": 1, "field": None}
    assert ended.result["first_step"] == 1
    assert ended.result["last_step"] == ended.steps[-1]["step"]


@pytest.mark.slow
def test_a_terminated_driver_leaves_no_rank_behind_and_says_so(tmp_path: Path) -> None:
    driver = start_driver(tmp_path, make_config(recipe={"steps": 2000}), "--launcher", "processes")
    output = tmp_path / "output"
    wait_until_step(output, 2)
    pids = [json.loads(path.read_text())["pid"] for path in output.glob("workers/*/worker.json")]

    driver.terminate()
    ended = wait_for(driver, output)

    assert (ended.exit_code, ended.stderr) == (143, "error: stopped by SIGTERM\n")
    assert ended.result["error"]["message"] == "stopped by SIGTERM"
    assert [pid for pid in pids if Path(f"/proc/{pid}").exists()] == []


@pytest.mark.slow
def test_a_killed_drivers_ranks_end_by_themselves(tmp_path: Path) -> None:
    driver = start_driver(tmp_path, make_config(recipe={"steps": 20_000}), "--launcher", "processes")
    output = tmp_path / "output"
    wait_until_step(output, 1)
    pids = [json.loads(path.read_text())["pid"] for path in output.glob("workers/*/worker.json")]

    driver.kill()
    driver.communicate(timeout=400)

    deadline = time.monotonic() + 100
    while [pid for pid in pids if is_alive(pid)]:
        assert time.monotonic() < deadline, "ranks outlive their driver"
        time.sleep(0.1)


def test_a_process_environment_that_breaks_exact_mode_is_refused(tmp_path: Path) -> None:
    driver = start_driver(
        tmp_path,
        make_config(),
        "--launcher",
        "processes",
        environment={"NCCL_ALGO": "Tree"},
    )

    ended = wait_for(driver, tmp_path / "output")

    assert ended.exit_code == 1
    assert ended.stderr == (
        "error: environment.NCCL_ALGO: is `Tree` in this process, but the config says `Ring`; "
        "exact mode allows only `Ring`, `^NVLS` "
        "(tree sums follow the topology found; NVLS sums differ per call)\n"
    )
    assert ended.result["error"]["field"] == "environment.NCCL_ALGO"


def test_the_driver_needs_neither_torch_nor_ray_to_refuse_a_config() -> None:
    program = "import sys, fsdp_qwen.train; print(sorted({'ray', 'torch'} & set(sys.modules)))"

    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": str(RECIPES)},
        capture_output=True,
        text=True,
        timeout=100,
        check=True,
    )

    assert done.stdout == "[]\n"
