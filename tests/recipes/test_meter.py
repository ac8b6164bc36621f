"""What each rank measures of itself."""

import json
from pathlib import Path

import pytest
from tensorboardX.proto.event_pb2 import Event

from tests.recipes.conftest import REFERENCE, Run, Start


def metrics(run: Run, rank: int) -> dict[str, object]:
    document: dict[str, object] = json.loads((run.output / "workers" / str(rank) / "metrics.json").read_text())
    return document


def test_each_rank_writes_its_times_without_the_warm_up_steps(reference: Run) -> None:
    for rank in (0, 1):
        document = metrics(reference, rank)
        timed, step_s = document["timed"], document["step_s"]
        assert isinstance(timed, dict)
        assert isinstance(step_s, dict)
        assert (timed["steps"], step_s["steps"], document["warmup_steps"]) == (3, 3, 1)
        assert 0 < timed["data_s"] < step_s["p50"] <= step_s["p95"]
        assert 0 < timed["collectives_s"] < step_s["p50"]
        assert document["memory"] is None
        assert document["start"]["gpu_why"] == "the rank computes on no GPU"  # type: ignore[index]
        assert document["end"]["alone_flops_per_s"] > 0  # type: ignore[index]


def test_one_rank_alone_waits_for_nobody(run: Start) -> None:
    ended = run(num_workers=1, recipe={**REFERENCE, "steps": 2})

    timed = metrics(ended, 0)["timed"]
    assert ended.exit_code == 0
    assert isinstance(timed, dict)
    assert timed["collectives_s"] is None
    assert not (ended.output / "tensorboard").exists()


def test_event_file_for_tensorboard_holds_the_numbers_of_each_step(run: Start) -> None:
    ended = run(recipe={**REFERENCE, "tensorboard": True})

    (file,) = (ended.output / "tensorboard").iterdir()
    found: dict[str, list[float]] = {}
    for data in records(file):
        event = Event.FromString(data)
        for value in event.summary.value:
            found.setdefault(value.tag, []).append(value.simple_value)
    assert {name: len(values) for name, values in found.items()} == dict.fromkeys(
        ("loss", "gradient_norm", "learning_rate", "step_s", "tokens_per_s", "tokens_per_s_per_rank"), 4
    )
    assert found["loss"] == pytest.approx([float.fromhex(step["loss"]) for step in ended.steps])


def records(path: Path) -> list[bytes]:
    """The records of a TFRecord file: length (8 bytes), its checksum (4), the data, its checksum (4)."""
    data, parts = path.read_bytes(), []
    while data:
        size = int.from_bytes(data[:8], "little")
        parts.append(data[12 : 12 + size])
        data = data[16 + size :]
    return parts
