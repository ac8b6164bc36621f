"""The uncommitted change in git's patch format, from bytes alone: git never looks at the work tree."""

import difflib
import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass

from rdlc.core.secrets import find_secret, locate_in_patch
from rdlc.core.text import printable
from rdlc.errors import RdlcError

_LIMIT = 256 << 10
_FILE_MODES = ("100644", "100755")
_NO_NEWLINE = "\n\\ No newline at end of file\n"

KEPT = "the record keeps the code in shipped.tar"
_TOO_LARGE = f"larger than {_LIMIT // 1024} KiB"
_NOT_TEXT = "holds bytes that are no plain text"


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """What git's tree says of a path: mode, name of the object, size in bytes."""

    mode: str
    name: str
    size: int

    @property
    def trouble(self) -> str:
        """Why it can't be compared; empty if it can."""
        if self.mode not in _FILE_MODES:
            return "a link or a submodule is in the commit"
        return _TOO_LARGE if self.size > _LIMIT else ""

    def is_blob_of(self, data: bytes) -> bool:
        """Whether the commit has these very bytes."""
        return self.mode in _FILE_MODES and self.size == len(data) and self.name == _blob_name(data, self.name)


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """A file with its bytes in the commit and now; None where it was or is not, or was not read."""

    path: str
    entry: Entry | None
    old: bytes | None
    new: bytes | None


def write_patch(changes: Sequence[Change]) -> tuple[str, str]:
    """The patch for `git apply`, or an empty text and why; raises RdlcError if the change holds a secret."""
    pieces, reasons = [], []
    for change in changes:
        if reason := _trouble(change):
            # It enters no lock, and ships all the same.
            _refuse_secret(change)
            reasons.append(reason)
        else:
            pieces.append(_write_piece(change))
    patch = "".join(pieces)
    if secret := find_secret(patch):
        raise _refusal(secret.kind, *locate_in_patch(patch, secret.line))
    if not reasons and len(patch) > _LIMIT:
        reasons = [_TOO_LARGE]
    return ("", f"{reasons[0]}; {KEPT}") if reasons else (patch, "")


def _trouble(change: Change) -> str:
    if change.entry and change.entry.trouble:
        return change.entry.trouble
    if len(change.new or b"") > _LIMIT:
        return _TOO_LARGE
    # git would quote such a path.
    is_plain = change.path.isprintable() and change.path.isascii() and not {'"', "\\"} & set(change.path)
    return "" if is_plain and _is_text(change.old or b"") and _is_text(change.new or b"") else _NOT_TEXT


def _is_text(data: bytes) -> bool:
    if not data.isascii():
        return False
    text = data.decode("ascii")
    return printable(text.replace("\r\n", "\n")) == text.replace("\r\n", "\n")


def _refuse_secret(change: Change) -> None:
    if secret := find_secret((change.new or b"").decode("utf-8", "replace")):
        raise _refusal(secret.kind, change.path, secret.line)


def _refusal(kind: str, path: str, line: int) -> RdlcError:
    return RdlcError(
        f"the uncommitted change holds what looks like {kind}",
        file=f"{path}:{line}",
        hint="take it out, and hand it over as `secrets: [{name: NAME, from: env}]`",
    )


def _write_piece(change: Change) -> str:
    path, old, new = change.path, change.old, change.new
    like = change.entry.name if change.entry else None
    names = ["0" * 40 if data is None else _blob_name(data, like) for data in (old, new)]
    mode = change.entry.mode if change.entry else "100644"
    head = [f"diff --git a/{path} b/{path}\n"]
    if old is None:
        head.append(f"new file mode {mode}\n")
    elif new is None:
        head.append(f"deleted file mode {mode}\n")
    head.append(f"index {names[0]}..{names[1]}{f' {mode}' if old is not None and new is not None else ''}\n")
    lines = difflib.unified_diff(
        _lines(old),
        _lines(new),
        "/dev/null" if old is None else f"a/{path}",
        "/dev/null" if new is None else f"b/{path}",
    )
    return "".join([*head, *(line if line.endswith("\n") else line + _NO_NEWLINE for line in lines)])


def _lines(data: bytes | None) -> list[str]:
    """Lines as git counts them: ended by a newline and nothing else."""
    return list(io.StringIO((data or b"").decode("ascii"), newline="\n"))


def _blob_name(data: bytes, like: str | None) -> str:
    """git's name for the bytes, with the hash of the repository."""
    kind = "sha256" if like and len(like) == 64 else "sha1"
    return hashlib.new(kind, b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
