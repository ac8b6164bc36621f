"""The port to the machine that most use cases need: files, git, Python, clock."""

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from rdlc.core.packages.base import Base
from rdlc.core.provenance import GitState
from rdlc.core.sections import EnvironmentSection


class Workspace(Protocol):
    """What locking needs of the machine."""

    def read(self, path: Path, *, limit_bytes: int, what: str) -> bytes:
        """The bytes of a file; InputError if that cannot be."""
        ...

    def write(self, path: Path, data: bytes) -> bool:
        """Replaces a file in one step; False if nothing changed."""
        ...

    def find_project(self, *starts: Path) -> Path | None:
        """The project folder around the first start that has one."""
        ...

    def list_code(self, root: Path, package: str) -> dict[str, str]:
        """Shipped path to sha256 in hex."""
        ...

    def read_git_state(self, folder: Path, paths: tuple[str, ...], *, root: Path) -> GitState | None:
        """The git state of the shipped files."""
        ...

    def read_environment(self, *, threads_per_worker: int) -> EnvironmentSection:
        """The Python that would run it."""
        ...

    def read_base(self) -> Base:
        """That Python as the base of extra packages."""
        ...

    def base_files(self) -> Mapping[str, str]:
        """Path below `site-packages` to the distribution that owns the file."""
        ...

    def hash_files(self, path: Path) -> dict[str, str]:
        """The files of a folder, such as a record, to sha256 in hex."""
        ...

    def editable_distributions(self) -> tuple[str, ...]:
        """Distributions whose files a version does not pin."""
        ...

    def now(self) -> str:
        """The time as `2026-11-30T12:00:00Z`."""
        ...
