"""A second attempt from a checkpoint: bit by bit, or refused."""

import hashlib
import json

import pytest

from fsdp_qwen import launch_processes
from fsdp_qwen.config import parse_config
from fsdp_qwen.failures import Failure
from fsdp_qwen.outcome import Outcome
from fsdp_qwen.records import Output
from tests.recipes.conftest import (
    REFERENCE,
    Run,
    Start,
    make_config,
    read_lines,
)


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
