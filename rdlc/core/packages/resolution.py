"""What a package index is asked, and what it answers."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath

from rdlc.core.packages.base import Base


@dataclass(frozen=True, kw_only=True, slots=True)
class ResolutionQuestion:
    """Requirements to resolve against a base that stays as it is.

    `index` is "" for the machine's default index, `exclude_newer` "" without a cut-off. `replace` names
    the base distributions that may be replaced. `preferred` maps the name of an earlier pin to its
    version, which stays unless it must move or is in `upgrade`; there, None means every one. With
    `is_deep` False nothing is known of the base: only the requirements themselves are resolved.
    """

    requires: tuple[str, ...]
    base: Base
    index: str
    exclude_newer: str
    allow_sdist: tuple[str, ...]
    replace: frozenset[str]
    preferred: Mapping[str, str]
    upgrade: frozenset[str] | None
    is_deep: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class IndexFile:
    """One file of a release; `sha256` is `sha256:<hex>`, `yanked` the reason, "" without one, None if it is not."""

    name: str
    url: str
    size: int | None
    sha256: str | None
    yanked: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Pin:
    """One package of a resolution, and every file that the index has for this version."""

    name: str
    version: str
    files: tuple[IndexFile, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class FetchedFile:
    """A file as it lies in the cache: its true size and digest, what is in it, its `Requires-Dist` lines."""

    path: PurePath
    size: int
    sha256: str
    members: tuple[str, ...]
    requires: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Release:
    """One version of a package in an index, with its files."""

    version: str
    files: tuple[IndexFile, ...]
