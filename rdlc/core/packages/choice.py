"""Which one of a release's files is installed on a base."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import InvalidVersion, Version

from rdlc.core.packages.resolution import IndexFile, Pin
from rdlc.core.text import one_line
from rdlc.errors import RdlcError

_PLATFORM = re.compile(r"(?P<machine>[a-z0-9_]+)-manylinux_2_(?P<minor>[0-9]{1,2})")
_PYTHON = re.compile(r"3\.(?P<minor>[0-9]{1,2})(?:\.[0-9A-Za-z+.]*)?")
# The names that platforms had before they were called by their glibc.
_LEGACY = {17: "manylinux2014", 12: "manylinux2010", 5: "manylinux1"}
# The oldest glibc that wheels are built for: a machine that came later has none before.
_OLDEST = {"x86_64": 5}
_SHOWN = 8


@dataclass(frozen=True, kw_only=True, slots=True)
class Site:
    """Where a file must fit: the base's Python, and its platform in uv's words."""

    python: str
    platform: str

    @property
    def words(self) -> str:
        """The place in words, for messages."""
        return f"`{one_line(self.platform)}` and Python {one_line(self.python)}"


def choose_file(pin: Pin, site: Site, *, may_be_yanked: bool, allow_sdist: bool) -> IndexFile:
    """The best wheel of a release for the base, or its sdist where that is allowed and no wheel fits.

    Raises RdlcError if there is none, saying which files there are.
    """
    usable = [file for file in pin.files if file.yanked is None or may_be_yanked]
    wheels = sorted(
        ((rank, file) for file in usable if (rank := _rank(pin, file.name, site))), key=lambda item: item[0]
    )
    if wheels:
        return wheels[0][1]
    sdists = sorted((file for file in usable if is_sdist_of(file.name, pin.name, pin.version)), key=lambda f: f.name)
    if sdists and allow_sdist:
        return sdists[-1]
    raise _no_file(pin, site, usable, has_sdist=bool(sdists))


def why_unfit(file: str, *, name: str, version: str, site: Site) -> str:
    """Why a file is not one of this package that the base could install; "" if it is."""
    if not file.endswith(".whl"):
        return "" if is_sdist_of(file, name, version) else f"is no source of `{one_line(name)} {one_line(version)}`"
    tags = _tags_of(file, name, version)
    if tags is None:
        return f"is no wheel of `{one_line(name)} {one_line(version)}`"
    return "" if any(tag in tags for tag in _ranks(site)) else f"does not fit {site.words}"


def is_usable(file: str, name: str, *, version: str, site: Site, allow_sdist: bool) -> bool:
    """Whether the base could install a file of this version, from source only where that is allowed."""
    is_wheel = file.endswith(".whl")
    return (is_wheel or allow_sdist) and not why_unfit(file, name=name, version=version, site=site)


def is_sdist_of(file: str, name: str, version: str) -> bool:
    """Whether a file name is that of the source of this version."""
    try:
        stated = parse_sdist_filename(file)
    except (InvalidSdistFilename, InvalidVersion):
        return False
    return stated == (canonicalize_name(name), _version(version))


def _rank(pin: Pin, file: str, site: Site) -> tuple[int, str, str] | None:
    """How well a wheel fits, the least for the best; None if it does not fit."""
    tags = _tags_of(file, pin.name, pin.version) if file.endswith(".whl") else None
    if tags is None:
        return None
    ranks = [rank for tag in tags if (rank := _ranks(site).get(tag)) is not None]
    return (min(ranks), _later_first(file), file) if ranks else None


def _later_first(file: str) -> str:
    """A key by which a higher build number comes first."""
    build = parse_wheel_filename(file)[2]
    return f"{10**12 - build[0]:013}" if build else "~"


def _tags_of(file: str, name: str, version: str) -> frozenset[Tag] | None:
    try:
        stated_name, stated_version, _, tags = parse_wheel_filename(file)
    except (InvalidWheelFilename, InvalidVersion):
        return None
    return tags if (stated_name, stated_version) == (canonicalize_name(name), _version(version)) else None


def _version(text: str) -> Version | None:
    try:
        return Version(text)
    except InvalidVersion:
        return None


@cache
def _ranks(site: Site) -> Mapping[Tag, int]:
    python, platform = _PYTHON.fullmatch(site.python), _PLATFORM.fullmatch(site.platform)
    if python is None or platform is None:
        return {}
    version = (3, int(python["minor"]))
    platforms = list(_platforms(platform["machine"], int(platform["minor"])))
    # The ABI is named here: otherwise it would be that of the Python which runs this.
    tags = [
        *cpython_tags(version, abis=[f"cp3{version[1]}"], platforms=platforms),
        *compatible_tags(version, interpreter=f"cp3{version[1]}", platforms=platforms),
    ]
    return {tag: rank for rank, tag in reversed(list(enumerate(tags)))}


def _platforms(machine: str, newest: int) -> Iterator[str]:
    for minor in range(newest, _OLDEST.get(machine, 17) - 1, -1):
        yield f"manylinux_2_{minor}_{machine}"
        if minor in _LEGACY:
            yield f"{_LEGACY[minor]}_{machine}"
    yield f"linux_{machine}"


def _no_file(pin: Pin, site: Site, usable: list[IndexFile], *, has_sdist: bool) -> RdlcError:
    subject = f"`{one_line(pin.name)} {one_line(pin.version)}`"
    yanked = sorted({file.yanked or "" for file in pin.files if file.yanked is not None})
    if yanked and not usable:
        reason = f": {one_line(yanked[-1])}" if yanked[-1] else ""
        hint = f"ask for that very version to take it all the same: `{pin.name}=={pin.version}`"
        return RdlcError(f"{subject} was yanked from the index{reason}", hint=hint)
    names = [one_line(file.name) for file in pin.files]
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    found = f"the index has {', '.join(f'`{name}`' for name in names[:_SHOWN])}{more}" if names else "it has no files"
    hint = (
        f"ask for another version, or let it be built from source on each node: `allow_sdist: [{pin.name}]`"
        if has_sdist
        else "ask for another version"
    )
    return RdlcError(f"{subject} has no wheel for {site.words}; {found}", hint=hint)
