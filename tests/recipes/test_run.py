"""Whole runs with plain processes: real FSDP2 worlds, compared bit by bit."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fsdp_qwen import launch_processes
from fsdp_qwen.config import parse_config
from fsdp_qwen.failures import Failure
from fsdp_qwen.outcome import Outcome
from fsdp_qwen.ray_callback import is_alive
from fsdp_qwen.records import Output
from tests.recipes.conftest import (
    ENVIRONMENT,
    RECIPES,
    REFERENCE,
    Run,
    Start,
    make_config,
    read_lines,
    run_processes,
    start_driver,
    wait_for,
)


def first_difference(one: Run, other: Run) -> tuple[int, list[str]]:
    """The first step whose records differ, and the fields that do."""
    for a, b in zip(one.steps, other.steps, strict=True):
        fields = [name for name in a if a[name] != b[name]]
        if fields:
            return a["step"], fields
    raise AssertionError("the runs are equal")


def wait_until_step(output: Path, step: int) -> None:
    """Waits until a step of the first attempt was recorded."""
    deadline = time.monotonic() + 400
    metrics = output / "metrics.jsonl"
    while not metrics.exists() or len(metrics.read_text().splitlines()) < step:
        assert time.monotonic() < deadline, "the run does not get on"
        time.sleep(0.01)


def test_same_config_twice_gives_the_same_bits(reference: Run, run: Start) -> None:
    again = run(recipe=REFERENCE)

    assert (reference.exit_code, reference.stderr) == (0, "")
    assert again.steps == reference.steps
    assert again.fingerprints == reference.fingerprints
    assert sorted(again.fingerprints) == [0, 1, 2, 3, 4]
    for name in ("parameters", "evaluation", "checkpoints", "layout", "data"):
        assert again.result[name] == reference.result[name]


def test_writing_checkpoints_and_evaluating_do_not_touch_the_numbers(reference: Run, run: Start) -> None:
    plain = run(recipe={"steps": 4})

    assert plain.steps == reference.steps
    assert (plain.result["evaluation"], plain.result["checkpoints"]) == (None, [])


def test_a_finished_run_leaves_its_whole_record(reference: Run) -> None:
    assert reference.phases == [
        ("starting-workers", 1),
        ("training", 1),
        ("evaluating", 1),
        ("finished", 1),
    ]
    result = reference.result
    assert {k: result[k] for k in ("format", "status", "error", "first_step", "last_step")} == {
        "format": 1,
        "status": "finished",
        "error": None,
        "first_step": 1,
        "last_step": 4,
    }
    assert result["attempts"] == [{"attempt": 1, "start_step": 1, "reason": None}]
    assert result["parameters"] == reference.steps[-1]["parameters"]
    assert result["timing"]["counted_steps"] == 3
    assert [rank["rank"] for rank in result["ranks"]] == [0, 1]
    assert [(point["step"], sorted(point["files"])) for point in result["checkpoints"]] == [
        (step, [f"step-00000{step}/__{rank}_0.distcp" for rank in (0, 1)]) for step in (2, 4)
    ]
    assert list((reference.output / "parts").iterdir()) == []


def test_layout_counts_every_parameter_once(reference: Run) -> None:
    assert reference.result["layout"] == {
        "parameters": 109_120,
        "trainable_tensors": 26,
        "sharding": "fsdp",
        "units": [
            {"name": "model.layers.0", "parameters": 46_336, "reshard_after_forward": True},
            {"name": "model.layers.1", "parameters": 46_336, "reshard_after_forward": True},
            {"name": "", "parameters": 16_448, "reshard_after_forward": False},
        ],
        "dtypes": {"master": "float32", "compute": "float32", "reduce": "float32"},
    }


def test_each_rank_records_what_it_saw(reference: Run) -> None:
    worker = reference.worker(1)

    assert worker["environment"] == ENVIRONMENT
    assert worker["switches"] == {
        "cublas.allow_bf16_reduced_precision_reduction": "false",
        "cublas.allow_fp16_reduced_precision_reduction": "false",
        "cublas.allow_tf32": "false",
        "cudnn.allow_tf32": "false",
        "cudnn.benchmark": "false",
        "cudnn.deterministic": "true",
        "deterministic_algorithms": "true",
        "deterministic_algorithms.warn_only": "false",
        "fill_uninitialized_memory": "false",
        "sdp.cudnn": "false",
        "sdp.flash": "true",
        "sdp.math": "true",
        "sdp.mem_efficient": "false",
        "threads": "1",
    }
    seen = {k: worker[k] for k in ("rank", "attempt", "ray", "device", "network_used")}
    assert seen == {"rank": 1, "attempt": 1, "ray": None, "device": "cpu", "network_used": "gloo"}
    assert worker["peak_rss_bytes"] > 50_000_000


@pytest.mark.slow
def test_initial_weights_and_rows_do_not_depend_on_the_number_of_ranks(run: Start) -> None:
    # Three ranks cut 256 rows of the embedding into unequal shards.
    worlds = [run(f"w{size}", num_workers=size, recipe={"steps": 1, "global_batch_size": 6}) for size in (1, 2, 3)]

    assert worlds[0].fingerprints[0] == worlds[1].fingerprints[0] == worlds[2].fingerprints[0]
    assert len({world.steps[0]["batch_digest"] for world in worlds}) == 1
    losses = [float.fromhex(world.steps[0]["loss"]) for world in worlds]
    assert losses == pytest.approx([losses[0]] * 3, rel=1e-5)


def test_fused_optimizer_differs_in_the_weights_before_anything_else(reference: Run, run: Start) -> None:
    fused = run(recipe={"steps": 4, "optimizer_implementation": "fused"})

    assert first_difference(reference, fused) == (1, ["parameters"])
    assert fused.fingerprints[0] == reference.fingerprints[0]


def test_another_learning_rate_differs_from_the_first_update_on(reference: Run, run: Start) -> None:
    other = run(recipe={"steps": 4, "learning_rate": "1.1e-2"})

    assert first_difference(reference, other) == (1, ["learning_rate", "parameters"])
    assert other.steps[0]["loss"] == reference.steps[0]["loss"]
    assert other.steps[1]["loss"] != reference.steps[1]["loss"]


def test_bf16_compute_gives_the_same_bits_twice_and_others_than_fp32(reference: Run, run: Start) -> None:
    one, other = (run(name, recipe={"precision": "bf16", "steps": 3}) for name in ("one", "other"))

    assert one.exit_code == 0
    assert one.steps == other.steps
    assert one.result["layout"]["dtypes"] == {
        "master": "float32",
        "compute": "bfloat16",
        "reduce": "float32",
    }
    assert one.fingerprints[0] == reference.fingerprints[0]
    assert one.steps[0]["loss"] != reference.steps[0]["loss"]


@pytest.mark.slow
def test_training_on_the_chain_approaches_its_entropy(run: Start) -> None:
    recipe = {"steps": 60, "global_batch_size": 16, "sequence_length": 64, "evaluation_rows": 16}

    ended = run(recipe={**recipe, "fingerprint_every": 60}).result

    measured = {name: float.fromhex(ended["evaluation"][name]) for name in ("loss_before", "loss", "source_loss")}
    assert ended["data"]["entropy_nats"] == "1.186988"
    assert measured["source_loss"] == pytest.approx(1.187, abs=0.06)
    assert measured["loss_before"] > 5.4
    assert measured["source_loss"] - 0.01 < measured["loss"] < measured["source_loss"] + 0.5


def test_a_run_on_noise_says_that_it_does_not_show_learning(run: Start) -> None:
    ended = run(data={"kind": "random-tokens"}, recipe={"steps": 1, "fingerprint_every": 5})

    assert ended.result["data"] == {
        "kind": "random-tokens",
        "seed": 0,
        "entropy_nats": "5.545177",
        "proves": "random tokens prove that the infrastructure runs; they hold nothing to learn, "
        "so the loss does not show learning",
    }
    # The last step is always fingerprinted.
    assert sorted(ended.fingerprints) == [0, 1]


def test_fast_mode_sets_no_switch_and_records_them(run: Start) -> None:
    worker = run(determinism={"mode": "fast", "environment": {}}, recipe={"steps": 1}).worker(0)

    assert worker["switches"]["deterministic_algorithms"] == "false"
    assert worker["switches"]["sdp.mem_efficient"] == "true"


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


@pytest.mark.slow
def test_torchrun_gives_the_bits_of_plain_processes(reference: Run, tmp_path: Path) -> None:
    driver = start_driver(
        tmp_path,
        make_config(recipe=REFERENCE),
        "--launcher",
        "torchrun",
        through_torchrun=2,
        environment=ENVIRONMENT,
    )
    ended = wait_for(driver, tmp_path / "output")

    assert ended.exit_code == 0, ended.stderr
    assert ended.steps == reference.steps
    assert ended.result["checkpoints"] == reference.result["checkpoints"]


def resume(run: Run) -> Outcome | Failure:
    """A second attempt at the reference run, as a launcher would start it after a failure."""
    config = make_config(recipe={**REFERENCE, "steps": 6})
    return launch_processes.run_attempt(parse_config(config), Output(path=run.output), attempt=2)


@pytest.mark.slow
def test_a_second_attempt_continues_bit_by_bit(copy: Run, run: Start) -> None:
    whole = run("whole", recipe={**REFERENCE, "steps": 6})

    outcome = resume(copy)

    assert copy.steps == whole.steps
    attempts = [line["attempt"] for line in read_lines(copy.output / "metrics.jsonl")]
    assert attempts == [1] * 4 + [2] * 2
    assert isinstance(outcome, Outcome)
    assert outcome.parameters == whole.result["parameters"]
    # The loss before the first step comes from the checkpoint, not from the resumed weights.
    assert outcome.evaluation is not None
    assert outcome.evaluation.loss_before.hex() == whole.result["evaluation"]["loss_before"]


@pytest.mark.parametrize("file", ["__1_0.distcp", ".metadata"])
def test_a_damaged_checkpoint_is_refused_naming_the_file(copy: Run, file: str) -> None:
    path = copy.output / "checkpoints/test/step-000004" / file
    saved = json.loads((path.parent / "checkpoint.json").read_text())["files"][file]
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)

    failure = resume(copy)

    found = f"sha256:{hashlib.sha256(content).hexdigest()}"
    message = f"{path}: has {found}, but {saved} was saved, so the checkpoint is damaged"
    assert failure == Failure(rank=0, kind="refused", message=message, field="checkpoint")


def test_a_checkpoint_that_lacks_a_shard_is_refused_naming_the_file(copy: Run) -> None:
    path = copy.output / "checkpoints/test/step-000004/__0_0.distcp"
    path.unlink()

    failure = resume(copy)

    message = f"{path}: is missing, so the checkpoint is not complete"
    assert failure == Failure(rank=0, kind="refused", message=message, field="checkpoint")


def test_a_first_attempt_never_starts_from_a_checkpoint(copy: Run) -> None:
    config = make_config(recipe={**REFERENCE, "steps": 6})

    failure = launch_processes.run_attempt(parse_config(config), Output(path=copy.output), attempt=1)

    folder = copy.output / "checkpoints/test/step-000004"
    message = f"{folder}: a first attempt must start at step 1, but its run has a checkpoint already"
    assert failure == Failure(rank=0, kind="refused", message=message)


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
