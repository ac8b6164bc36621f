"""The files of a Terraform root: exactly those that a lock names."""

import os
from collections.abc import Iterator
from pathlib import Path

from rdlc.adapters.workspace.files import read_bounded
from rdlc.core.document import SPEC_LIMIT_BYTES
from rdlc.core.infra.hcl_tokens import FILE_LIMIT_BYTES
from rdlc.core.infra.tree import FILE_COUNT_LIMIT, PLACEHOLDERS, describe_refused, is_hashed
from rdlc.core.text import one_line
from rdlc.errors import InputError

_PROFILE_END = ".tfvars.json"


class TerraformFolder:
    """A Terraform root on this machine."""

    def read_tree(self, root: Path) -> dict[str, bytes]:
        """The files that make the root, by path below it; raises InputError for what cannot stand there."""
        return read_tree(root)

    def read_profile(self, root: Path, name: str) -> tuple[str, bytes]:
        """The place of a profile, for messages, and its bytes; raises InputError naming those that are there."""
        path = root / "profiles" / f"{name}{_PROFILE_END}"
        if not path.is_file():
            names = sorted(entry.name.removesuffix(_PROFILE_END) for entry in path.parent.glob(f"*{_PROFILE_END}"))
            known = ", ".join(f"`{one_line(known)}`" for known in names)
            raise InputError(
                f"there is no profile `{name}` in `{path.parent}`",
                field="infra.profile",
                hint=f"known: {known}" if known else "leave `profile` out, and give all values under `variables`",
            )
        return str(path), read_bounded(path, limit_bytes=SPEC_LIMIT_BYTES, what="the profile")

    def read_placeholders(self, root: Path) -> tuple[str, bytes] | None:
        """The place of the stand-ins for bindings, and their bytes; None if the root has none."""
        path = root / PLACEHOLDERS
        if not path.is_file():
            return None
        return str(path), read_bounded(path, limit_bytes=SPEC_LIMIT_BYTES, what="the stand-ins for bindings")

    def read_bindings(self, path: Path) -> tuple[str, bytes]:
        """The place of a `--bind` file, and its bytes."""
        return str(path), read_bounded(path, limit_bytes=SPEC_LIMIT_BYTES, what="the file given with `--bind`")


def read_tree(root: Path) -> dict[str, bytes]:
    """The files that make a root, by path below it with `/`, sorted.

    Raises InputError for a file that Terraform would take values from behind the lock's back, for a
    link, and for a tree that is too large.
    """
    if not root.is_dir():
        raise InputError(f"there is no Terraform root `{root}`", field="infra.root")
    files: dict[str, bytes] = {}
    for path in sorted(_walk(root, root)):
        name = path.relative_to(root).as_posix()
        if problem := describe_refused(name):
            raise InputError(problem, file=str(path), hint=f"`rm {path}`")
        if path.is_symlink():
            raise InputError("is a link, and a Terraform root is copied file by file", file=str(path))
        if len(files) >= FILE_COUNT_LIMIT:
            raise InputError(f"holds more than {FILE_COUNT_LIMIT} files: this is no Terraform root", file=str(root))
        files[name] = read_bounded(path, limit_bytes=FILE_LIMIT_BYTES, what="a file of the Terraform root")
    return files


def _walk(folder: Path, root: Path) -> Iterator[Path]:
    """The files that belong to the tree; folders that do not are not looked into."""
    try:
        with os.scandir(folder) as entries:
            found = [(Path(entry.path), entry.is_dir(follow_symlinks=False)) for entry in entries]
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=str(folder)) from error
    for path, is_folder in found:
        name = path.relative_to(root).as_posix()
        if not _is_utf8(name):
            raise InputError(f"the name `{one_line(name)}` is not UTF-8", file=str(folder))
        # What stands in a folder decides: the name of a file in it stands for all of them.
        if is_folder and is_hashed(f"{name}/file"):
            yield from _walk(path, root)
        elif not is_folder and (is_hashed(name) or describe_refused(name)):
            yield path


def _is_utf8(name: str) -> bool:
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
