"""Find out what differs between locks, records and baselines."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Protocol

from rdlc.core.baseline import SCHEMA, read_baseline
from rdlc.core.contents.inventory import Inventory
from rdlc.core.diff import Difference, Side, diff_sides
from rdlc.core.document import LOCK_LIMIT_BYTES
from rdlc.core.image.locked_moves import HeldImage, LockedMoves, compare_locked, is_decided_by_digests
from rdlc.core.image.section import ImageSection
from rdlc.core.lockfile import ReadLock, RunLock, read_lock
from rdlc.core.metrics.summary import NOT_MEASURED
from rdlc.core.outcome import Outcome
from rdlc.core.outcome_files import (
    FINGERPRINTS_FILE,
    FINGERPRINTS_LIMIT_BYTES,
    METRICS_FILE,
    METRICS_LIMIT_BYTES,
    RESULT_FILE,
    RESULT_LIMIT_BYTES,
    read_outcome,
)
from rdlc.core.record import LIMIT_BYTES, RunRecord, read_record
from rdlc.errors import InputError

RECORD_FILE = "record.json"
LOCK_FILE = "lock.yaml"

_FAMILY = SCHEMA.rpartition("/")[0].encode()


class Files(Protocol):
    """What comparing needs of the machine."""

    def is_file(self, path: Path) -> bool:
        """Whether a file stands there; never raises."""
        ...

    def is_folder(self, path: Path) -> bool:
        """Whether a folder stands there; never raises."""
        ...

    def read(self, path: Path, *, limit_bytes: int, what: str) -> bytes:
        """The bytes of a file; InputError if that cannot be."""
        ...

    def find_record(self, given: Path) -> Path:
        """The folder of a record given as its path or name; InputError if there is none."""
        ...


class Layers(Protocol):
    """What was read of the layers of images before, on this machine."""

    def read_cached(self, image: ImageSection) -> Inventory | None:
        """What is in a locked image; None if not all that it takes was read before."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Pair:
    """Two sides and what differs from the first to the second.

    `image` is what moved in the image; None unless both have one, and not the same section.
    """

    first: Side
    second: Side
    difference: Difference
    image: LockedMoves | None = None


def diff_paths(given: Sequence[Path], *, files: Files, layers: Layers) -> tuple[Pair, ...]:
    """Compares the first of at least two locks, records or baselines with each other one."""
    if len(given) < 2:
        message = f"two or more locks, records or baselines are due, and {len(given)} is given"
        raise InputError(message, hint="`rdlc diff A B`")
    first, *others = (read_side(path, files=files) for path in given)
    return tuple(
        Pair(
            first=first,
            second=other,
            difference=diff_sides(first, other),
            image=_compare_images(first, other, layers),
        )
        for other in others
    )


def _compare_images(first: Side, second: Side, layers: Layers) -> LockedMoves | None:
    old, new = first.image, second.image
    if old is None or new is None or old.section == new.section:
        return None
    if is_decided_by_digests(old, new):
        return compare_locked(old, new)
    before, after = layers.read_cached(old.section), layers.read_cached(new.section)
    return compare_locked(old, new, before=before, after=after)


def _held_image(lock: RunLock) -> HeldImage | None:
    section = lock.sections.image
    return None if section is None else HeldImage(section=section, origin=lock.provenance.image)


def read_side(given: Path, *, files: Files) -> Side:
    """What a lock, a record (folder, `record.json` or name) or a baseline says."""
    is_name = len(given.parts) == 1 and not given.suffix and not files.is_file(given)
    if files.is_folder(given) or given.name == RECORD_FILE or is_name:
        return _read_record(files.find_record(given), label=str(given), files=files)
    what = "the lock, record or baseline"
    data = files.read(given, limit_bytes=LOCK_LIMIT_BYTES, what=what)
    if _FAMILY in data[:4096]:
        return _read_baseline(data, label=str(given))
    return _read_lock(data, label=str(given))


def _read_baseline(data: bytes, *, label: str) -> Side:
    baseline = read_baseline(data, name=label)
    return Side(
        label=label,
        kind="baseline",
        lock_id=baseline.lock_id,
        digests=baseline.sections,
        payloads=None,
        outcome=baseline.outcome,
        observed={},
        accepted={},
        remarks=(),
    )


def _read_lock(data: bytes, *, label: str) -> Side:
    read = read_lock(data, name=label)
    return Side(
        label=label,
        kind="lock",
        lock_id=read.lock.id,
        digests=read.lock.digests,
        payloads=read.lock.sections.payloads(),
        outcome=None,
        observed={},
        accepted={},
        remarks=_lock_remarks(read, label),
        image=_held_image(read.lock),
    )


def _read_record(folder: Path, *, label: str, files: Files) -> Side:
    path = folder / RECORD_FILE
    data = files.read(path, limit_bytes=LIMIT_BYTES, what="the record")
    record = read_record(data, name=str(path))
    if not record.lock_id:
        return _collected_side(record, label)
    path = folder / LOCK_FILE
    data = files.read(path, limit_bytes=LOCK_LIMIT_BYTES, what="the record's lock")
    read = read_lock(data, name=str(path))
    outcome, remarks = _read_record_outcome(folder, files)
    return Side(
        label=label,
        kind="record",
        lock_id=read.lock.id,
        digests=read.lock.digests,
        payloads=read.lock.sections.payloads(),
        outcome=outcome,
        observed=_observed(record),
        accepted=record.accepted,
        remarks=(
            *_lock_remarks(read, str(path)),
            *_record_remarks(record, lock_id=read.lock.id),
            *remarks,
        ),
        image=_held_image(read.lock),
    )


def _collected_side(record: RunRecord, label: str) -> Side:
    return Side(
        label=label,
        kind="record",
        lock_id="",
        digests={},
        payloads=None,
        outcome=None,
        observed=_observed(record),
        accepted={},
        remarks=("it was collected, so it has no lock that could be compared", *_unmet_remarks(record)),
    )


def _observed(record: RunRecord) -> Mapping[str, str]:
    """What was observed of the run and of its transport: equal locks can go over different ones."""
    if record.transport is None:
        return record.observed
    judged = record.transport.judged
    seen = judged.seen.transport if judged.seen.is_applicable else "not applicable"
    said = {f"transport: {name}": value for name, value in record.transport.observed.items()}
    return {**record.observed, "transport": f"{seen} ({judged.finding})", **said}


def _read_record_outcome(folder: Path, files: Files) -> tuple[Outcome | None, tuple[str, ...]]:
    """The outcome if there is one to build on, and why not otherwise."""
    limits = {
        METRICS_FILE: METRICS_LIMIT_BYTES,
        FINGERPRINTS_FILE: FINGERPRINTS_LIMIT_BYTES,
        RESULT_FILE: RESULT_LIMIT_BYTES,
    }
    data = {
        name: files.read(folder / name, limit_bytes=limit, what="the record's file")
        for name, limit in limits.items()
        if files.is_file(folder / name)
    }
    read = read_outcome(
        data.get(METRICS_FILE, b""),
        data.get(FINGERPRINTS_FILE, b""),
        data.get(RESULT_FILE),
        name=str(folder),
    )
    if read.problems:
        return None, tuple(f"its outcome cannot be used: {item.message}" for item in read.problems)
    is_there = read.outcome.steps or read.outcome.tensors
    return (read.outcome if is_there else None), ()


def _lock_remarks(read: ReadLock, label: str) -> tuple[str, ...]:
    if not read.findings:
        return ()
    sections = ", ".join(dict.fromkeys(f"`{finding.section}`" for finding in read.findings))
    return (f"the lock is not intact, see {sections} in `rdlc verify {label}`",)


def _unmet_remarks(record: RunRecord) -> list[str]:
    words = "locked" if record.lock_id else "due"
    return [
        f"not as {words}: {check.name}: {words} {check.locked}, found {check.found}"
        for check in record.checks
        if check.is_met is False
    ]


def _record_remarks(record: RunRecord, *, lock_id: str) -> tuple[str, ...]:
    remarks = []
    if record.lock_id != lock_id:
        remarks.append(f"the record is of the lock {record.lock_id}, and holds the lock {lock_id}")
    if record.status != "finished":
        reason = f": {record.reason}" if record.reason else ""
        remarks.append(f"the run is `{record.status}`, not `finished`{reason}")
    remarks += _unmet_remarks(record)
    if record.metrics is not None and record.metrics.slowest not in ("none", NOT_MEASURED):
        remarks.append(f"the other ranks waited for {record.metrics.slowest}")
    for section, drifts in groupby(record.drift, key=lambda drift: drift.section):
        first, *others = drifts
        more = f" and {len(others)} more" if others else ""
        remarks.append(
            f"drift in `{section}`: `{first.address}`{more}, "
            f"locked {first.locked or 'nothing'}, found {first.found or 'nothing'}"
        )
    return tuple(remarks)
