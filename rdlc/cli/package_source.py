"""Package indexes and the cache of their files as the port of the lock operations, with progress on stderr."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import click

from rdlc.adapters.image_contents.cache import default_cache_folder
from rdlc.adapters.packages.default_index import IndexAddress, default_index
from rdlc.adapters.packages.index_page import merged
from rdlc.adapters.packages.resolver import Resolver
from rdlc.adapters.packages.simple_index import SimpleIndex
from rdlc.adapters.packages.store import FileStore
from rdlc.adapters.packages.uv_program import UvProgram, find_uv, own_index
from rdlc.adapters.packages.web import Web, origin_of
from rdlc.cli.byte_progress import ByteProgress
from rdlc.cli.edge import Session
from rdlc.core.packages.resolution import FetchedFile, IndexFile, Pin, Release, ResolutionQuestion
from rdlc.errors import OutsideError


class IndexPackages:
    """Packages of any index that a spec names, or of this machine's default one."""

    def __init__(self, session: Session, *, cache: Path | None = None) -> None:
        self._session = session
        self._cache = cache or default_cache_folder()

    @cached_property
    def default(self) -> IndexAddress | None:
        """The index that this machine is set up for; None where it is uv's own default."""
        return default_index()

    def index_url(self, index: str) -> str:
        """The address behind the `index` of a spec, without user info; "" stands for this machine's default."""
        if index:
            return index
        return self.default.url if self.default else self._own_index

    def resolve(self, question: ResolutionQuestion) -> tuple[Pin, ...]:
        """What must be added to the base, with every file that the index has for it; by uv."""
        count = len(question.requires)
        self._session.note(f"resolving {count} package{'s' if count != 1 else ''}")
        named = question.index or (self.default.url if self.default else "")
        login = self.default.login if self.default and self.default.url == named else None
        uv = UvProgram(find_uv(), login=login)
        resolver = Resolver(uv, index=named, cache=self._cache, warn=self._session.warn)
        resolution = resolver.resolve(question)
        return resolution.pins if resolution.is_offline else self._completed(resolution.pins, question.index)

    def fetch(self, file: IndexFile) -> FetchedFile:
        """The file, from the cache or the index."""
        return self.fetch_all((file,))[0]

    def fetch_all(self, files: Sequence[IndexFile]) -> tuple[FetchedFile, ...]:
        """The files in the order given, several at a time, with progress in bytes."""
        with ByteProgress(self._session, "fetching packages") as progress:
            return self._store(progress).fetch_all(files)

    def fill_wheelhouse(self, folder: Path, files: Sequence[IndexFile]) -> tuple[Path, ...]:
        """The files side by side in a folder, each verified."""
        with ByteProgress(self._session, "filling the wheelhouse") as progress:
            return self._store(progress).fill(folder, files)

    def releases(self, name: str, *, index: str) -> tuple[Release, ...]:
        """Every version of a package in an index; none where the index does not have it."""
        return SimpleIndex(self.index_url(index), web=self._web).releases(name)

    @cached_property
    def _web(self) -> Web:
        """The HTTP client; the end of the command closes it."""
        login = self.default.login if self.default else None
        web = Web(logins={origin_of(self.default.url): login} if self.default and login else {})
        click.get_current_context().call_on_close(web.close)
        return web

    @cached_property
    def _own_index(self) -> str:
        return own_index(UvProgram(find_uv()))

    def _store(self, progress: ByteProgress) -> FileStore:
        return FileStore(self._cache, web=self._web, progress=progress.update)

    def _completed(self, pins: tuple[Pin, ...], index: str) -> tuple[Pin, ...]:
        """The pins with what uv does not tell: which files were yanked, and sizes."""
        wanted = {pin.name: {file.name for file in pin.files} for pin in pins}
        try:
            known = SimpleIndex(self.index_url(index), web=self._web).files(wanted)
        except OutsideError as error:
            self._session.warn(f"whether a package was yanked is not known: {error.message}")
            return pins
        return tuple(replace(pin, files=merged(pin.files, known)) for pin in pins)
