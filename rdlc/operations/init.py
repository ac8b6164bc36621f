"""Make a folder ready to lock."""

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from rdlc.errors import InputError


class Workspace(Protocol):
    """What making a folder needs of the machine."""

    def read_template(self, target: str) -> Mapping[str, bytes]:
        """Relative path to contents of what belongs into a folder for that target."""
        ...

    def write(self, path: Path, data: bytes) -> bool:
        """Replaces a file in one step; False if nothing changed."""
        ...


def init_folder(folder: Path, *, target: str, workspace: Workspace) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The relative paths that were written, and those that stood there already with the same contents.

    Refuses, before anything is written, if a file stands there with other contents.
    """
    template = workspace.read_template(target)
    written, kept = [], []
    for name, data in template.items():
        path = folder / name
        if path.is_file() and path.read_bytes() == data:
            kept.append(name)
        elif path.exists() or path.is_symlink():
            raise InputError(
                "stands there already with other contents: nothing was written",
                file=str(path),
                hint="`rdlc init` in another folder, or move it away",
            )
        else:
            written.append(name)
    for name in written:
        workspace.write(folder / name, template[name])
    return tuple(written), tuple(kept)
