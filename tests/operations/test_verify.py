"""Verifying a record: what was changed in it is noticed, and named."""

import hashlib
import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from rdlc.cli.wiring import LocalArchive
from rdlc.core.lockfile import Finding
from rdlc.core.record import write_record
from rdlc.core.transport.report import TransportReport
from rdlc.errors import InputError, RdlcError
from rdlc.operations.runs import list_runs
from rdlc.operations.verify import verify_baseline, verify_record
from tests.operations.scripted import ScriptedMachine, lock, record_in, run
from tests.projects import make_project
from tests.transport_samples import judged


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The record of a finished run; a test that changes it puts it back."""
    machine = ScriptedMachine(make_project(tmp_path_factory.mktemp("project")))
    path = run(machine, lock(machine)).path
    (path / "driver.log").write_text("one line\n")
    closed = replace(record_in(path), files=LocalArchive().hash_files(path))
    (path / "record.json").write_bytes(write_record(closed))
    return path


@pytest.fixture
def changed(record: Path) -> Iterator[Path]:
    before = {file: file.read_bytes() for file in record.rglob("*") if file.is_file()}
    yield record
    shutil.rmtree(record / "checkpoints", ignore_errors=True)
    for file in record.rglob("*"):
        if file.is_file() and file not in before:
            file.unlink()
    for file, data in before.items():
        file.write_bytes(data)


def findings(path: Path) -> list[tuple[str, str, str]]:
    found = verify_record(path, archive=LocalArchive()).findings
    return [(finding.section, str(Path(finding.file).name), finding.message) for finding in found]


def test_a_record_as_it_was_closed_is_intact(record: Path) -> None:
    verification = verify_record(record, archive=LocalArchive())

    assert (verification.kind, verification.id, verification.findings) == ("record", record_in(record).lock_id, ())
    assert set(record_in(record).files) == {
        "config.json", "driver.log", "fingerprints.jsonl", "lock.yaml", "metrics.jsonl", "result.json", "shipped.tar",
        "workers/0/worker.json", "workers/1/worker.json",
    }  # fmt: skip


@pytest.mark.parametrize("mask", [0x01, 0x80])
def test_a_flipped_byte_of_record_json_is_noticed(changed: Path, mask: int) -> None:
    file = changed / "record.json"
    data = file.read_bytes()

    unnoticed = []
    for index in range(0, len(data), 5):
        damaged = bytearray(data)
        damaged[index] ^= mask
        file.write_bytes(damaged)
        try:
            verify_record(changed, archive=LocalArchive())
        except InputError:
            continue
        unnoticed.append(index)

    assert unnoticed == []
    assert len(data) > 3000


@pytest.mark.parametrize(
    "name",
    ["config.json", "driver.log", "fingerprints.jsonl", "lock.yaml", "metrics.jsonl", "result.json", "shipped.tar",
     "workers/1/worker.json"],
)  # fmt: skip
def test_a_flipped_byte_of_any_file_of_a_record_is_noticed_and_the_file_named(changed: Path, name: str) -> None:
    file = changed / name
    data = file.read_bytes()
    missed = []
    for index in range(0, len(data), max(1, len(data) // 25)):
        damaged = bytearray(data)
        damaged[index] ^= 0x01
        file.write_bytes(damaged)
        found = verify_record(changed, archive=LocalArchive()).findings
        if not any(f.section == "files" and f.file == str(file) for f in found):
            missed.append(index)

    assert missed == []


def test_a_missing_and_a_new_file_are_named(changed: Path) -> None:
    (changed / "driver.log").unlink()
    (changed / "workers/0/new.txt").write_text("x")

    assert findings(changed) == [
        ("files", "driver.log", "is missing"),
        ("files", "new.txt", "was added after the record was closed"),
    ]


def test_a_link_in_the_place_of_a_file_is_a_missing_file(changed: Path, tmp_path: Path) -> None:
    (changed / "driver.log").rename(tmp_path / "driver.log")
    (changed / "driver.log").symlink_to(tmp_path / "driver.log")

    named = findings(changed)
    (changed / "driver.log").unlink()

    assert named == [("files", "driver.log", "is missing")]


def test_files_that_fit_their_hashes_are_still_held_against_each_other(changed: Path) -> None:
    lines = (changed / "metrics.jsonl").read_bytes().splitlines(keepends=True)
    (changed / "metrics.jsonl").write_bytes(b"".join(lines[:2]))
    closed = record_in(changed)
    (changed / "record.json").write_bytes(
        write_record(replace(closed, checks=closed.checks[:3], files=LocalArchive().hash_files(changed)))
    )

    sections = [section for section, _, _ in findings(changed)]

    assert {"outcome", "checks"} <= set(sections)
    assert "files" not in sections


def test_a_record_of_another_lock_is_named(changed: Path) -> None:
    closed = record_in(changed)
    other = "sha256:" + "0" * 64
    (changed / "record.json").write_bytes(write_record(replace(closed, lock_id=other)))

    assert findings(changed) == [("lock", "lock.yaml", f"is lock {closed.lock_id}, and the record says {other}")]


def test_a_record_that_did_not_finish_says_why(changed: Path) -> None:
    closed = record_in(changed)
    killed = replace(closed, status="running", level="recorded", checks=(), ranks=(), transport=None, files={})
    (changed / "record.json").write_bytes(write_record(killed))

    assert findings(changed) == [
        ("record", changed.name, "the run did not finish: rdlc was killed before it could close the record")
    ]


def rewrite(path: Path, **other: object) -> None:
    """The record with other values, and hashes that fit: as one who wants to mislead would write it."""
    files = LocalArchive().hash_files(path)
    record = replace(record_in(path), **{"files": files, **other})  # type: ignore[arg-type]  # one of each field
    (path / "record.json").write_bytes(write_record(record))


SAME_BITS = "the same bits in 3 steps and the final parameters"


@pytest.mark.parametrize(
    ("other", "messages"),
    [
        ({"level": "outcome-bitwise"},
         ["says level `outcome-bitwise`, and its files prove `execution` at most"]),
        ({"level": "outcome-bitwise", "outcome": SAME_BITS},
         ["says level `outcome-bitwise`, and its files prove `execution` at most"]),
        ({"kind": "replay", "level": "outcome-bitwise"},
         ["says level `outcome-bitwise`, and its files prove `execution` at most"]),
        ({"kind": "replay", "level": "outcome-bitwise", "outcome": SAME_BITS.replace("3", "4")},
         ["says level `outcome-bitwise`, and its files prove `execution` at most"]),
        ({"kind": "replay", "level": "outcome-bitwise", "outcome": SAME_BITS}, []),
        ({"status": "failed", "reason": "odd"},
         ["the run did not finish: odd", "says level `execution`, and its files prove `infrastructure` at most"]),
        ({"status": "interrupted", "reason": "odd", "checks": (), "ranks": (), "transport": None},
         ["the run did not finish: odd", "says level `execution`, and its files prove `recorded` at most"]),
        ({"transport": TransportReport(judged=judged(), predicted_bytes=None, moved_bytes=None, observed={})},
         ["says of its transport `ok, efa`, and its files show `not-applicable, none`"]),
        ({"claim": "execution", "steps_total": None, "name": "other"},
         ["says `name` `other`, and its lock says `toy`",
          "says `claim` `execution`, and its lock says `outcome-bitwise`",
          "says `steps_total` nothing, and its lock says `3`"]),
    ],
)  # fmt: skip
def test_what_a_record_claims_beyond_what_its_files_prove_is_named(
    changed: Path, other: dict[str, object], messages: list[str]
) -> None:
    rewrite(changed, **other)

    assert [(section, message) for section, _, message in findings(changed)] == [("record", m) for m in messages]


def add_checkpoint(path: Path) -> Path:
    """Two shards with their index, listed in `result.json`; gives the folder of the checkpoints."""
    shards = {"__0_0.distcp": b"zero", "__1_0.distcp": b"one", ".metadata": b"pickle"}
    folder = path / "checkpoints" / record_in(path).id
    (folder / "step-000003").mkdir(parents=True)
    for name, data in shards.items():
        (folder / "step-000003" / name).write_bytes(data)
    digests = {name: f"sha256:{hashlib.sha256(data).hexdigest()}" for name, data in shards.items()}
    index = {"format": 1, "step": 3, "files": digests}
    (folder / "step-000003/checkpoint.json").write_text(json.dumps(index))
    listed = {f"step-000003/{name}": digest for name, digest in digests.items() if name.endswith(".distcp")}
    result = json.loads((path / "result.json").read_text())
    (path / "result.json").write_text(json.dumps({**result, "checkpoints": [{"step": 3, "files": listed}]}))
    rewrite(path)
    return folder


@pytest.mark.parametrize("name", ["__0_0.distcp", "__1_0.distcp", ".metadata"])
def test_a_changed_and_a_missing_file_of_a_checkpoint_are_named(changed: Path, name: str) -> None:
    file = add_checkpoint(changed) / "step-000003" / name
    fine = findings(changed)
    data = file.read_bytes()
    file.write_bytes(b"x" + data[1:])
    flipped = findings(changed)
    file.unlink()

    assert fine == []
    assert [(section, where) for section, where, _ in flipped] == [("checkpoints", name)]
    assert findings(changed) == [("checkpoints", name, "is missing")]


def test_an_index_of_another_checkpoint_is_named(changed: Path) -> None:
    index = add_checkpoint(changed) / "step-000003/checkpoint.json"
    index.write_text(index.read_text().replace('"step": 3', '"step": 2'))

    assert findings(changed) == [("checkpoints", "checkpoint.json", "is not the index of what `result.json` lists")]


def test_checkpoints_that_were_cleaned_up_are_named_one_by_one(changed: Path) -> None:
    shutil.rmtree(add_checkpoint(changed))

    assert findings(changed) == [
        ("checkpoints", name, "is missing") for name in ("__0_0.distcp", "__1_0.distcp", "checkpoint.json")
    ]


def test_a_baseline_beside_another_lock_is_named(tmp_path: Path) -> None:
    machine = ScriptedMachine(make_project(tmp_path))
    path = lock(machine)
    run(machine, path)
    old = machine.project / "lock/toy.baseline.yaml"
    fine = verify_baseline(old, archive=LocalArchive())
    lock(machine, settings={"recipe.seed": "5"})

    verification = verify_baseline(old, archive=LocalArchive())

    assert fine.findings == ()
    (finding,) = verification.findings
    assert isinstance(finding, Finding)
    assert (finding.section, finding.message.split(",")[0]) == ("lock", f"belongs to lock {fine.id}")


def test_runs_lists_every_record_also_a_damaged_and_a_killed_one(tmp_path: Path) -> None:
    machine = ScriptedMachine(make_project(tmp_path))
    path = lock(machine)
    paths = [run(machine, path).path, run(machine, path, kind="replay").path, run(machine, path).path]
    (paths[0] / "record.json").write_bytes(b"{}")
    record = record_in(paths[2])
    (paths[2] / "record.json").write_bytes(write_record(replace(record, status="running", files={})))

    entries = list_runs(machine.project / "runs", shelf=LocalArchive())

    assert [(entry.path, entry.verdict, entry.trouble) for entry in entries] == [
        (paths[2], "interrupted", ""),
        (paths[1], "reproduced", ""),
        (paths[0], "damaged", "this is not a run record"),
    ]
    assert entries[0].record == replace(record, status="interrupted", reason="rdlc was killed", files={}, steps_done=3)


def test_a_file_that_is_gone_while_it_is_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(RdlcError) as caught:
        verify_record(tmp_path, archive=LocalArchive())

    assert (caught.value.message, caught.value.file) == ("the record does not exist", f"{tmp_path}/record.json")
