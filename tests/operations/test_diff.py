"""Paths become sides, and what is wrong with a side becomes a remark."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from rdlc.core.baseline import write_baseline
from rdlc.core.diff import Side
from rdlc.core.image.section import ImageSection
from rdlc.core.lockfile import write_lock
from rdlc.core.record import Check, Drift, write_record
from rdlc.errors import InputError
from rdlc.operations.diff import Pair, diff_paths, read_side
from tests.diff_samples import (
    change_step,
    json_lines,
    make_baseline,
    make_lock,
    make_outcome,
    make_record,
    metrics_line,
    outcome_files,
)

LOCK = make_lock()
LOCK_SIDE = Side(
    label="a.lock.yaml",
    kind="lock",
    lock_id=LOCK.id,
    digests=LOCK.digests,
    payloads=LOCK.sections.payloads(),
    outcome=None,
    observed={},
    accepted={},
    remarks=(),
)
RECORD_SIDE = replace(
    LOCK_SIDE,
    label="runs/tiny/r1",
    kind="record",
    outcome=make_outcome(),
    observed=make_record(LOCK).observed,
)


class FakeFiles:
    """Files by path; records are below `runs/tiny`."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self.files = files

    def is_file(self, path: Path) -> bool:
        return str(path) in self.files

    def is_folder(self, path: Path) -> bool:
        return any(name.startswith(f"{path}/") for name in self.files)

    def read(self, path: Path, *, limit_bytes: int, what: str) -> bytes:
        if str(path) not in self.files:
            raise InputError(f"{what} does not exist", file=str(path))
        assert len(self.files[str(path)]) <= limit_bytes
        return self.files[str(path)]

    def find_record(self, given: Path) -> Path:
        for folder in (given, given.parent, Path("runs/tiny") / given):
            if self.is_file(folder / "record.json"):
                return folder
        raise InputError("there is no such record", file=str(given))


class NoLayers:
    """A machine on which no layer was ever read."""

    def read_cached(self, image: ImageSection) -> None:
        """Nothing."""


def record_files(name: str = "r1") -> dict[str, bytes]:
    files = {
        "record.json": write_record(make_record(LOCK)),
        "lock.yaml": write_lock(LOCK),
        **outcome_files(make_outcome()),
    }
    return {f"runs/tiny/{name}/{file}": data for file, data in files.items()}


def test_a_lock_file_is_a_side_without_outcome() -> None:
    files = FakeFiles({"a.lock.yaml": write_lock(LOCK)})

    assert read_side(Path("a.lock.yaml"), files=files) == LOCK_SIDE


def test_a_baseline_file_is_a_side_without_payloads() -> None:
    data = write_baseline(make_baseline(LOCK, make_outcome()))

    assert read_side(Path("b.yaml"), files=FakeFiles({"b.yaml": data})) == replace(
        LOCK_SIDE, label="b.yaml", kind="baseline", payloads=None, outcome=make_outcome()
    )


@pytest.mark.parametrize("given", ["runs/tiny/r1", "r1", "runs/tiny/r1/record.json"])
def test_a_record_is_found_by_folder_by_name_and_by_its_file(given: str) -> None:
    side = read_side(Path(given), files=FakeFiles(record_files()))

    assert side == replace(RECORD_SIDE, label=given)


def test_a_record_without_outcome_files_has_no_outcome() -> None:
    files = {name: data for name, data in record_files().items() if name.endswith(("record.json", "lock.yaml"))}

    assert read_side(Path("r1"), files=FakeFiles(files)) == replace(RECORD_SIDE, label="r1", outcome=None)


def test_an_outcome_that_does_not_start_at_step_1_is_not_used() -> None:
    files = record_files()
    line = metrics_line(make_outcome().steps[1])
    files["runs/tiny/r1/metrics.jsonl"] = json_lines([line])
    del files["runs/tiny/r1/result.json"]

    assert read_side(Path("r1"), files=FakeFiles(files)) == replace(
        RECORD_SIDE,
        label="r1",
        outcome=None,
        remarks=("its outcome cannot be used: the record does not start at step 1, but at step 2",),
    )


def test_what_is_wrong_with_a_record_is_a_remark() -> None:
    other = make_lock(files={"fsdp_qwen/loop.py": "b" * 64})
    drift = tuple(Drift(section="code", address=name, locked="a", found="") for name in ("x.py", "y.py"))
    record = replace(
        make_record(other),
        status="failed",
        reason="rank 1 was killed",
        accepted={"code": "a fix"},
        drift=drift,
    )
    files = {**record_files(), "runs/tiny/r1/record.json": write_record(record)}

    assert read_side(Path("r1"), files=FakeFiles(files)) == replace(
        RECORD_SIDE,
        label="r1",
        accepted={"code": "a fix"},
        remarks=(
            f"the record is of the lock {other.id}, and holds the lock {LOCK.id}",
            "the run is `failed`, not `finished`: rank 1 was killed",
            "drift in `code`: `x.py` and 1 more, locked a, found nothing",
        ),
    )


def test_a_lock_that_was_edited_is_compared_by_its_contents_with_a_remark() -> None:
    data = write_lock(LOCK).replace(b'learning_rate: "3e-3"', b'learning_rate: "4e-3"')
    edited = make_lock(config={"learning_rate": "4e-3", "steps": 3})

    side = read_side(Path("a.lock.yaml"), files=FakeFiles({"a.lock.yaml": data}))

    assert side == replace(
        LOCK_SIDE,
        lock_id=edited.id,
        digests=edited.digests,
        payloads=edited.sections.payloads(),
        remarks=("the lock is not intact, see `recipe` in `rdlc verify a.lock.yaml`",),
    )


def test_the_first_is_compared_with_each_other_one() -> None:
    files = FakeFiles(
        {
            **record_files("r1"),
            **record_files("r2"),
            "a.lock.yaml": write_lock(LOCK),
            "runs/tiny/r2/metrics.jsonl": outcome_files(change_step(make_outcome(), 1, loss="nan"))["metrics.jsonl"],
        }
    )

    pairs = diff_paths([Path("r1"), Path("r2"), Path("a.lock.yaml")], files=files, layers=NoLayers())

    assert [summary(pair) for pair in pairs] == [
        ("r1", "r2", False),
        ("r1", "a.lock.yaml", True),
    ]


def summary(pair: Pair) -> tuple[str, str, bool]:
    return pair.first.label, pair.second.label, pair.difference.is_empty


def refusal(call: Callable[[], object]) -> tuple[str, str | None, str | None]:
    with pytest.raises(InputError) as caught:
        call()
    return caught.value.message, caught.value.file, caught.value.hint


def test_one_path_is_not_enough() -> None:
    assert refusal(lambda: diff_paths([Path("a")], files=FakeFiles({}), layers=NoLayers())) == (
        "two or more locks, records or baselines are due, and 1 is given",
        None,
        "`rdlc diff A B`",
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("a.lock.yaml", "the lock, record or baseline does not exist"),
        ("some/where", "the lock, record or baseline does not exist"),
        ("name", "there is no such record"),
    ],
)
def test_what_is_not_there_is_refused(given: str, message: str) -> None:
    assert refusal(lambda: read_side(Path(given), files=FakeFiles({}))) == (message, given, None)


def test_a_spec_is_no_lock() -> None:
    files = FakeFiles({"run.yaml": b"schema: rdlc/run-spec/v1\nrecipe: {}\n"})

    assert refusal(lambda: read_side(Path("run.yaml"), files=files)) == (
        "this is not a run lock",
        "run.yaml",
        "`rdlc lock run.yaml` makes a lock from a run spec",
    )


def test_a_run_that_was_not_as_locked_says_so_in_every_diff() -> None:
    check = Check(name="pods", locked="head 1, gpu 2", found="head 1, gpu 3", is_met=False)
    unknown = Check(name="Ray nodes", locked="3 alive", found="not measured", is_met=None)
    record = replace(make_record(LOCK), checks=(check, unknown))
    files = FakeFiles({**record_files(), "runs/tiny/r1/record.json": write_record(record)})

    side = read_side(Path("r1"), files=files)

    assert side.remarks == ("not as locked: pods: locked head 1, gpu 2, found head 1, gpu 3",)
