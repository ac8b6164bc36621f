"""A job's scratch folder: made or taken fresh, marked, and removed by its mark only."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from rdlc.errors import RdlcError

_MARK = ".rdlc-job"


def take_scratch(folder: Path, *, token: str) -> None:
    """Make the folder, or take an empty one, and mark it as one that this job removes.

    One that bears the mark of this job already is taken as it is, so that it can be filled before.
    """
    if _is_marked(folder, token):
        return
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        is_fresh = not folder.is_symlink() and not any(folder.iterdir())
        if is_fresh:
            (folder / _MARK).write_text(token, encoding="ascii")
    except OSError as error:
        message = f"cannot use scratch folder `{folder}`: {error.strerror}"
        raise RdlcError(message) from error
    if not is_fresh:
        raise RdlcError(f"scratch folder `{folder}` is not an empty folder, and would be removed after the run")


def remove_scratch(folder: Path, *, token: str) -> bool:
    """Remove the folder if it bears the mark of this job; return whether it is gone.

    Symbolic links in it are removed, not followed. The mark goes last, so that an interrupted
    removal can be repeated. What cannot be removed is said on stderr.
    """
    if not _is_marked(folder, token):
        return not os.path.lexists(folder)
    mark = folder / _MARK
    for parent, folders, files in os.walk(folder, topdown=False):
        for name in (*files, *folders):
            path = Path(parent, name)
            if path != mark:
                _remove(path)
    if {path.name for path in folder.iterdir()} == {_MARK}:
        _remove(mark)
        _remove(folder)
    return not os.path.lexists(folder)


def _is_marked(folder: Path, token: str) -> bool:
    try:
        return not folder.is_symlink() and (folder / _MARK).read_text(encoding="ascii") == token
    except (OSError, UnicodeDecodeError):
        return False


def _remove(path: Path) -> None:
    try:
        if path.is_dir() and not path.is_symlink():
            path.rmdir()
        else:
            path.unlink()
    except OSError as error:
        sys.stderr.write(f"rdlc: cannot remove `{path}`: {error.strerror}\n")
