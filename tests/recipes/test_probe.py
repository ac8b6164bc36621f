"""Probing on real processes over gloo, and which transports are measured."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from fsdp_qwen import probe
from fsdp_qwen.config import parse_config
from fsdp_qwen.probe_arms import Arm, arm_variables, choose_arms
from fsdp_qwen.probe_measure import probe_sizes, shard_elements
from tests.recipes.conftest import RECIPES, Run, finish, make_config, read_lines

KINDS = ("all-reduce", "all-gather", "reduce-scatter")
TCP = {"NCCL_NET": "Socket", "NCCL_P2P_DISABLE": "1", "NCCL_SHM_DISABLE": "1"}
LINE = "x==1 --hash=sha256:" + "0" * 64
SIZES = tuple(1024 * 4**power for power in range(8))


def run_probe(folder: Path, **changes: Any) -> Run:
    """Probes with plain processes, with this process as the driver."""
    config, output = folder / "config.json", folder / "output"
    config.write_text(json.dumps(make_config(**changes)))
    with redirect_stderr(StringIO()) as stderr:
        code = probe.main(["--config", str(config), "--output", str(output), "--launcher", "processes"])
    return finish(output, code, stderr.getvalue())


def gpu_config(**changes: Any) -> Any:
    return parse_config(make_config(gpus_per_worker=1, **changes))


@pytest.mark.slow
def test_two_ranks_measure_every_kind_and_size_over_gloo(tmp_path: Path, reference: Run) -> None:
    run = run_probe(tmp_path)

    assert (run.exit_code, run.stderr) == (0, "")
    arm, *sizes = read_lines(run.output / "probe.jsonl")
    assert (arm["line"], arm["arm"], arm["backend"], arm["variables"]) == ("arm", "locked", "gloo", {})
    places = [(rank["rank"], rank["node_rank"], rank["device"]) for rank in arm["ranks"]]
    assert places == [(0, 0, "cpu"), (1, 0, "cpu")]
    # What the training reports, so that a step's bytes follow.
    assert arm["layout"] == reference.result["layout"]
    assert [(line["kind"], line["size_bytes"]) for line in sizes] == [(kind, size) for kind in KINDS for size in SIZES]
    for line in sizes:
        assert all(seconds > 0 for seconds in line["seconds"])
        assert bool(line["why"]) == (not line["seconds"])
    assert [phase for phase, _ in run.phases] == [
        "starting-workers",
        *(f"measuring {kind} over the locked transport" for kind in KINDS),
        "finished",
    ]
    assert (run.worker(1)["network_used"], run.worker(1)["attempt"]) == ("gloo", 1)
    assert not (run.output / "arms").exists()
    assert list((run.output / "parts").iterdir()) == []


@pytest.mark.parametrize(("size", "ranks", "elements"), [(1024, 2, 128), (1024, 3, 85), (1024, 1000, 1)])
def test_a_size_is_what_the_ranks_can_share(size: int, ranks: int, elements: int) -> None:
    assert shard_elements(size, ranks) == elements


@pytest.mark.slow
def test_a_failing_rank_is_named_and_nothing_is_left_running(tmp_path: Path) -> None:
    run = run_probe(tmp_path, code_digest="sha256:" + "0" * 64)

    message = "code_digest: the config says sha256:" + "0" * 64 + ", but the worker received sha256:"
    assert run.exit_code == 1
    assert run.stderr.startswith(f"error: {message}")
    assert run.result["error"]["message"].startswith(message)
    assert not (run.output / "probe.jsonl").exists()


@pytest.mark.slow
def test_a_stopped_probe_says_so_and_leaves_no_process(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(make_config()))
    command = ["-m", "fsdp_qwen.probe", "--config", "config.json", "--output", "output", "--launcher", "processes"]
    driver = subprocess.Popen(
        [sys.executable, *command],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(RECIPES)},
        stderr=subprocess.PIPE,
        text=True,
    )
    lines = tmp_path / "output" / "probe.jsonl"
    deadline = time.monotonic() + 400
    while not lines.exists():
        assert time.monotonic() < deadline, "the probe does not get on"
        time.sleep(0.01)
    [arm, *_] = read_lines(lines)
    driver.send_signal(signal.SIGINT)

    _, stderr = driver.communicate(timeout=400)

    assert (driver.returncode, stderr) == (130, "error: stopped by SIGINT\n")
    assert [rank["pid"] for rank in arm["ranks"] if Path(f"/proc/{rank['pid']}").exists()] == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_workers": 1}, "num_workers: is 1, and one worker moves nothing: there is nothing to probe"),
        (
            {"packages": {"lines": [LINE], "sdists": [], "setup_timeout_s": 1, "wheels": None}},
            "packages: only `--launcher ray` installs them, not `processes`",
        ),
    ],
)
def test_what_cannot_be_probed_is_refused(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    run = run_probe(tmp_path, **changes)

    assert (run.exit_code, run.stderr) == (2, f"error: {message}\n")
    assert not run.output.exists()


def test_a_folder_with_a_probe_is_not_used_again(tmp_path: Path) -> None:
    (tmp_path / "output").mkdir()
    (tmp_path / "output" / "probe.jsonl").touch()

    run = run_probe(tmp_path)

    assert run.exit_code == 2
    assert run.stderr == f"error: --output: `{run.output}` already holds a probe's probe.jsonl\n"


def test_gloo_is_one_arm_because_it_is_tcp_itself() -> None:
    [arm] = choose_arms(parse_config(make_config()), nodes=1)

    assert (arm.name, dict(arm.variables)) == ("locked", {})
    assert arm.note == "gloo moves everything over TCP sockets, so the locked transport is TCP itself"


def test_nccl_on_one_node_has_a_stand_in_for_the_network_and_says_so() -> None:
    locked, tcp = choose_arms(gpu_config(), nodes=1)

    assert (locked, tcp.name, tcp.variables) == (Arm(name="locked", variables={}), "tcp", TCP)
    assert tcp.note.endswith("a stand-in for the network between nodes, whose own limits it does not have")


def test_nccl_on_two_nodes_has_the_network_itself() -> None:
    _, tcp = choose_arms(gpu_config(), nodes=2)

    assert (tcp.variables, tcp.note) == ({"NCCL_NET": "Socket"}, "")


def test_a_lock_that_asks_for_sockets_has_one_arm() -> None:
    environment = {**make_config()["determinism"]["environment"], **TCP}

    [arm] = choose_arms(gpu_config(determinism={"mode": "exact", "environment": environment}), nodes=1)

    assert arm.note == "the locked variables already ask for TCP, so the locked transport is TCP itself"


def test_each_arm_has_log_files_of_its_own_that_prove_its_transport(tmp_path: Path) -> None:
    config = gpu_config()
    _, tcp = choose_arms(config, nodes=1)

    variables = arm_variables(config, tmp_path, tcp)

    assert variables["NCCL_DEBUG"] == "INFO"
    assert variables["NCCL_DEBUG_FILE"] == f"{tmp_path}/arms/tcp/nccl/nccl.%h.%p.log"
    assert TCP.items() <= variables.items()
    # NCCL does not make it.
    assert (tmp_path / "arms/tcp/nccl").is_dir()


def test_sizes_go_further_on_gpus() -> None:
    assert probe_sizes("cpu") == SIZES
    assert probe_sizes("cuda") == tuple(1024 * 4**power for power in range(10))
