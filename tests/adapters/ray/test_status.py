import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rdlc.adapters.ray.status import JobEnd, read_status, write_status
from rdlc.errors import RdlcError

ENDS = st.builds(
    JobEnd,
    reason=st.sampled_from(["exited", "stopped", "orphaned"]),
    exit_status=st.none() | st.integers(0, 255),
    signal=st.none() | st.integers(1, 64),
    left=st.lists(st.integers(1, 2**22)).map(tuple),
)
once_per_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@given(end=ENDS)
@once_per_folder
def test_status_that_was_written_is_read_again(tmp_path: Path, end: JobEnd) -> None:
    path = tmp_path / "status.json"

    write_status(path, end)

    assert read_status(path) == end
    assert [entry.name for entry in tmp_path.iterdir()] == ["status.json"]


def test_status_file_is_one_line_of_json(tmp_path: Path) -> None:
    path = tmp_path / "status.json"

    write_status(path, JobEnd(reason="stopped", signal=15))

    assert path.read_text() == ('{"format": 1, "reason": "stopped", "exit_status": null, "signal": 15, "left": []}\n')


def test_missing_status_is_none(tmp_path: Path) -> None:
    assert read_status(tmp_path / "status.json") is None


GOOD = {"format": 1, "reason": "exited", "exit_status": 0, "signal": None, "left": []}


@pytest.mark.parametrize(
    "change",
    [
        {"format": 2},
        {"format": True},
        {"reason": "bored"},
        {"reason": ["exited"]},
        {"exit_status": "0"},
        {"exit_status": False},
        {"signal": 1.5},
        {"left": {}},
        {"left": ["1"]},
        {"more": 1},
    ],
)
def test_status_of_another_shape_is_refused(tmp_path: Path, change: dict[str, object]) -> None:
    path = tmp_path / "status.json"
    path.write_text(json.dumps({**GOOD, **change}))

    with pytest.raises(RdlcError) as refused:
        read_status(path)

    assert refused.value.message == "not the status of a job in format 1"
    assert refused.value.file == str(path)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from([*GOOD, "x"]), inner),
    max_leaves=8,
)


@given(content=st.binary() | JSON.map(lambda value: json.dumps(value).encode()))
@once_per_folder
def test_reading_any_content_gives_an_end_or_the_one_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "status.json"
    path.write_bytes(content)

    try:
        end = read_status(path)
    except RdlcError:
        return
    assert isinstance(end, JobEnd)


def test_folder_in_place_of_the_status_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RdlcError) as refused:
        read_status(tmp_path)

    assert refused.value.message.startswith("cannot read the status of a job: ")
