"""The product's own sentence on real training: lock, run, replay and diff on an embedded Ray."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

_ROOT = Path(__file__).parents[2]
_PATIENCE_S = 300.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Project:
    """A folder made by `rdlc init`."""

    path: Path

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Starts `rdlc` in the folder."""
        command = [sys.executable, "-m", "rdlc", *arguments]
        environment = {**os.environ, "PYTHONPATH": str(_ROOT)}
        return subprocess.Popen(
            command,
            cwd=self.path,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def call(self, *arguments: str) -> tuple[int, dict[str, Any]]:
        """The exit code and the JSON answer of `rdlc ... --json`."""
        process = self.start(*arguments, "--json")
        output, errors = process.communicate(timeout=_PATIENCE_S)
        assert output, errors.decode()
        answer = json.loads(output)
        assert answer["exit_code"] == process.returncode
        return process.returncode, answer

    def lock(self, name: str, *settings: str) -> str:
        """Locks `run.yaml` under another file name, with settings; gives the lock's path."""
        lock = f"lock/{name}.lock.yaml"
        options = [part for setting in settings for part in ("--set", setting)]
        code, answer = self.call("lock", "run.yaml", "-o", lock, *options)
        assert (code, answer["status"]) == (0, "locked")
        return lock

    def newest_record(self) -> Path:
        """The folder of the record that was begun last."""
        return max((self.path / "runs").glob("*/*/record.json"), key=lambda p: p.parent.name).parent


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A fresh project for target `local`."""
    made = Project(path=tmp_path_factory.mktemp("project"))
    assert made.call("init", ".", "--target", "local")[0] == 0
    return made


@pytest.fixture(scope="module")
def baseline_run(project: Project) -> dict[str, Any]:
    """The answer of the first run of a short lock, which becomes its baseline."""
    code, answer = project.call("run", project.lock("short", "recipe.steps=6"))
    assert code == 0, answer
    return answer


@pytest.mark.timeout(600)
def test_replay_of_a_lock_is_the_same_to_the_bit(project: Project, baseline_run: dict[str, Any]) -> None:
    code, replay = project.call("replay", "lock/short.lock.yaml")

    assert (baseline_run["level"], baseline_run["baseline"]) == ("execution", "written")
    assert (code, replay["status"], replay["level"]) == (0, "reproduced", "outcome-bitwise")
    assert replay["outcome"] == "the same bits in 6 steps and the final parameters"
    assert replay["divergence"] is None
    assert project.call("verify", str(replay["record"]))[1]["findings"] == []
    assert project.call("verify", "lock/short.baseline.yaml")[1]["status"] == "intact"
    records = str(baseline_run["record"]), str(replay["record"])
    assert project.call("diff", *records, "--exit-code")[0] == 0


@pytest.mark.nightly
@pytest.mark.timeout(600)
def test_other_learning_rate_is_the_one_difference_and_diverges_at_the_first_step(
    project: Project, baseline_run: dict[str, Any]
) -> None:
    lock = project.lock("other", "recipe.steps=6", "recipe.learning_rate=1e-3")
    code, run = project.call("run", lock)
    assert code == 0, run

    process = project.start("diff", str(baseline_run["record"]), str(run["record"]), "--exit-code")
    text = process.communicate(timeout=_PATIENCE_S)[0].decode()

    assert process.returncode == 1
    assert 'learning_rate  "8e-3" -> "1e-3"' in text
    assert "first differs at step 1: parameters" in text
    assert "`model.embed_tokens.weight`" in text


def test_changed_recipe_is_refused_by_run_and_replay_and_the_file_is_named(
    project: Project, baseline_run: dict[str, Any]
) -> None:
    loop = project.path / "recipes/fsdp_qwen/loop.py"
    locked = loop.read_text()
    before = set((project.path / "runs").glob("*/*"))
    loop.write_text(locked + "# one more line\n")
    try:
        answers = [project.call(verb, "lock/short.lock.yaml") for verb in ("run", "replay")]
    finally:
        loop.write_text(locked)

    for code, answer in answers:
        assert (code, answer["status"]) == (1, "drifted")
        [drift] = answer["drift"]
        assert (drift["section"], drift["address"]) == ("code", "fsdp_qwen/loop.py")
        assert f"shipped.tar -C {project.path}/recipes" in answer["mend"]["code"]
    assert set((project.path / "runs").glob("*/*")) == before


@pytest.mark.late
@pytest.mark.timeout(900)
def test_killed_rank_fails_the_run_and_killed_rdlc_leaves_nothing_and_a_record(
    project: Project, baseline_run: dict[str, Any]
) -> None:
    lock = project.lock("endless", "recipe.steps=100000", "recipe.checkpoint_every=0")

    # A killed rank ends the run, which says so.
    process = project.start("run", lock, "--json")
    record = _wait_for_steps(project, 3)
    report = json.loads((record / "workers/1/worker.json").read_text())
    os.kill(report["pid"], signal.SIGKILL)
    answer = json.loads(process.communicate(timeout=_PATIENCE_S)[0])
    assert (process.returncode, answer["status"]) == (1, "failed")
    assert "rank 1" in answer["reason"]
    assert answer["steps_done"] >= 3
    assert _processes_of(record) == []

    # rdlc itself is killed: nobody is left to say anything, and still nothing is left running.
    process = project.start("run", lock, "--json")
    record = _wait_for_steps(project, 3)
    process.kill()
    process.communicate(timeout=_PATIENCE_S)
    _wait_until(lambda: _processes_of(record) == [])
    listed = project.call("runs")[1]["runs"][0]
    assert (listed["verdict"], listed["why"]) == ("interrupted", "rdlc was killed")
    assert listed["steps_done"] >= 3

    # The next run works, and closes that record.
    code, replay = project.call("replay", "lock/short.lock.yaml")
    assert (code, replay["level"]) == (0, "outcome-bitwise")
    closed = json.loads((record / "record.json").read_text())
    assert (closed["status"], closed["reason"]) == ("interrupted", "rdlc was killed")


def _wait_for_steps(project: Project, steps: int) -> Path:
    """The record of the run that was started last, once it has done some steps."""
    known = set((project.path / "runs").glob("*/*/metrics.jsonl"))

    def begun() -> bool:
        metrics = project.newest_record() / "metrics.jsonl"
        return metrics not in known and metrics.exists() and metrics.read_bytes().count(b"\n") >= steps

    _wait_until(begun)
    return project.newest_record()


def _wait_until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + _PATIENCE_S
    while not holds():
        assert time.monotonic() < end, "it did not come to pass in time"
        time.sleep(0.2)


def _processes_of(record: Path) -> list[str]:
    """The command lines of processes that belong to a record: by the mark, or by its paths."""
    document = json.loads((record / "record.json").read_text())
    marks = (document["token"].encode(), document["scratch"].encode(), str(record).encode())
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes() + (folder / "environ").read_bytes()
        except OSError:
            continue
        if any(mark in words for mark in marks):
            found.append(words[:200].decode(errors="replace"))
    return found
