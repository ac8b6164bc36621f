"""Reading `probe.jsonl`, which workers wrote and anybody may have changed."""

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdlc.core.probe.reading import LIMIT_BYTES, Point, Probe, read_probe
from rdlc.core.record import Rank
from rdlc.errors import InputError
from tests.core.probe.samples import arm_line, one_arm, probe_bytes, size_line, two_arms


def read(*lines: dict[str, Any]) -> Probe:
    return read_probe(probe_bytes(lines), name="probe.jsonl")


def test_an_arm_has_its_ranks_its_variables_and_its_sizes() -> None:
    probe = read_probe(one_arm(), name="probe.jsonl")

    arm = probe.locked
    assert (probe.tcp, probe.arms) == (None, (arm,))
    assert (arm.name, arm.backend, arm.torch, arm.nccl, arm.nodes) == ("locked", "gloo", "2.13.0", "", 1)
    assert arm.ranks[1] == Rank(rank=1, local_rank=1, node_rank=0, host="here")
    assert (arm.processes, arm.devices, dict(arm.seen)) == ((100, 101), ("cpu", "cpu"), {"NCCL_ALGO": "Ring"})
    assert arm.points[0] == Point(kind="all-reduce", size_bytes=1024, seconds=(0.001, 0.003, 0.002))
    assert arm.points[0].median_s == 0.002
    assert arm.points[1].median_s is None
    assert arm.point("all-gather", 4096) == arm.points[3]
    assert arm.point("all-gather", 5) is None


def test_two_arms_are_the_locked_one_and_tcp() -> None:
    probe = read_probe(two_arms(), name="probe.jsonl")

    assert probe.tcp is not None
    assert [arm.name for arm in probe.arms] == ["locked", "tcp"]
    assert [len(arm.points) for arm in probe.arms] == [6, 6]
    assert dict(probe.tcp.variables) == {"NCCL_NET": "Socket", "NCCL_P2P_DISABLE": "1", "NCCL_SHM_DISABLE": "1"}


def test_a_line_that_a_kill_cut_is_left_out() -> None:
    cut = one_arm()[:-20]

    assert len(read_probe(cut, name="probe.jsonl").locked.points) == 5


SIZE = size_line("all-reduce", 8, 0.5)


@pytest.mark.parametrize(
    ("lines", "field", "message"),
    [
        ([], None, "the probe measured nothing"),
        ([SIZE], "line", "an arm is due before its sizes"),
        ([{"line": "end"}], "line", "must be one of `arm`, `size`, not `end`"),
        ([arm_line("tcp")], "arm", "must be `locked` here, not `tcp`"),
        ([arm_line(), arm_line()], "arm", "must be `tcp` here, not `locked`"),
        ([arm_line(), arm_line("tcp"), arm_line("tcp")], "line", "there are 2 arms at most"),
        ([arm_line(format=2)], "format", "this rdlc reads format 1"),
        ([arm_line(ranks=1)], "ranks", "must have from 2 to 65536 entries, not 1"),
        ([arm_line(backend="mpi")], "backend", "must be one of `gloo`, `nccl`, not `mpi`"),
        (
            [arm_line(), arm_line("tcp", ranks=3)],
            "ranks",
            "must be as many, with the same backend, as in the arm before",
        ),
        ([arm_line(), {**SIZE, "arm": "tcp"}], "arm", "stands below the arm `locked`, not `tcp`"),
        (
            [arm_line(), {**SIZE, "kind": "broadcast"}],
            "kind",
            "must be one of `all-reduce`, `all-gather`, `reduce-scatter`, not `broadcast`",
        ),
        ([arm_line(), {**SIZE, "size_bytes": 0}], "size_bytes", "must be from 1 to 1099511627776, not 0"),
        ([arm_line(), SIZE, SIZE], "size_bytes", "must rise within a kind, not go from 8 to 8"),
        ([arm_line(), {**SIZE, "seconds": []}], "seconds", "must not be empty without a reason in `why`"),
        ([arm_line(), {**SIZE, "seconds": [1, 0]}], "seconds[1]", "must be a number of seconds above 0"),
        ([arm_line(), {**SIZE, "seconds": [-0.5]}], "seconds[0]", "must be a number of seconds above 0"),
        ([arm_line(), {**SIZE, "seconds": ["0.5"]}], "seconds[0]", "must be a number of seconds above 0"),
        ([arm_line(), {**SIZE, "seconds": [True]}], "seconds[0]", "must be a number of seconds above 0"),
        ([arm_line(), {**SIZE, "seconds": [10**400]}], "seconds[0]", "must be a number of seconds above 0"),
        ([arm_line(), {**SIZE, "seconds": [0.5] * 10_001}], "seconds", "must have 10000 entries at most, not 10001"),
    ],
)
def test_what_no_probe_writes_is_refused_with_its_place(
    lines: list[dict[str, Any]], field: str | None, message: str
) -> None:
    with pytest.raises(InputError) as caught:
        read(*lines)

    place = "probe.jsonl" if field is None else f"probe.jsonl:{len(lines)}"
    assert (caught.value.message, caught.value.file, caught.value.field) == (message, place, field)


def test_more_sizes_than_a_probe_has_are_refused() -> None:
    sizes = [size_line("all-reduce", number, 0.5) for number in range(1, 1002)]

    with pytest.raises(InputError) as caught:
        read(arm_line(), *sizes)
    assert caught.value.message == "an arm has 1000 sizes at most"


def test_ranks_out_of_order_are_refused() -> None:
    line = arm_line()
    line["ranks"].reverse()

    with pytest.raises(InputError) as caught:
        read(line)
    assert (caught.value.message, caught.value.field) == ("rank 0 is due here, not 1", "ranks[0].rank")


def test_a_file_that_is_too_large_is_refused() -> None:
    with pytest.raises(InputError) as caught:
        read_probe(b" " * (LIMIT_BYTES + 1), name="probe.jsonl")
    assert caught.value.message == "the file is larger than 16 MiB"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(data=st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    with contextlib.suppress(InputError):
        read_probe(data, name="probe.jsonl")


@given(
    line=st.sampled_from([arm_line(), size_line("all-reduce", 8, 0.5)]),
    changes=st.dictionaries(st.sampled_from(sorted({*arm_line(), *SIZE})), JSON, max_size=3),
    cut=st.integers(0, 400),
)
def test_any_change_of_a_line_is_read_or_refused(line: dict[str, Any], changes: dict[str, Any], cut: int) -> None:
    data = probe_bytes([arm_line()]) + json.dumps({**line, **changes}).encode()[: cut or None] + b"\n"
    with contextlib.suppress(InputError):
        read_probe(data, name="probe.jsonl")
