"""Addresses of requests, split once, and the rule for where plain HTTP may go."""

import re
import urllib.parse
from collections.abc import Collection
from dataclasses import dataclass

from rdlc.core.text import one_line
from rdlc.errors import OutsideError

_LOOPBACK = re.compile(r"localhost|127(\.[0-9]{1,3}){3}|::1")
_USER = re.compile(r"//[^/]*@")
_PORTS = {"http": 80, "https": 443}
# What may stand in a request line; anything else could add a header.
_TARGET = re.compile(r"/[!-~]*")


@dataclass(frozen=True, kw_only=True, slots=True)
class Url:
    """An http or https address; `target` is path and query."""

    scheme: str
    host: str
    port: int
    target: str

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.target}"

    @property
    def authority(self) -> str:
        """The host, and the port unless it is the scheme's own."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def origin(self) -> tuple[str, str, int]:
        """What credentials belong to."""
        return (self.scheme, self.host, self.port)

    @property
    def without_query(self) -> str:
        """For messages: a signed address carries its permission in the query."""
        return f"{self.scheme}://{self.authority}{self.target.partition('?')[0]}"

    def at(self, target: str) -> "Url":
        """Another path and query of the same origin, from parts that are known to be clean."""
        return Url(scheme=self.scheme, host=self.host, port=self.port, target=target)

    def join(self, location: str) -> "Url":
        """The address that a `Location` or `Link` of this one's answer points at."""
        return parse_url(urllib.parse.urljoin(str(self), location), sent_by=self.host)


def parse_url(text: str, *, sent_by: str) -> Url:
    """The address; raises OutsideError that says who sent it."""
    try:
        parts = urllib.parse.urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise _wrong(text, sent_by) from error
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    is_plain = parts.username is None and parts.password is None
    if parts.scheme not in _PORTS or not parts.hostname or not is_plain:
        raise _wrong(text, sent_by)
    if not _TARGET.fullmatch(target):
        raise _wrong(text, sent_by)
    port = _PORTS[parts.scheme] if port is None else port
    return Url(scheme=parts.scheme, host=parts.hostname, port=port, target=target)


def is_loopback(host: str) -> bool:
    """Whether nobody can listen in between here and there."""
    return _LOOPBACK.fullmatch(host) is not None


def check_plain(url: Url, *, allowed: Collection[str], why: str) -> None:
    """Refuses plain HTTP beyond loopback, unless that host was named; raises OutsideError."""
    if url.scheme == "https" or is_loopback(url.host):
        return
    if url.host not in allowed and url.authority not in allowed:
        raise OutsideError(f"{why} over plain HTTP, `{url.without_query}`, which is not allowed")


def _wrong(text: str, sent_by: str) -> OutsideError:
    shown = one_line(_USER.sub("//", text.partition("?")[0]))
    return OutsideError(f"`{sent_by}` points at an address that cannot be used: `{shown}`")
