"""The port to package indexes."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from rdlc.core.packages.resolution import FetchedFile, IndexFile, Pin, Release, ResolutionQuestion


class PackageSource(Protocol):
    """A package index, and the cache of the files that came from it."""

    def resolve(self, question: ResolutionQuestion) -> tuple[Pin, ...]:
        """What must be added to the base, by name, with every file that the index has for each.

        Raises RdlcError for a conflict, saying who wants what, OutsideError where the index is down.
        """
        ...

    def fetch_all(self, files: Sequence[IndexFile]) -> tuple[FetchedFile, ...]:
        """The files in the order given, from the cache or the index; their digests are of their bytes."""
        ...

    def fill_wheelhouse(self, folder: Path, files: Sequence[IndexFile]) -> tuple[Path, ...]:
        """The files side by side in a folder, each verified."""
        ...

    def index_url(self, index: str) -> str:
        """The address behind the index of a spec, without user info; "" stands for this machine's default."""
        ...

    def releases(self, name: str, *, index: str) -> tuple[Release, ...]:
        """Every version of a package in an index; none where the index does not have it."""
        ...
