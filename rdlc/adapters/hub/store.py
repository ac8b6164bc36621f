"""Files from the Hub and S3 on this machine: a folder per locked set, each file verified when it is used."""

import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path

from rdlc.adapters.hub.folder import hash_file
from rdlc.core.canonical import digest
from rdlc.core.data.files import FetchedFolder, LockedFile, LockedFiles
from rdlc.core.data.origin import Origin
from rdlc.core.text import one_line
from rdlc.errors import RdlcError

Progress = Callable[[int, int], None]
Open = Callable[[str, LockedFile], AbstractContextManager[Iterator[bytes]]]

_NOTES = "digests.json"
_NOTES_LIMIT_BYTES = 8 << 20


class DataStore:
    """The sets of files in `cache`. `progress` takes bytes done and in all."""

    def __init__(self, cache: Path, *, progress: Progress | None = None) -> None:
        self._folder = cache / "data" / "v1"
        self._progress = progress or _ignore

    def fetch(self, origin: Origin, locked: LockedFiles, *, what: str, open_file: Open) -> FetchedFolder:
        """The folder with all locked files; what lies there with the right bytes is not asked for again.

        Raises RdlcError for a file that is not what was locked.
        """
        name = digest({"what": what, "origin": origin.payload(), "files": locked.payload()}).removeprefix("sha256:")
        folder = self._folder / name
        notes = _read_notes(folder / _NOTES)
        digests, done = {}, 0
        for path, file in sorted(locked.files.items()):
            target = folder / "files" / path
            wanted = file.sha256 or notes.get(path, "")
            if not _holds(target, file.size, wanted):
                notes[path] = self._receive(target, path, file, open_file, done=done, total=locked.size)
                _write(folder / _NOTES, json.dumps(dict(sorted(notes.items())), indent=1).encode())
            done += file.size
            digests[path] = file.sha256 or notes[path]
            self._progress(done, locked.size)
        return FetchedFolder(path=str(folder.resolve() / "files"), digests=digests)

    def _receive(self, target: Path, path: str, file: LockedFile, open_file: Open, *, done: int, total: int) -> str:
        """Puts a file in its place in one step, after its size and digest were checked; gives its sha256."""
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=".new.")
        except OSError as error:
            raise RdlcError(f"cannot be written: {error.strerror}", file=str(target.parent)) from error
        try:
            found, size = hashlib.sha256(), 0
            with os.fdopen(handle, "wb") as written, open_file(path, file) as chunks:
                for chunk in chunks:
                    size += len(chunk)
                    if size > file.size:
                        raise _changed(path, f"more than its {file.size} bytes come")
                    found.update(chunk)
                    written.write(chunk)
                    self._progress(done + size, total)
            _check(path, file, size=size, sha256=f"sha256:{found.hexdigest()}")
            Path(temporary).chmod(0o644)
            Path(temporary).replace(target)
        except OSError as error:
            Path(temporary).unlink(missing_ok=True)
            raise RdlcError(f"cannot be written: {error.strerror}", file=str(target)) from error
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
        return f"sha256:{found.hexdigest()}"


def _check(path: str, file: LockedFile, *, size: int, sha256: str) -> None:
    if size != file.size:
        raise _changed(path, f"{file.size} bytes are locked, and {size} come")
    if file.sha256 and sha256 != file.sha256:
        raise _changed(path, f"{file.sha256} is locked, and {sha256} comes")


def _changed(path: str, how: str) -> RdlcError:
    return RdlcError(
        f"`{one_line(path)}` is not what was locked: {how}", hint="`rdlc lock SPEC --upgrade data` locks what is there"
    )


def _holds(path: Path, size: int, sha256: str) -> bool:
    try:
        if not sha256 or not path.is_file() or path.stat().st_size != size:
            return False
    except OSError:
        return False
    return hash_file(path).sha256 == sha256


def _read_notes(path: Path) -> dict[str, str]:
    """The sha256 of files that were locked without one, from when they came; none where it can't be read."""
    try:
        with path.open("rb") as file:
            document = json.loads(file.read(_NOTES_LIMIT_BYTES))
    except (OSError, ValueError):
        return {}
    is_fine = isinstance(document, Mapping) and all(isinstance(value, str) for value in document.values())
    return dict(document) if is_fine else {}


def _write(path: Path, data: bytes) -> None:
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".new.", delete=False) as file:
        file.write(data)
    Path(file.name).replace(path)


def _ignore(_done: int, _total: int) -> None:
    """Nobody looks."""
