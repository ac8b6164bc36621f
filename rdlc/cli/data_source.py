"""Folders, the Hub and S3 as the port of the operations, with progress on stderr."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from functools import cached_property
from pathlib import Path

import click

from rdlc.adapters.hub.client import Hub, open_hub
from rdlc.adapters.hub.folder import folder_of, list_folder
from rdlc.adapters.hub.s3 import S3
from rdlc.adapters.hub.store import DataStore
from rdlc.adapters.image_contents.cache import default_cache_folder
from rdlc.cli.byte_progress import ByteProgress
from rdlc.cli.edge import Session
from rdlc.core.data.files import FetchedFolder, LockedFile, LockedFiles
from rdlc.core.data.origin import Origin


class DataPlaces:
    """Everything that weights and text may come from."""

    def __init__(self, session: Session, *, cache: Path | None = None) -> None:
        self._session = session
        self._cache = cache or default_cache_folder()

    def find_files(self, origin: Origin, *, what: str, project: Path) -> LockedFiles:
        """What the origin holds now of what it asks for."""
        if origin.kind == "folder":
            return list_folder(origin, what=what, project=project)
        self._session.note(f"asking for the files of {origin.describe()}")
        return self.find_remote(origin, what=what)

    def find_remote(self, origin: Origin, *, what: str) -> LockedFiles:
        """As `find_files`, of the Hub or S3."""
        if origin.kind == "hub":
            return self._hub.find_files(origin, what=what)
        return self._s3.find_files(origin, what=what)

    def find_missing(self, origin: Origin, locked: LockedFiles, *, what: str) -> tuple[str, ...]:
        """The locked files that the origin no longer gives with their bytes."""
        if origin.kind == "hub":
            return self._hub.find_missing(origin, locked, what=what)
        return self._s3.find_missing(origin, locked)

    def find_commit(self, origin: Origin, *, what: str) -> str:
        """The commit that the revision of a repository names now."""
        return self._hub.find_revision(origin, what=what).commit

    def fetch(self, origin: Origin, locked: LockedFiles, *, what: str, project: Path) -> FetchedFolder:
        """The locked files in a folder of this machine; those from elsewhere are verified."""
        if origin.kind == "folder":
            digests = {name: file.sha256 for name, file in locked.files.items()}
            return FetchedFolder(path=str(folder_of(origin, project=project)), digests=digests)

        def open_file(name: str, file: LockedFile) -> AbstractContextManager[Iterator[bytes]]:
            if origin.kind == "hub":
                return self._hub.open_file(origin, locked.commit, name, what=what)
            return self._s3.open_file(origin, name, file)

        with ByteProgress(self._session, f"fetching {origin.place}") as progress:
            store = DataStore(self._cache, progress=progress.update)
            return store.fetch(origin, locked, what=what, open_file=open_file)

    @cached_property
    def _hub(self) -> Hub:
        """The client of the Hub; the end of the command closes it."""
        hub = open_hub()
        click.get_current_context().call_on_close(hub.close)
        return hub

    @cached_property
    def _s3(self) -> S3:
        return S3()
