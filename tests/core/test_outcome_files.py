"""What is no file of a training is refused, with its line and field."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdlc.errors import InputError
from tests.core.outcome_lines import fingerprints_line, lines_of, read_files
from tests.diff_samples import a_fingerprint, json_lines, make_outcome, make_step, metrics_line, outcome_files


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("step", 0, "must be at least 1, not 0"),
        ("step", "1", 'must be a whole number, not the text "1"'),
        ("attempt", True, "must be a whole number, not `true`"),
        ("loss", 1.5, 'must be a float in hex, as "0x1.8p+1", not "1.5"'),
        ("loss", "infinity", 'must be a float in hex, as "0x1.8p+1", not "infinity"'),
        ("loss", "0x1p+99999", '"0x1p+99999" is larger than a float can be'),
        ("gradient_norm", None, "has no value"),
        ("gradient_norm", 3, "must be a text, not the number 3"),
        ("learning_rate", "-1", 'must be a number as text, not "-1"'),
        ("tokens", -1, "must be at least 0, not -1"),
        ("batch_digest", "md5:0", 'must be `sha256:` and 64 hex digits, not the text "md5:0"'),
        ("parameters", "0x1", 'must be `0x` and 16 hex digits, not "0x1"'),
        ("step_s", "0.1", 'must be a whole number, not the text "0.1"'),
        ("step_s", -0.5, "must be seconds, at least 0, not -0.5"),
        ("step_s", 1e400, "must be seconds, at least 0, not 1e400"),
    ],
)
def test_a_wrong_value_is_refused_with_its_line_and_field(key: str, value: object, message: str) -> None:
    text = json.dumps({**metrics_line(make_step(2)), key: value}).replace("Infinity", "1e400")
    data = json_lines(lines_of(1, 1)) + text.encode() + b"\n"

    with pytest.raises(InputError) as caught:
        read_files({"metrics.jsonl": data})

    assert (caught.value.message, caught.value.file, caught.value.field) == (
        message,
        "runs/r1/metrics.jsonl:2",
        key,
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"", "not JSON: Expecting value: line 1 column 1 (char 0)"),
        (b"[1]", "must be a mapping of `key: value` lines, not a list"),
        (b'{"step": NaN}', "not JSON: `NaN` is no JSON number"),
        (b'{"step": 1, "step": 1}', "not JSON: `step` stands here twice"),
        (b"[" * 100_000, "not JSON: nests too deep"),
        (
            b"\xff",
            "not JSON: 'utf-8' codec can't decode byte 0xff in position 0: invalid start byte",
        ),
    ],
)
def test_a_line_that_is_no_json_mapping_is_refused(line: bytes, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_files({"fingerprints.jsonl": line + b"\n"})

    assert (caught.value.message, caught.value.file) == (message, "runs/r1/fingerprints.jsonl:1")


@pytest.mark.parametrize(
    ("lines", "field", "message"),
    [
        (lines_of(1, 1, 1), "step", "must rise within attempt 1, not go from 1 to 1"),
        ([*lines_of(2, 1), *lines_of(1, 2)], "attempt", "must not fall from 2 to 1"),
    ],
)
def test_lines_out_of_order_are_refused(lines: list[dict[str, object]], field: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_files({"metrics.jsonl": json_lines(lines)})

    assert (caught.value.message, caught.value.file, caught.value.field) == (
        message,
        "runs/r1/metrics.jsonl:2",
        field,
    )


@pytest.mark.parametrize(
    ("tensors", "field", "message"),
    [
        ({}, "tensors", "must name at least one parameter"),
        ({"other": a_fingerprint(1)}, "tensors", "names other parameters than at step 0"),
        (
            {"a b": a_fingerprint(1)},
            "tensors",
            'a name must be 1 to 256 ASCII characters without blanks, not "a b"',
        ),
        (
            {"a.b": "12"},
            'tensors["a.b"]',
            'must be `0x` and 16 hex digits, not "12"',
        ),
    ],
)
def test_wrong_fingerprints_are_refused(tensors: dict[str, str], field: str, message: str) -> None:
    lines = [
        fingerprints_line(0, 1, 0, first=0),
        {**fingerprints_line(1, 1, 1, first=1), "tensors": tensors},
    ]

    with pytest.raises(InputError) as caught:
        read_files({"fingerprints.jsonl": json_lines(lines)})

    assert (caught.value.message, caught.value.file, caught.value.field) == (
        message,
        "runs/r1/fingerprints.jsonl:2",
        field,
    )


def test_a_wrong_result_is_refused_with_its_field() -> None:
    with pytest.raises(InputError) as caught:
        read_files({"result.json": b'{\n "status": "finised"}'})

    assert (caught.value.message, caught.value.hint, caught.value.file, caught.value.field) == (
        "must be one of `finished`, `failed`, not `finised`",
        "did you mean `finished`?",
        "runs/r1/result.json",
        "status",
    )


@settings(deadline=None)
@given(st.binary(max_size=200), st.integers(0, 2), st.integers(0, 600))
def test_damaged_files_raise_no_other_error(noise: bytes, which: int, position: int) -> None:
    files = outcome_files(make_outcome(2))
    name = list(files)[which]
    files[name] = files[name][:position] + noise + files[name][position + len(noise) :]

    place = f"runs/r1/{name}"
    try:
        read_files(files)
    except InputError as error:
        place = error.file or ""

    assert place.startswith(f"runs/r1/{name}")
