"""The records of a project, as one line each."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from rdlc.core.level import reaches
from rdlc.core.record import LIMIT_BYTES, RunRecord, read_record
from rdlc.errors import RdlcError
from rdlc.operations.record_files import load_outcome
from rdlc.operations.workspace import Workspace


class Shelf(Workspace, Protocol):
    """What listing needs of the machine."""

    def list_records(self, runs: Path) -> Sequence[Path]:
        """The record folders, newest first."""
        ...

    def is_held(self, path: Path) -> bool:
        """Whether the run that writes this record is alive."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One record, or why it cannot be read; `verdict` is its one word."""

    path: Path
    record: RunRecord | None
    verdict: str
    trouble: str


def list_runs(runs: Path, *, shelf: Shelf) -> tuple[Entry, ...]:
    """Every record below a folder, newest first; a damaged one is listed with its trouble."""
    return tuple(_read_entry(path, shelf) for path in shelf.list_records(runs))


def verdict_of(record: RunRecord) -> str:
    """The one word for how a record ended."""
    is_over = record.status in ("finished", "collected")
    if is_over and record.transport is not None and record.transport.judged.is_alarming:
        return "wrong-transport"
    if record.status == "collected" and any(check.is_met is False for check in record.checks):
        return "inconsistent"
    if record.status != "finished":
        return record.status
    if record.kind != "replay":
        return "finished"
    return "reproduced" if reaches(record.level, record.claim) else "not-reproduced"


def _read_entry(path: Path, shelf: Shelf) -> Entry:
    file = path / "record.json"
    try:
        data = shelf.read(file, limit_bytes=LIMIT_BYTES, what="the record")
        record = read_record(data, name=str(file))
        if record.status == "running":
            record = _look_into(record, path, shelf)
    except RdlcError as error:
        return Entry(path=path, record=None, verdict="damaged", trouble=error.message)
    return Entry(path=path, record=record, verdict=verdict_of(record), trouble="")


def _look_into(record: RunRecord, path: Path, shelf: Shelf) -> RunRecord:
    """How far a run is that has not closed its record: alive, or killed on the way."""
    done = load_outcome(path, shelf).outcome.last_step
    if shelf.is_held(path):
        return replace(record, steps_done=done)
    return replace(record, steps_done=done, status="interrupted", reason="rdlc was killed")
