"""One package index over its Simple API: which releases a project has, and what became of their files."""

from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor

from rdlc.adapters.packages.index_page import ACCEPT, read_files, read_releases
from rdlc.adapters.packages.web import NotThereError, Page, Web, host_of
from rdlc.core.packages.resolution import IndexFile, Release

_THREADS = 8


class SimpleIndex:
    """The index at `url`, the root of its Simple API; safe to use from several threads."""

    def __init__(self, url: str, *, web: Web) -> None:
        self._url = url.rstrip("/")
        self._web = web

    def releases(self, name: str) -> tuple[Release, ...]:
        """Every release of a project by its normalised name, the oldest first; none if the index does not have it.

        Raises OutsideError if it does not answer.
        """
        page = self._page(name)
        return read_releases(page, name=name, what=_named(name, page)) if page else ()

    def files(self, wanted: Mapping[str, Collection[str]]) -> tuple[IndexFile, ...]:
        """What the index tells of files by project and name, several projects at a time; those that it has."""
        with ThreadPoolExecutor(max_workers=_THREADS) as pool:
            found = list(pool.map(lambda name: self._files_of(name, wanted[name]), sorted(wanted)))
        return tuple(file for files in found for file in files)

    def _files_of(self, name: str, files: Collection[str]) -> tuple[IndexFile, ...]:
        page = self._page(name)
        return read_files(page, files, what=_named(name, page)) if page else ()

    def _page(self, name: str) -> Page | None:
        try:
            return self._web.read_page(f"{self._url}/{name}/", accept=ACCEPT, what=f"page of `{name}`")
        except NotThereError:
            return None


def _named(name: str, page: Page) -> str:
    return f"page of `{name}` from `{host_of(page.url)}`"
