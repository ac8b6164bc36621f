"""The port to the places that weights and text come from."""

from pathlib import Path
from typing import Protocol

from rdlc.core.data.files import FetchedFolder, LockedFiles
from rdlc.core.data.origin import Origin


class DataSource(Protocol):
    """Folders of the project, the Hub, S3, and the cache of what came from them."""

    def find_files(self, origin: Origin, *, what: str, project: Path) -> LockedFiles:
        """What the origin holds now of what it asks for; `what` is `model` or `dataset`.

        Raises RdlcError where there is no such origin, OutsideError where it can't be asked.
        """
        ...

    def find_commit(self, origin: Origin, *, what: str) -> str:
        """The commit that the revision of a repository names now."""
        ...

    def find_remote(self, origin: Origin, *, what: str) -> LockedFiles:
        """As `find_files`, of an origin that is no folder."""
        ...

    def find_missing(self, origin: Origin, locked: LockedFiles, *, what: str) -> tuple[str, ...]:
        """The locked files that the origin no longer gives with their bytes."""
        ...

    def fetch(self, origin: Origin, locked: LockedFiles, *, what: str, project: Path) -> FetchedFolder:
        """The locked files in a folder of this machine, each verified."""
        ...
