"""The records of a project: folders below `runs/`, each held by the run that writes it."""

import fcntl
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from rdlc.adapters.workspace.files import write_atomically
from rdlc.errors import InputError, RdlcError

RECORD_FILE = "record.json"
_HOLD = ".running"
# Shards have their sha256 in `result.json`, and are many gigabytes in real runs.
_NOT_LISTED = ("checkpoints", _HOLD, RECORD_FILE)


class RecordFolder:
    """A new record's folder, held with a file lock until it is closed or this process dies."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._hold = os.open(path / _HOLD, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        fcntl.flock(self._hold, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def close(self) -> None:
        """Lets go: from now on the record counts as ended."""
        (self.path / _HOLD).unlink(missing_ok=True)
        os.close(self._hold)


def create_record(runs: Path, name: str, record_id: str) -> RecordFolder:
    """A fresh folder `runs/<name>/<record id>`; a number is added where one of that id exists."""
    parent = runs / name
    try:
        parent.mkdir(parents=True, exist_ok=True)
        # Records are results of this machine: git does not see them.
        write_atomically(runs / ".gitignore", b"*\n")
        for attempt in range(1, 1000):
            path = parent / (record_id if attempt == 1 else f"{record_id}-{attempt}")
            try:
                path.mkdir()
            except FileExistsError:
                continue
            return RecordFolder(path)
    except OSError as error:
        raise RdlcError(f"the record cannot be made: {error.strerror}", file=str(parent)) from error
    raise RdlcError("too many records of this second", file=str(parent))


def is_held(path: Path) -> bool:
    """Whether the run that writes this record is alive."""
    try:
        handle = os.open(path / _HOLD, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(handle)
    return False


def list_records(runs: Path) -> tuple[Path, ...]:
    """The record folders, newest first."""
    found = [path.parent for path in runs.glob(f"*/*/{RECORD_FILE}")]
    return tuple(sorted(found, key=lambda path: (path.name, path.parent.name), reverse=True))


def dead_records(runs: Path) -> tuple[Path, ...]:
    """Records whose run was killed: they were held once, and nobody holds them now."""
    return tuple(path.parent for path in sorted(runs.glob(f"*/*/{_HOLD}")) if not is_held(path.parent))


def release_record(path: Path) -> None:
    """Takes away the hold that a killed run left on its record."""
    (path / _HOLD).unlink(missing_ok=True)


def find_archive(runs: Path, lock_id: str, name: str) -> Path | None:
    """The `shipped.tar` of the newest record of that lock that has one."""
    short_id = lock_id.removeprefix("sha256:")[:12]
    found = sorted((runs / name).glob(f"*-{short_id}*/shipped.tar"), reverse=True)
    return found[0] if found else None


def find_record(given: Path, runs: Path | None) -> Path:
    """The folder of a record given as its path, as its `record.json`, or as the name of its folder."""
    try:
        is_record = (given / RECORD_FILE).is_file()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=str(given)) from error
    if is_record:
        return given
    if given.name == RECORD_FILE and given.is_file():
        return given.parent
    matches = sorted(runs.glob(f"*/{given.name}/{RECORD_FILE}")) if runs and given.name == str(given) else []
    if len(matches) == 1:
        return matches[0].parent
    if len(matches) > 1:
        raise InputError(f"`{given}` names {len(matches)} records", hint=f"give the path: `{matches[0].parent}`")
    raise InputError("there is no such record", file=str(given), hint="`rdlc runs` lists them")


def hash_files(path: Path) -> dict[str, str]:
    """Relative path to sha256 in hex of every file of a record but `record.json` and checkpoints."""
    return {name: _hash(path / name) for name in sorted(_files(path, ""))}


def _files(folder: Path, prefix: str) -> Iterator[str]:
    with os.scandir(folder / prefix) as entries:
        for entry in entries:
            name = f"{prefix}{entry.name}"
            if not prefix and entry.name in _NOT_LISTED:
                continue
            if entry.is_dir(follow_symlinks=False):
                yield from _files(folder, f"{name}/")
            elif entry.is_file(follow_symlinks=False):
                yield name


def _hash(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"the file cannot be read: {error.strerror}", file=str(path)) from error
