"""Files of a package index, kept by digest: what is asked for twice comes once.

A file is put in its place in one step, so that any number of processes may share a folder, and its
digest is computed from its bytes each time that it is used.
"""

import contextlib
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from pathlib import Path
from threading import Lock

from rdlc.adapters.packages.distribution_file import read_contents
from rdlc.adapters.packages.index_page import is_file_name
from rdlc.adapters.packages.web import Web
from rdlc.core.packages.resolution import FetchedFile, IndexFile
from rdlc.core.text import one_line
from rdlc.errors import InputError, OutsideError, RdlcError

Progress = Callable[[int, int], None]

_LIMIT_BYTES = 16 << 30
_CHUNK_BYTES = 1 << 20
_THREADS = 4
_CHANGED = "somebody replaced it, or something between here and the index changes what it sends"
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


class FileStore:
    """The files in `cache`, and the index behind it. `progress` takes bytes done and in all, from any thread."""

    def __init__(self, cache: Path, *, web: Web, progress: Progress | None = None) -> None:
        self._folder = cache / "files" / "v1"
        self._web = web
        self._meter = _Meter(progress)

    @property
    def is_stopped(self) -> bool:
        """Whether an error ended the last fetching of several files."""
        return self._meter.is_stopped

    def fetch(self, file: IndexFile) -> FetchedFile:
        """The file as it lies in the cache, from the index if need be.

        Raises RdlcError if its bytes are not those of its digest or size, or if it is no distribution
        file; OutsideError if the index does not give it.
        """
        if not is_file_name(file.name) or (file.sha256 is not None and not _DIGEST.fullmatch(file.sha256)):
            raise InputError(f"`{one_line(file.name)}` is no name of a file that can be fetched")
        path = self._find(file) or self._download(file)
        contents = read_contents(path)
        return FetchedFile(
            path=path,
            size=path.stat().st_size,
            sha256=f"sha256:{path.parent.name}",
            members=contents.members,
            requires=contents.requires,
        )

    def fetch_all(self, files: Sequence[IndexFile]) -> tuple[FetchedFile, ...]:
        """The files in the order given, several at a time; the first error ends it."""
        self._meter.plan(sum(file.size or 0 for file in files))
        with ThreadPoolExecutor(max_workers=_THREADS) as pool:
            futures = [pool.submit(self.fetch, file) for file in files]
            try:
                done = wait(futures, return_when=FIRST_EXCEPTION).done
                for error in (future.exception() for future in futures if future in done):
                    if error is not None:
                        raise error
            except BaseException:
                # Also when the user stops it: what still runs ends with its next piece.
                self._meter.stop()
                pool.shutdown(wait=False, cancel_futures=True)
                raise
            return tuple(future.result() for future in futures)

    def fill(self, folder: Path, files: Sequence[IndexFile]) -> tuple[Path, ...]:
        """A wheelhouse: the files side by side in `folder`, each verified; gives back their paths.

        What stands there with the right bytes stays. Other files in the folder are left alone.
        """
        missing = [file for file in files if not _holds(folder / file.name, file)]
        fetched = self.fetch_all(missing)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for file, found in zip(missing, fetched, strict=True):
                _place(Path(found.path), folder / file.name)
        except OSError as error:
            raise RdlcError(f"cannot be written: {error.strerror}", file=str(folder)) from error
        return tuple(folder / file.name for file in files)

    def _find(self, file: IndexFile) -> Path | None:
        """The cached file with its bytes checked; a damaged one is taken away."""
        if file.sha256 is None:
            return None
        path = self._path(file.sha256, file.name)
        if not path.is_file():
            return None
        if _digest_of(path) == file.sha256:
            self._meter.add(path.stat().st_size)
            return path
        with contextlib.suppress(OSError):
            path.unlink()
        return None

    def _path(self, sha256: str, name: str) -> Path:
        hexadecimal = sha256.removeprefix("sha256:")
        return self._folder / hexadecimal[:2] / hexadecimal / name

    def _download(self, file: IndexFile) -> Path:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=self._folder, prefix=".new.")
        except OSError as error:
            raise RdlcError(f"cannot be written: {error.strerror}", file=str(self._folder)) from error
        try:
            with os.fdopen(handle, "wb") as target:
                found = self._receive(file, target.write)
            path = self._path(found, file.name)
            path.parent.mkdir(parents=True, exist_ok=True)
            Path(temporary).chmod(0o644)
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
        return path

    def _receive(self, file: IndexFile, write: Callable[[bytes], object]) -> str:
        """Writes what comes, and gives back its digest, which is checked."""
        limit = file.size if file.size is not None else _LIMIT_BYTES
        found, size = hashlib.sha256(), 0
        with self._web.open_file(file.url, what=f"file `{file.name}`") as chunks:
            for chunk in chunks:
                size += len(chunk)
                if size > limit:
                    raise RdlcError(f"{_changed(file)}: more than its {limit} bytes come", hint=_CHANGED)
                found.update(chunk)
                self._meter.add(len(chunk))
                write(chunk)
        digest = f"sha256:{found.hexdigest()}"
        if file.sha256 not in (None, digest):
            raise RdlcError(f"{_changed(file)}: expected `{file.sha256}`, got `{digest}`", hint=_CHANGED)
        if file.size not in (None, size):
            raise RdlcError(f"{_changed(file)}: expected {file.size} bytes, got {size}", hint=_CHANGED)
        return digest


class _StoppedError(OutsideError):
    """Another file failed: this one is wanted no more."""


class _Meter:
    """Bytes read and planned, of all threads together."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress
        self._lock = Lock()
        self._done_bytes = 0
        self._planned_bytes = 0
        self.is_stopped = False

    def plan(self, count: int) -> None:
        with self._lock:
            self._planned_bytes += count
            self.is_stopped = False

    def add(self, count: int) -> None:
        if self.is_stopped:
            raise _StoppedError("stopped")
        with self._lock:
            self._done_bytes += count
            if self._progress:
                self._progress(self._done_bytes, max(self._done_bytes, self._planned_bytes))

    def stop(self) -> None:
        self.is_stopped = True


def _chunks_of(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            yield chunk


def _digest_of(path: Path) -> str:
    found = hashlib.sha256()
    _feed(found.update, _chunks_of(path))
    return f"sha256:{found.hexdigest()}"


def _feed(take: Callable[[bytes], object], chunks: Iterable[bytes]) -> None:
    for chunk in chunks:
        take(chunk)


def _holds(path: Path, file: IndexFile) -> bool:
    try:
        return file.sha256 is not None and path.is_file() and _digest_of(path) == file.sha256
    except OSError:
        return False


def _place(source: Path, target: Path) -> None:
    """A second name of the file, or a copy where the folders cannot share it; in one step."""
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".new.") as name:
        new = Path(name, "file")
        try:
            new.hardlink_to(source)
        except OSError:
            shutil.copyfile(source, new)
        new.replace(target)


def _changed(file: IndexFile) -> str:
    return f"the file `{file.name}` of the index has other bytes"
