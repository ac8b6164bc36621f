"""What git knows about the shipped files. Read-only: nothing is ever checked out or stored."""

import logging
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from rdlc.core.provenance import GitState
from rdlc.core.secrets import find_secret, locate_in_patch
from rdlc.errors import RdlcError

_log = logging.getLogger(__name__)
_TIMEOUT_S = 60.0
_PATCH_LIMIT = 256 << 10
_HISTORY_LIMIT = 2000
_COMMIT = re.compile(r"[0-9a-f]{40,64}")
# As in `rdlc.adapters.workspace.code`, relative to the recipe's folder.
_NOT_SHIPPED = (
    ":(exclude)specs", ":(exclude)configs", ":(exclude,glob)**/.*", ":(exclude,glob)**/.*/**",
    ":(exclude,glob)**/__pycache__/**", ":(exclude,glob)**/*.pyc",
)  # fmt: skip
# Set inside git hooks: they would make git look at another repository or index than the folder's.
_MISLEADING = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY")
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


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
    status = _git(folder, "ls-files", "--others", "-z", "--full-name", "--", ".") or ""
    shipped = set(files)
    untracked = [path for path in _below_root(folder, root, status) if path in shipped]
    patch, omitted = _read_patch(folder)
    return GitState(
        commit=commit.strip(),
        branch=(branch or "(detached)").strip(),
        tree=(tree or "(not committed)").strip(),
        patch=patch,
        patch_omitted=omitted,
        untracked=tuple(sorted(untracked)),
    )


def find_commit(folder: Path, *, tree: str, first: str) -> str | None:
    """A commit in which the recipe's folder has this tree: `first` if it is still there, or another."""
    inside = _git(folder, "rev-parse", "--show-prefix")
    if inside is None:
        return None
    path = inside.strip()
    history = _git(folder, "log", "--all", f"--max-count={_HISTORY_LIMIT}", "--format=%H", "--", ".") or ""
    # A lock is data from elsewhere: what is no commit id is nothing that git should see.
    named = [first] if _COMMIT.fullmatch(first) else []
    for commit in (*named, *history.split()):
        found = _git(folder, "rev-parse", "--verify", "--quiet", f"{commit}:{path.rstrip('/')}")
        if found is not None and found.strip() == tree:
            return commit
    return None


def _read_patch(folder: Path) -> tuple[str, str]:
    # Everything below the folder that ships, so that deleted files are in it; no option of the user's
    # own git configuration may change its form.
    patch = _git(
        folder, "diff", "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames", "--no-relative", "--binary",
        "--src-prefix=a/", "--dst-prefix=b/", "HEAD", "--", ".", *_NOT_SHIPPED,
    )  # fmt: skip
    if not patch:
        return "", ""
    if secret := find_secret(patch):
        path, line = locate_in_patch(patch, secret.line)
        raise RdlcError(
            f"the uncommitted change holds what looks like {secret.kind}",
            file=f"{path}:{line}",
            hint="take it out, and hand it over as `secrets: [{name: NAME, from: env}]`",
        )
    if len(patch.encode()) > _PATCH_LIMIT:
        return "", f"larger than {_PATCH_LIMIT // 1024} KiB; the record keeps the code in shipped.tar"
    if _CONTROL.search(patch) or not patch.isascii():
        return "", "holds bytes that are no plain text; the record keeps the code in shipped.tar"
    return patch, ""


def _below_root(folder: Path, root: Path, listing: str) -> list[str]:
    top = Path((_git(folder, "rev-parse", "--show-toplevel") or "").strip())
    paths = []
    for name in listing.split("\0"):
        absolute = top / name
        if name and absolute.is_relative_to(root.resolve()):
            paths.append(absolute.relative_to(root.resolve()).as_posix())
    return paths


def _git(folder: Path, *arguments: str) -> str | None:
    """What git prints, or None where it fails: no git, no work tree, no such thing."""
    program = shutil.which("git")
    if program is None:
        return None
    environment = {name: value for name, value in os.environ.items() if name not in _MISLEADING}
    command = [program, "-c", "core.quotePath=false", "-c", "core.fsmonitor=false", *arguments]
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            capture_output=True,
            timeout=_TIMEOUT_S,
            check=False,
            stdin=subprocess.DEVNULL,
            env=environment,
        )
    except subprocess.TimeoutExpired as error:
        raise RdlcError(f"git did not answer within {_TIMEOUT_S:.0f} s", file=str(folder)) from error
    if done.returncode != 0:
        _log.debug("git %s: %s", arguments, done.stderr)
        return None
    return done.stdout.decode("utf-8", "replace")
