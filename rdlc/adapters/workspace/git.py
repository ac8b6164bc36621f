"""What git knows about the shipped files.

Read-only: nothing is ever checked out or stored. And no program that a repository names is started:
no hook, filter, monitor, pager, signature check or transport. That is why the work tree is compared
here (see `patch.py`), and git is only asked for its index, its trees and its blobs.
"""

import logging
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence, Set
from pathlib import Path

from rdlc.adapters.workspace.code import NOT_SHIPPED
from rdlc.adapters.workspace.patch import KEPT, Change, Entry, write_patch
from rdlc.core.provenance import GitState
from rdlc.errors import RdlcError

_log = logging.getLogger(__name__)
_TIMEOUT_S = 60.0
_HISTORY_LIMIT = 2000
_COMMIT = re.compile(r"[0-9a-f]{40,64}")
# Set inside git hooks: they would make git look at another repository or index than the folder's.
_MISLEADING = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY")
# The index is not refreshed, and what a partial clone lacks is not fetched.
_FORCED = {"GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "", "GIT_TERMINAL_PROMPT": "0"}
_SETTINGS = (
    "core.quotePath=false", "core.fsmonitor=false", "core.hooksPath=/dev/null", "core.attributesFile=/dev/null",
    "log.showSignature=false",
)  # fmt: skip


def read_git_state(folder: Path, files: Sequence[str], *, root: Path) -> GitState | None:
    """The commit, branch, tree and patch of the shipped files; None outside a git work tree.

    `folder` is the recipe's folder, `files` the shipped paths below `root`. Raises RdlcError if the
    patch holds a secret.
    """
    commit = _git(folder, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    if commit is None:
        return None
    branch = _git(folder, "symbolic-ref", "--quiet", "--short", "HEAD")
    tree = _git(folder, "rev-parse", "--verify", "--quiet", "HEAD:./")
    patch, omitted, untracked = _read_change(folder, files, root)
    return GitState(
        commit=commit.strip(),
        branch=(branch or "(detached)").strip(),
        tree=(tree or "(not committed)").strip(),
        patch=patch,
        patch_omitted=omitted,
        untracked=untracked,
    )


def find_commit(folder: Path, *, tree: str, first: str) -> str | None:
    """A commit in which the recipe's folder has this tree: `first` if it is still there, or another."""
    inside = _git(folder, "rev-parse", "--show-prefix")
    if inside is None:
        return None
    path = inside.strip()
    history = _git(folder, "rev-list", "--all", f"--max-count={_HISTORY_LIMIT}", "--", ".") or ""
    # A lock is data from elsewhere: what is no commit id is nothing that git should see.
    named = [first] if _COMMIT.fullmatch(first) else []
    for commit in (*named, *history.split()):
        found = _git(folder, "rev-parse", "--verify", "--quiet", f"{commit}:{path.rstrip('/')}")
        if found is not None and found.strip() == tree:
            return commit
    return None


def _read_change(folder: Path, files: Sequence[str], root: Path) -> tuple[str, str, tuple[str, ...]]:
    """The patch, why there is none, and the shipped files that git does not know."""
    prefix = _git(folder, "rev-parse", "--show-prefix")
    tree = _git(folder, "ls-tree", "-r", "-l", "-z", "HEAD", "--", ".")
    index = _git(folder, "ls-files", "-z", "--", ".")
    if prefix is None or tree is None or index is None:
        return "", f"git failed to tell the change; {KEPT}", ()
    package = folder.relative_to(root).as_posix()
    shipped = {path.removeprefix(f"{package}/") for path in files}
    committed = {path: entry for path, entry in _entries(tree) if path in shipped or _ships(path)}
    known = committed.keys() | set(index.split("\0"))
    untracked = tuple(sorted(f"{package}/{path}" for path in shipped - known))
    # What was deleted is part of the change, too.
    changes = _find_changes(folder, prefix.rstrip("\n"), committed, shipped & known)
    if changes is None:
        return "", f"git failed to give what was committed; {KEPT}", untracked
    return *write_patch(changes), untracked


def _entries(tree: str) -> Iterator[tuple[str, Entry]]:
    for line in tree.split("\0"):
        if line:
            words, _, path = line.partition("\t")
            mode, _, name, size = words.split()
            yield path, Entry(mode=mode, name=name, size=int(size) if size.isdecimal() else 0)


def _ships(path: str) -> bool:
    """As `rdlc.adapters.workspace.code` lists them, relative to the recipe's folder."""
    parts = path.split("/")
    is_hidden = any(part.startswith(".") or part == "__pycache__" or part.endswith(".pyc") for part in parts)
    return not is_hidden and parts[0] not in NOT_SHIPPED


def _find_changes(
    folder: Path, prefix: str, committed: Mapping[str, Entry], present: Set[str]
) -> tuple[Change, ...] | None:
    """What differs from the commit, sorted by path; None if git fails."""
    found = []
    for path in sorted(committed.keys() | present):
        entry = committed.get(path)
        data = (folder / path).read_bytes() if path in present else None
        if entry is None or data is None or not entry.is_blob_of(data):
            found.append((path, entry, data))
    names = [entry.name for _, entry, _ in found if entry and not entry.trouble]
    blobs = _read_blobs(folder, names)
    if blobs is None:
        return None
    return tuple(
        Change(path=f"{prefix}{path}", entry=entry, old=blobs.get(entry.name) if entry else None, new=data)
        for path, entry, data in found
    )


def _read_blobs(folder: Path, names: Sequence[str]) -> dict[str, bytes] | None:
    answer = _ask(folder, "cat-file", "--batch", given="".join(f"{name}\n" for name in names).encode())
    blobs = {}
    for name in names:
        head, _, rest = (answer or b"").partition(b"\n")
        words = head.split()
        if len(words) != 3 or words[0] != name.encode():
            return None
        size = int(words[2])
        blobs[name], answer = rest[:size], rest[size + 1 :]
    return blobs


def _git(folder: Path, *arguments: str) -> str | None:
    """What git prints, or None where it fails: no git, no work tree, no such thing."""
    answer = _ask(folder, *arguments)
    return None if answer is None else answer.decode("utf-8", "replace")


def _ask(folder: Path, *arguments: str, given: bytes = b"") -> bytes | None:
    program = shutil.which("git")
    if program is None:
        return None
    environment = {name: value for name, value in os.environ.items() if name not in _MISLEADING}
    settings = (word for setting in _SETTINGS for word in ("-c", setting))
    try:
        done = subprocess.run(
            (program, "--no-pager", *settings, *arguments),
            cwd=folder,
            capture_output=True,
            timeout=_TIMEOUT_S,
            check=False,
            input=given,
            env={**environment, **_FORCED},
        )
    except subprocess.TimeoutExpired as error:
        raise RdlcError(f"git did not answer within {_TIMEOUT_S:.0f} s", file=str(folder)) from error
    if done.returncode != 0:
        _log.debug("git %s: %s", arguments, done.stderr)
        return None
    return done.stdout
