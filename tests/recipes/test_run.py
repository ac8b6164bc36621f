"""Whole runs with plain processes: real FSDP2 worlds, compared bit by bit."""

from pathlib import Path

import pytest

from tests.recipes.conftest import (
    ENVIRONMENT,
    REFERENCE,
    Run,
    Start,
    make_config,
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
