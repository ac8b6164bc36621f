"""The package index that this machine's installers use when nobody names one.

uv's variables come first, then pip's, then pip's configuration files; with none of them the
installers have a default of their own, which is theirs to name.
"""

import configparser
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from rdlc.adapters.workspace.files import read_bounded
from rdlc.core.text import one_line
from rdlc.errors import InputError

_LIMIT_BYTES = 1 << 20
_VARIABLES = ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL")
# pip takes what is said for `pip install` before what is said for all its commands.
_SECTIONS = ("install", "global")


@dataclass(frozen=True, kw_only=True, slots=True)
class IndexAddress:
    """Where an index is, without user info; `login` is the user name and password that the address had."""

    url: str
    source: str
    login: tuple[str, str] | None = field(default=None, repr=False)

    @property
    def url_with_login(self) -> str:
        """The address as installers take it: for the environment of a process, never for a file or a message."""
        if self.login is None:
            return self.url
        user, password = (quote(part, safe="") for part in self.login)
        return self.url.replace("://", f"://{user}:{password}@", 1)


def default_index(environment: Mapping[str, str] | None = None) -> IndexAddress | None:
    """The index that this machine is set up for; None where it is the installers' own default.

    Raises InputError if what is set up is no http address, or pip's configuration is not readable.
    """
    values = os.environ if environment is None else environment
    for variable in _VARIABLES:
        if text := values.get(variable, "").strip():
            return index_address(text, source=f"`{variable}`")
    return _of_pip(values)


def index_address(text: str, *, source: str) -> IndexAddress:
    """The address in parts; raises InputError, without its user info, if it is no http address."""
    # uv also takes `NAME=URL`.
    name, equals, url = text.partition("=")
    text = url if equals and "/" not in name and ":" not in name else text
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise InputError(f"the index that {source} names is no address") from error
    if parts.scheme not in {"http", "https"} or not host or not text.isascii() or not text.isprintable():
        scheme = one_line(parts.scheme, limit=20)
        raise InputError(
            f"the index that {source} names is no http address: `{scheme}:...`" if scheme
            else f"the index that {source} names is no http address",
            hint="name one in the spec: `packages: {requires: [...], index: https://...}`",
        )  # fmt: skip
    authority = f"[{host}]" if ":" in host else host
    netloc = authority if port is None else f"{authority}:{port}"
    login = (unquote(parts.username), unquote(parts.password or "")) if parts.username else None
    plain = urlunsplit((parts.scheme, netloc, parts.path.rstrip("/"), parts.query, ""))
    return IndexAddress(url=plain, source=source, login=login)


def _of_pip(values: Mapping[str, str]) -> IndexAddress | None:
    found: dict[str, tuple[str, Path]] = {}
    for path in _configuration_files(values):
        for section, url in _index_urls(path):
            # The files come in the order in which pip lets them overrule each other.
            found[section] = (url, path)
    for section in _SECTIONS:
        if section in found:
            url, path = found[section]
            return index_address(url, source=f"`{path}`")
    return None


def _configuration_files(values: Mapping[str, str]) -> Iterator[Path]:
    """pip's configuration files that are there, the strongest last."""
    given = values.get("PIP_CONFIG_FILE", "")
    if given == os.devnull:
        return
    home = Path(values.get("HOME") or Path.home())
    below = values.get("XDG_CONFIG_DIRS") or "/etc/xdg"
    paths = [Path(folder) / "pip/pip.conf" for folder in reversed(below.split(os.pathsep)) if folder]
    paths += [
        Path("/etc/pip.conf"),
        home / ".pip/pip.conf",
        Path(values.get("XDG_CONFIG_HOME") or home / ".config") / "pip/pip.conf",
        Path(sys.prefix) / "pip.conf",
    ]
    paths += [Path(given)] if given else []
    yield from (path for path in paths if path.is_file())


def _index_urls(path: Path) -> Iterator[tuple[str, str]]:
    data = read_bounded(path, limit_bytes=_LIMIT_BYTES, what="pip's configuration")
    parser = configparser.RawConfigParser()
    try:
        parser.read_string(data.decode("utf-8"))
    except (configparser.Error, UnicodeDecodeError) as error:
        # The parser's own words would show the line, which may hold a password.
        raise InputError("pip's configuration is no file that pip could read", file=str(path)) from error
    for section in _SECTIONS:
        for key in ("index-url", "index_url"):
            if url := parser.get(section, key, fallback="").strip():
                yield section, url
