"""`rdlc probe` on an embedded Ray, from the command line: measured, recorded, and stopped by Ctrl-C."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

_ROOT = Path(__file__).parents[2]
_PATIENCE_S = 400.0


def start(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "rdlc", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(_ROOT)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def call(folder: Path, *arguments: str) -> tuple[int, dict[str, Any]]:
    process = start(folder, *arguments, "--json")
    output, errors = process.communicate(timeout=_PATIENCE_S)
    assert output, errors
    return process.returncode, json.loads(output)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh project for target `local`, locked."""
    folder = tmp_path_factory.mktemp("project")
    assert call(folder, "init", ".", "--target", "local")[0] == 0
    assert call(folder, "lock", "run.yaml", "-o", "lock/tiny.lock.yaml")[0] == 0
    return folder


def processes_of(record: Path) -> list[str]:
    """The command lines of processes that name the record."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except (FileNotFoundError, ProcessLookupError):
            continue
        if str(record) in words:
            found.append(words)
    return found


@pytest.mark.late
@pytest.mark.timeout(900)
def test_a_probe_measures_on_the_runs_own_workers_and_leaves_a_record_that_holds(project: Path) -> None:
    code, answer = call(project, "probe", "lock/tiny.lock.yaml", "--price", "9.20")

    assert (code, answer["status"], answer["reason"]) == (0, "measured", "")
    assert [(arm["name"], arm["backend"], arm["transport"]["finding"]) for arm in answer["arms"]] == [
        ("locked", "gloo", "not-applicable")
    ]
    assert {row["kind"] for row in answer["bandwidth"]} == {"all-reduce", "all-gather", "reduce-scatter"}
    assert all(row["ratio"] is None for row in answer["bandwidth"])
    assert (answer["step"]["baseline_s"], answer["fallback_hour"]) == (None, None)
    assert answer["step"]["predicted"][0]["collectives_s"] > 0
    record = Path(answer["record"])
    assert (record / "bandwidth.svg").read_bytes().startswith(b"<svg ")
    assert call(project, "verify", str(record))[1]["findings"] == []
    [row] = call(project, "runs")[1]["runs"]
    assert (row["kind"], row["verdict"], row["level"]) == ("probe", "finished", "recorded")
    assert not (project / "lock/tiny.baseline.yaml").exists()
    assert processes_of(record) == []


@pytest.mark.late
@pytest.mark.timeout(900)
def test_ctrl_c_ends_a_probe_with_130_and_leaves_nothing_running(project: Path) -> None:
    before = set((project / "runs").glob("*/*/record.json"))
    process = start(project, "probe", "lock/tiny.lock.yaml", "--json")
    deadline = time.monotonic() + _PATIENCE_S
    while (
        not (found := sorted(set((project / "runs").glob("*/*/record.json")) - before))
        or not (found[0].parent / "probe.jsonl").exists()
    ):
        assert process.poll() is None, "it ended by itself"
        assert time.monotonic() < deadline, "the probe does not get on"
        time.sleep(0.05)
    record = found[0].parent
    process.send_signal(signal.SIGINT)

    output, _ = process.communicate(timeout=_PATIENCE_S)

    answer = json.loads(output)
    assert (process.returncode, answer["status"]) == (130, "interrupted")
    held = json.loads((record / "record.json").read_bytes())
    assert (held["status"], held["reason"]) == ("interrupted", "interrupted by the user")
    assert processes_of(record) == []
