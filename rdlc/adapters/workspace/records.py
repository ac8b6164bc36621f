"""The records of a project: folders below `runs/`, each held by the run that writes it.

Nothing here follows a link: `runs` itself must be a folder, and a link below it is no record.
"""

import fcntl
import hashlib
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from rdlc.adapters.workspace.code import list_archive
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
        # Locked before it has its name: nobody ever sees a hold that no run holds, and takes it for a dead one.
        new = path / f"{_HOLD}.new"
        self._hold = os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        fcntl.flock(self._hold, fcntl.LOCK_EX | fcntl.LOCK_NB)
        new.rename(path / _HOLD)

    def close(self, *, is_settled: bool) -> None:
        """Lets go; one that is not settled keeps its mark, so that the next run closes it."""
        if is_settled:
            (self.path / _HOLD).unlink(missing_ok=True)
        os.close(self._hold)


def create_record(runs: Path, name: str, record_id: str) -> RecordFolder:
    """A fresh folder `runs/<name>/<record id>`; a number is added where one of that id exists."""
    parent = runs / name
    for folder in (runs, parent):
        _refuse_link(folder)
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


def discard_record(path: Path) -> None:
    """Removes a record that is not to be."""
    shutil.rmtree(path)


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
    """The record folders, newest first; raises InputError if they cannot be listed."""
    found = [path for path in _folders(runs) if _holds(path, RECORD_FILE)]
    return tuple(sorted(found, key=lambda path: (path.name, path.parent.name), reverse=True))


def dead_records(runs: Path) -> tuple[Path, ...]:
    """Records whose run was killed: they were held once, and nobody holds them now."""
    return tuple(path for path in sorted(_folders(runs)) if os.path.lexists(path / _HOLD) and not is_held(path))


def release_record(path: Path) -> None:
    """Takes away the hold that a killed run left on its record."""
    (path / _HOLD).unlink(missing_ok=True)


def find_archive(runs: Path, name: str, files: Mapping[str, str]) -> Path | None:
    """The newest `shipped.tar` among the records of that run name that holds exactly these files.

    `files` is shipped path to sha256 in hex: what a record says of itself is not believed.
    """
    folders = [path for path in _folders(runs) if path.parent.name == name]
    for folder in sorted(folders, reverse=True):
        archive = folder / "shipped.tar"
        # A link could show other contents later, and a pipe would make us wait.
        if not archive.is_symlink() and archive.is_file() and _lists(archive, files):
            return archive
    return None


def _lists(archive: Path, files: Mapping[str, str]) -> bool:
    try:
        return list_archive(archive) == dict(files)
    except RdlcError:
        return False


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
    listed = list_records(runs) if runs and given.name == str(given) else ()
    matches = sorted(path for path in listed if path.name == given.name)
    if len(matches) == 1:
        return matches[0]
    if len(matches) > 1:
        raise InputError(f"`{given}` names {len(matches)} records", hint=f"give the path: `{matches[0]}`")
    raise InputError("there is no such record", file=str(given), hint="`rdlc runs` lists them")


def hash_files(path: Path) -> dict[str, str]:
    """Relative path to sha256 in hex of every file of a record but `record.json` and checkpoints."""
    return {name: _hash(path / name) for name in sorted(_files(path, ""))}


def _folders(runs: Path) -> Iterator[Path]:
    """Every folder `runs/*/*` that may be a record; none where there is no `runs`."""
    _refuse_link(runs)
    for parent in _subfolders(runs):
        yield from _subfolders(parent)


def _subfolders(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            return [Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False)]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise InputError(f"the records cannot be listed: {error.strerror}", file=str(folder)) from error


def _refuse_link(folder: Path) -> None:
    if folder.is_symlink():
        raise InputError("records are kept in a real folder, and this is a link", file=str(folder))


def _holds(folder: Path, name: str) -> bool:
    """Whether the folder has such a file; also where only reading it will tell, and why it cannot be read."""
    try:
        (folder / name).lstat()
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return True


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
