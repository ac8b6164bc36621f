"""The files of a folder, with the sha256 of each."""

import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from rdlc.core.data.files import BYTES, LockedFile, LockedFiles
from rdlc.core.data.origin import Origin, select_files
from rdlc.errors import InputError

FILES_LIMIT = 10_000
_DEPTH_LIMIT = 16


def list_folder(origin: Origin, *, what: str, project: Path) -> LockedFiles:
    """What a folder of the project, or one file, holds of what the origin asks for; each byte is read.

    Links are followed to files: what they hold is what is hashed, and the workers check it again.
    """
    root = project / origin.place
    try:
        if root.is_file():
            return LockedFiles(evidence=BYTES, files={root.name: hash_file(root)})
        if not root.is_dir():
            raise InputError("the folder does not exist", file=str(root), field=f"{what}.path")
        names = select_files(list(_walk(root)), origin, what=what)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=str(error.filename or root)) from error
    return LockedFiles(evidence=BYTES, files={name: hash_file(root / name) for name in names})


def folder_of(origin: Origin, *, project: Path) -> Path:
    """The folder that the names of `list_folder` are below."""
    root = (project / origin.place).resolve()
    return root.parent if root.is_file() else root


def hash_file(path: Path) -> LockedFile:
    """A regular file as it can be locked."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise InputError("must be a regular file", file=str(path))
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            return LockedFile(size=file.tell(), sha256=f"sha256:{digest}")
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=str(path)) from error


def _walk(root: Path) -> Iterator[str]:
    count = 0
    for folder, folders, names in os.walk(root):
        depth = len(Path(folder).relative_to(root).parts)
        folders[:] = sorted(name for name in folders if not name.startswith(".")) if depth < _DEPTH_LIMIT else []
        for name in sorted(names):
            path = (Path(folder) / name).relative_to(root).as_posix()
            if not path.isprintable() or "\\" in path:
                raise InputError(f"the file name {path!r} cannot be locked", file=folder)
            count += 1
            if count > FILES_LIMIT:
                raise InputError(f"holds more than {FILES_LIMIT} files", file=str(root))
            yield path
