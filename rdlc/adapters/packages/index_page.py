"""A project's page of the Simple API: JSON (PEP 691, 700) or HTML (PEP 503), as files.

Nothing in it is believed: what pip could not install is left out, addresses are http without user
info, digests are digests. https://packaging.python.org/en/latest/specifications/simple-repository-api/
"""

import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any
from urllib.parse import unquote, urlsplit

from packaging.utils import InvalidSdistFilename, InvalidWheelFilename, parse_sdist_filename, parse_wheel_filename
from packaging.version import InvalidVersion, Version

from rdlc.adapters.packages.web import Page, join_url
from rdlc.core.packages.resolution import IndexFile, Release
from rdlc.core.text import one_line
from rdlc.errors import OutsideError

ACCEPT = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.01"

_JSON_TYPES = frozenset({"application/vnd.pypi.simple.v1+json", "application/json"})
_HTML_TYPES = frozenset({"application/vnd.pypi.simple.v1+html", "text/html", "application/xhtml+xml"})
_SHA256 = re.compile(r"[0-9a-f]{64}")
_REASON_LIMIT = 300


@dataclass(frozen=True, kw_only=True, slots=True)
class _Link:
    """What a page says of one file, unchecked."""

    name: object
    url: object
    sha256: object = None
    size: object = None
    yanked: object = False


def read_releases(page: Page, *, name: str, what: str) -> tuple[Release, ...]:
    """The releases that the page of project `name` lists, the oldest first, files by name.

    Raises OutsideError if it is no page of the Simple API.
    """
    releases: dict[Version, dict[str, IndexFile]] = {}
    for link in _read_links(page, what):
        file = _checked(link, page.url)
        version = _version_of(file.name, name) if file else None
        if file and version:
            releases.setdefault(version, {}).setdefault(file.name, file)
    return tuple(
        Release(version=str(version), files=tuple(files[key] for key in sorted(files)))
        for version, files in sorted(releases.items())
    )


def read_files(page: Page, names: Collection[str], *, what: str) -> tuple[IndexFile, ...]:
    """What the page tells of the files with these names; much quicker than all its releases."""
    links = (link for link in _read_links(page, what) if isinstance(link.name, str) and link.name in names)
    return tuple(file for link in links if (file := _checked(link, page.url)))


def _read_links(page: Page, what: str) -> list[_Link]:
    if page.content_type in _JSON_TYPES:
        return _read_json(page, what)
    if page.content_type in _HTML_TYPES:
        return _read_html(page)
    raise OutsideError(f"the {what} is neither JSON nor HTML, but `{one_line(page.content_type)}`")


def _read_json(page: Page, what: str) -> list[_Link]:
    try:
        document = json.loads(page.data)
        files = document["files"]
        major = str(document.get("meta", {}).get("api-version", "1.0")).partition(".")[0]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise OutsideError(f"the {what} is no JSON of the Simple API") from error
    if major != "1":
        raise OutsideError(f"the {what} has version `{one_line(major)}` of the Simple API, and only 1 is known")
    if not isinstance(files, list):
        raise OutsideError(f"the {what} is no JSON of the Simple API")
    return [_json_link(file) for file in files if isinstance(file, dict)]


def _json_link(file: Mapping[str, Any]) -> _Link:
    hashes = file.get("hashes")
    return _Link(
        name=file.get("filename"),
        url=file.get("url"),
        sha256=hashes.get("sha256") if isinstance(hashes, dict) else None,
        size=file.get("size"),
        yanked=file.get("yanked", False),
    )


def _read_html(page: Page) -> list[_Link]:
    parser = _Anchors()
    parser.feed(page.data.decode("utf-8", "replace"))
    parser.close()
    base = join_url(page.url, parser.base) or page.url
    return [_html_link(attributes, base) for attributes in parser.anchors]


def _html_link(attributes: Mapping[str, str | None], base: str) -> _Link:
    url, _, fragment = (attributes.get("href") or "").partition("#")
    algorithm, _, value = fragment.partition("=")
    return _Link(
        name=unquote(urlsplit(join_url(base, url) or "").path.rpartition("/")[2]),
        url=join_url(base, url),
        sha256=value if algorithm == "sha256" else None,
        yanked=(attributes["data-yanked"] or "") if "data-yanked" in attributes else False,
    )


class _Anchors(HTMLParser):
    """Collects the attributes of every `a`, and the `base` of relative addresses."""

    def __init__(self) -> None:
        super().__init__()
        self.anchors: list[Mapping[str, str | None]] = []
        self.base = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keeps what is of use."""
        if tag == "a":
            self.anchors.append(dict(attrs))
        elif tag == "base" and not self.base:
            self.base = dict(attrs).get("href") or ""


def _checked(link: _Link, base: str) -> IndexFile | None:
    """The file in its types; None without a name or an address that could be used."""
    if not isinstance(link.name, str) or not isinstance(link.url, str) or not is_file_name(link.name):
        return None
    url = join_url(base, link.url)
    if url is None:
        return None
    is_digest = isinstance(link.sha256, str) and _SHA256.fullmatch(link.sha256)
    is_size = isinstance(link.size, int) and not isinstance(link.size, bool) and link.size > 0
    return IndexFile(
        name=link.name,
        url=url,
        size=link.size if is_size else None,  # type: ignore[arg-type]  # an int, as `is_size` says
        sha256=f"sha256:{link.sha256}" if is_digest else None,
        yanked=_reason(link.yanked),
    )


def _reason(yanked: object) -> str | None:
    """Why a file was yanked, "" without a reason; None if it was not."""
    if isinstance(yanked, str):
        return one_line(yanked, limit=_REASON_LIMIT)
    return "" if yanked else None


def is_file_name(name: str) -> bool:
    """Whether this is the plain name of a file, safe in a folder and on a terminal."""
    return bool(re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._+!-]{0,250}", name))


def _version_of(file: str, name: str) -> Version | None:
    """The version that a wheel's or sdist's name tells; None if it is none, or of another project."""
    try:
        found, version = parse_wheel_filename(file)[:2] if file.endswith(".whl") else parse_sdist_filename(file)
    except (InvalidWheelFilename, InvalidSdistFilename, InvalidVersion):
        return None
    return version if found == name else None


def merged(files: Iterable[IndexFile], known: Iterable[IndexFile]) -> tuple[IndexFile, ...]:
    """The files with what the index's own page knows beyond: sizes, digests, and whether they were yanked."""
    told = {file.name: file for file in known}
    return tuple(_completed(file, told.get(file.name)) for file in files)


def _completed(file: IndexFile, known: IndexFile | None) -> IndexFile:
    if known is None:
        return file
    return IndexFile(
        name=file.name,
        url=file.url,
        size=file.size if file.size is not None else known.size,
        sha256=file.sha256 or known.sha256,
        yanked=known.yanked,
    )
