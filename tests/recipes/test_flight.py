from typing import Any

import pytest

from fsdp_qwen import flight


def entry(number: int, name: str, inputs: list[list[int]], outputs: list[list[int]], dtype: str) -> dict[str, Any]:
    """An entry as torch 2.11 and 2.13 record it, without what is not looked at."""
    return {
        "record_id": number,
        "process_group": ("0", "default_pg"),
        "profiling_name": name,
        "input_sizes": inputs,
        "input_dtypes": [dtype] * len(inputs),
        "output_sizes": outputs,
        "output_dtypes": [dtype] * len(outputs),
        "state": "completed",
        "is_p2p": False,
    }


# The forms that NCCL's process group records; those of gloo are in the tests of real runs.
NCCL = [
    entry(0, "nccl:_all_gather_base", [[512]], [[1024]], "BFloat16"),
    entry(1, "nccl:_all_gather_base", [[512]], [[1024]], "BFloat16"),
    entry(2, "nccl:_reduce_scatter_base", [[1024]], [[512]], "Float"),
    entry(3, "nccl:all_reduce", [[26, 2]], [[26, 2]], "Long"),
    entry(4, "nccl:barrier", [], [], "Float"),
]


def test_collectives_are_counted_by_kind_and_by_the_bytes_of_the_whole() -> None:
    assert flight.summarize(NCCL) == [
        {"kind": "all-gather", "bytes": 2048, "count": 2},
        {"kind": "all-reduce", "bytes": 416, "count": 1},
        {"kind": "nccl:barrier", "bytes": 0, "count": 1},
        {"kind": "reduce-scatter", "bytes": 4096, "count": 1},
    ]


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What the flight recorder holds; the test may add to it."""
    entries: list[dict[str, Any]] = []
    monkeypatch.setattr(flight, "read_entries", lambda backend: list(entries))
    return entries


def test_a_step_is_what_was_recorded_between_its_reading_and_its_end(recorded: list[dict[str, Any]]) -> None:
    watch = flight.Watch()
    recorded += NCCL[:1]
    watch.begin("nccl")
    recorded += NCCL[1:2]
    watch.end(3, "nccl")
    recorded += NCCL[2:]
    watch.end(4, "nccl")

    assert watch.to_json() == {
        "flight_recorder": {"step": 3, "collectives": [{"kind": "all-gather", "bytes": 2048, "count": 1}]},
        "flight_recorder_why": "",
    }


def test_a_recorder_that_is_off_says_so(recorded: list[dict[str, Any]]) -> None:
    watch = flight.Watch()
    watch.begin("nccl")
    watch.end(1, "nccl")

    assert watch.to_json() == {"flight_recorder": None, "flight_recorder_why": "it is off, or recorded nothing"}


def test_a_buffer_that_lost_a_part_of_the_step_gives_nothing(recorded: list[dict[str, Any]]) -> None:
    watch = flight.Watch()
    recorded += NCCL[:1]
    watch.begin("nccl")
    recorded[:] = NCCL[2:]
    watch.end(1, "nccl")

    assert watch.to_json()["flight_recorder_why"] == "its buffer is too small for the collectives of a step"


def test_entries_of_another_form_end_no_run(recorded: list[dict[str, Any]]) -> None:
    watch = flight.Watch()
    recorded += NCCL[:1]
    watch.begin("nccl")
    recorded.append({"record_id": 1})
    watch.end(1, "nccl")

    assert watch.to_json() == {
        "flight_recorder": None,
        "flight_recorder_why": "the entries cannot be read: KeyError('profiling_name')",
    }


def test_a_torch_without_the_private_function_ends_no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    # This build has no NCCL, and so not its function either.
    watch = flight.Watch()
    watch.begin("nccl")

    assert str(watch.to_json()["flight_recorder_why"]).startswith("it cannot be read: AttributeError(")
