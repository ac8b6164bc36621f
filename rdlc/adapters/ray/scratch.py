"""A job's scratch folder: made or taken fresh, marked, and removed by its mark only.

Which folder that is can come from a record, which is data from elsewhere. So it is looked at here, for
every caller: a scratch folder is `/tmp/rdlc-<8 hex digits>`, a real folder of this user that nobody else
may enter, and neither a project nor around the current folder.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from pathlib import Path

from rdlc.errors import RdlcError

# Not TMPDIR: below it Ray's socket paths can pass the 107 bytes that Linux allows.
_PARENT = Path("/tmp")  # noqa: S108 - only a folder of mode 0700 is used, never the parent
_NAME = re.compile(r"rdlc-[0-9a-f]{8}")
_MARK = ".rdlc-job"
_MARK_LIMIT = 64
# By these a project is known: what holds one of them is nobody's scratch folder.
_PROJECT_MARKS = (".git", "recipes", "pyproject.toml", "runs")


def is_scratch_path(folder: Path) -> bool:
    """Whether it is named as scratch folders are; others are never removed."""
    return folder.parent == _PARENT and _NAME.fullmatch(folder.name) is not None


def take_scratch(folder: Path, *, token: str) -> None:
    """Make the folder, or take an empty one, and mark it as one that this job removes.

    One that bears the mark of this job already is taken as it is, so that it can be filled before.
    """
    if _is_marked(folder, token):
        return
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        is_fresh = _is_our_own(folder) and not any(folder.iterdir())
        if is_fresh:
            (folder / _MARK).write_text(token, encoding="ascii")
    except OSError as error:
        message = f"cannot use scratch folder `{folder}`: {error.strerror}"
        raise RdlcError(message) from error
    if not is_fresh:
        raise RdlcError(
            f"scratch folder `{folder}` is not an empty folder of this user alone, and would be removed after the run"
        )


def remove_scratch(folder: Path, *, token: str) -> bool:
    """Remove the folder if it is a scratch folder with the mark of this job; return whether it is gone.

    Anything else is left alone, and said on stderr. Symbolic links in it are removed, not followed.
    The mark goes last, so that an interrupted removal can be repeated. What cannot be removed is said
    on stderr, too.
    """
    if is_scratch_path(folder) and not os.path.lexists(folder):
        return True
    if not _is_marked(folder, token):
        sys.stderr.write(f"rdlc: {str(folder)!r} is not the scratch folder of this job, and is left alone\n")
        return False
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


def _is_our_own(folder: Path) -> bool:
    """Whether it is a real folder of this user, closed to all others, and holds no project of theirs."""
    status = folder.lstat()
    is_private = stat.S_ISDIR(status.st_mode) and stat.S_IMODE(status.st_mode) == 0o700
    if not is_private or status.st_uid != os.geteuid():
        return False
    return not _is_around_here(folder) and not any(os.path.lexists(folder / mark) for mark in _PROJECT_MARKS)


def _is_around_here(folder: Path) -> bool:
    try:
        return Path.cwd().is_relative_to(folder)
    except FileNotFoundError:  # the current folder was deleted
        return False


def _is_marked(folder: Path, token: str) -> bool:
    if not is_scratch_path(folder):
        return False
    try:
        if not _is_our_own(folder):
            return False
        # The mark is no link either, and a pipe in its place does not make anyone wait.
        handle = os.open(folder / _MARK, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as file:
            return file.read(_MARK_LIMIT) == token.encode()
    except OSError:
        return False


def _remove(path: Path) -> None:
    try:
        if path.is_dir() and not path.is_symlink():
            path.rmdir()
        else:
            path.unlink()
    except OSError as error:
        sys.stderr.write(f"rdlc: cannot remove {str(path)!r}: {error.strerror}\n")
