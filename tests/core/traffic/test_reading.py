import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdlc.core.traffic.layout import Shape
from rdlc.core.traffic.reading import Counter, Reading, Recorded, read_network_report
from rdlc.errors import InputError
from tests.core.traffic.layouts import TINY
from tests.core.traffic.reports import NO_EFA, counter, document, reading, report

NAME = "runs/r1/workers/0/network.json"


def test_a_report_is_read_into_types() -> None:
    read = report(
        0,
        [reading(2, {1: 500})],
        flight_recorder={"step": 3, "collectives": [{"kind": "all-gather", "bytes": 64, "count": 2}]},
    )

    assert (read.rank, read.attempt, read.node_rank, read.world_size) == (0, 1, 0, 2)
    assert (read.host, read.backend) == ("host-0", "gloo")
    assert read.workload.layout == TINY
    assert read.workload.layout.shape == Shape(blocks=2, attention_width=64)
    assert read.readings == (
        Reading(
            step=2,
            sockets={1: Counter(sent=500, received=500)},
            gone=0,
            interfaces={"lo": Counter(sent=999, received=999), "eth0": Counter(sent=0, received=0)},
            efa=None,
            why={"efa": NO_EFA},
            read_s=0.001,
            took_s=0.01,
        ),
    )
    assert read.recorded == (Recorded(kind="all-gather", size_bytes=64, count=2),)


def test_bytes_that_moved_outside_of_the_steps_are_taken_off() -> None:
    moved = {"1": counter(500, outside_sent=20, outside_received=30)}

    assert report(0, [{**reading(2, {}), "sockets": moved}]).readings[0].sockets == {1: Counter(sent=480, received=470)}


def test_a_source_without_values_and_without_a_reason_says_so() -> None:
    read = report(0, [reading(1, None, why={}, interfaces=None)]).readings[0]

    assert read.sockets is None
    assert read.why == dict.fromkeys(("sockets", "interfaces", "efa"), "no reason was given")


def test_an_older_layout_without_padding_and_shape_can_be_read() -> None:
    whole = document(0, [])
    layout = json.loads(json.dumps(whole["workload"]["layout"]))
    del layout["shape"]
    for unit in layout["units"]:
        del unit["padded_parameters"]
    whole["workload"] = {**whole["workload"], "layout": layout}

    read = read_network_report(json.dumps(whole).encode(), name=NAME).workload.layout

    assert read.shape is None
    assert read.units == TINY.units


def change(path: str, value: object) -> Callable[[dict[str, Any]], None]:
    def apply(whole: dict[str, Any]) -> None:
        *parents, last = path.split("/")
        at: Any = whole
        for key in parents:
            at = at[int(key)] if isinstance(at, list) else at[key]
        at[int(last) if isinstance(at, list) else last] = value

    return apply


@pytest.mark.parametrize(
    ("path", "value", "field", "message"),
    [
        ("format", 2, "format", "must be from 1 to 1, not 2"),
        ("rank", 2, "rank", "must be from 0 to 1, not 2"),
        ("backend", "mpi", "backend", "must be one of `gloo`, `nccl`, not `mpi`"),
        ("readings/1/step", 1, "readings[1].step", "must rise, not go from 1 to 1"),
        ("readings/0/sockets", {"2": counter(1)}, "readings[0].sockets", "`2` is no rank of a world of 2"),
        ("readings/0/sockets", {"-1": counter(1)}, "readings[0].sockets", "`-1` is no rank of a world of 2"),
        (
            "readings/0/sockets/1/sent",
            1 << 64,
            "readings[0].sockets.1.sent",
            "must be from 0 to 18446744073709551615, not 18446744073709551616",
        ),
        ("readings/0/took_s", "1", "readings[0].took_s", 'must be a whole number, not the text "1"'),
        ("workload/layout/sharding", "ddp", "workload.layout.sharding", "must be one of `fsdp`, `hsdp`, not `ddp`"),
        (
            "workload/layout/parameters",
            109_121,
            "workload.layout.units",
            "hold 109120 parameters together, but the model has 109121",
        ),
        ("workload/layout/units", [], "workload.layout.units", "must have from 1 to 10000 entries, not 0"),
        (
            "workload/layout/dtypes/reduce",
            "float8",
            "workload.layout.dtypes.reduce",
            "must be one of `float32`, `bfloat16`, `float16`, not `float8`",
        ),
    ],
)
def test_a_wrong_value_is_refused_with_its_field(path: str, value: object, field: str, message: str) -> None:
    whole = json.loads(json.dumps(document(0, [reading(1, {1: 500}), reading(2, {1: 600})])))
    change(path, value)(whole)

    with pytest.raises(InputError) as caught:
        read_network_report(json.dumps(whole).encode(), name=NAME)

    assert (caught.value.message, caught.value.file, caught.value.field) == (message, NAME, field)


@settings(deadline=None)
@given(st.binary(max_size=200), st.integers(0, 3000))
def test_a_damaged_report_raises_no_other_error(noise: bytes, position: int) -> None:
    data = json.dumps(document(0, [reading(1, {1: 500}), reading(2, {1: 600})])).encode()
    place = NAME
    try:
        read_network_report(data[:position] + noise + data[position + len(noise) :], name=NAME)
    except InputError as error:
        place = error.file or ""

    assert place.startswith(NAME)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
_PATHS = (
    "rank",
    "readings",
    "readings/0",
    "readings/0/sockets",
    "readings/0/sockets/1",
    "readings/0/why",
    "readings/0/took_s",
    "workload",
    "workload/layout/units",
    "workload/layout/units/0",
    "workload/layout/shape",
    "flight_recorder",
)


@settings(deadline=None)
@given(st.sampled_from(_PATHS), _JSON)
def test_any_value_anywhere_raises_no_other_error(path: str, value: object) -> None:
    whole = json.loads(json.dumps(document(0, [reading(1, {1: 500}), reading(2, {1: 600})])))
    change(path, value)(whole)
    place = NAME
    try:
        read_network_report(json.dumps(whole).encode(), name=NAME)
    except InputError as error:
        place = error.file or ""

    assert place.startswith(NAME)
