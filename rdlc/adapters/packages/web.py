"""Asking a package index over HTTP: bounded, patient for a while, and careful about where credentials go.

Credentials come from `~/.netrc`, or with the machine's default index. Proxies and certificate
authorities are those of the environment.
"""

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit, urlunsplit

from rdlc.core.text import one_line
from rdlc.errors import OutsideError, RdlcError

if TYPE_CHECKING:
    import requests

PAGE_LIMIT_BYTES = 64 << 20
PAGE_LIMIT_S = 180.0

_TIMEOUTS_S = (20.0, 60.0)  # to connect, and between two pieces
_CHUNK_BYTES = 256 << 10
_REDIRECT_LIMIT = 5
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_RETRIED_STATUSES = (429, 500, 502, 503, 504)
_RETRIES = 2
_CONNECTIONS = 8


class NotThereError(RdlcError):
    """The index answers, and has no such page or file."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Page:
    """The body of an answer, what it says it is, and the address that it came from in the end."""

    url: str
    content_type: str
    data: bytes


class Web:
    """One client for any number of threads.

    `logins` maps an origin to its user name and password, `tokens` an origin to what it is shown instead.
    """

    def __init__(
        self, *, logins: Mapping[str, tuple[str, str]] | None = None, tokens: Mapping[str, str] | None = None
    ) -> None:
        self._logins = dict(logins or {})
        self._tokens = dict(tokens or {})
        self._lock = Lock()
        self._made: requests.Session | None = None

    def close(self) -> None:
        """Closes the connections that are kept open."""
        if self._made is not None:
            self._made.close()

    def read_page(self, url: str, *, accept: str, what: str) -> Page:
        """The whole answer; raises NotThereError for 404, OutsideError for all else but success."""
        deadline_s = time.monotonic() + PAGE_LIMIT_S
        with self._get(url, {"Accept": accept}, what) as response:
            data = bytearray()
            for chunk in response.iter_content(_CHUNK_BYTES):
                data += chunk
                if len(data) > PAGE_LIMIT_BYTES:
                    raise OutsideError(f"the {what} is larger than {PAGE_LIMIT_BYTES} bytes")
                if time.monotonic() > deadline_s:
                    raise OutsideError(f"the {what} takes longer than {PAGE_LIMIT_S:.0f} s to come")
            content_type = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
            return Page(url=response.url, content_type=content_type, data=bytes(data))

    @contextmanager
    def open_file(self, url: str, *, what: str) -> Iterator[Iterator[bytes]]:
        """The bytes of a file as they were stored, in pieces; raises as `read_page` does."""
        with self._get(url, {"Accept-Encoding": "identity"}, what) as response:
            # A server may call a `.tar.gz` gzip-encoded: what is hashed are the bytes before any decoding.
            yield response.raw.stream(_CHUNK_BYTES, decode_content=False)

    @property
    def _session(self) -> "requests.Session":
        """Made when something is asked for: what the cache holds needs no client."""
        with self._lock:
            if self._made is None:
                self._made = _new_session()
            return self._made

    @contextmanager
    def _get(self, url: str, headers: Mapping[str, str], what: str) -> "Iterator[requests.Response]":
        import requests  # 100 ms
        import urllib3

        try:
            with self._follow(url, headers, what) as response:
                _refuse(response, what)
                yield response
        except (requests.RequestException, urllib3.exceptions.HTTPError, OSError) as error:
            raise _unreachable(url, error, what) from error

    def _follow(self, url: str, headers: Mapping[str, str], what: str) -> "requests.Response":
        for _ in range(_REDIRECT_LIMIT + 1):
            response = self._session.get(
                url,
                headers=headers,
                auth=self._login(origin_of(url)),
                timeout=_TIMEOUTS_S,
                allow_redirects=False,
                stream=True,
            )
            if response.status_code not in _REDIRECTS:
                return response
            response.close()
            url = _redirected(url, response.headers.get("Location", ""), what)
        raise OutsideError(f"more than {_REDIRECT_LIMIT} redirects for the {what}")

    def _login(
        self, origin: str
    ) -> "tuple[str, str] | Callable[[requests.PreparedRequest], requests.PreparedRequest] | None":
        token = self._tokens.get(origin)
        if token is None:
            return self._logins.get(origin)

        def show(request: "requests.PreparedRequest") -> "requests.PreparedRequest":
            request.headers["Authorization"] = f"Bearer {token}"
            return request

        return show


def origin_of(url: str) -> str:
    """Scheme, host and port of an address, which credentials belong to."""
    parts = urlsplit(url)
    port = parts.port or {"https": 443, "http": 80}.get(parts.scheme, 0)
    return f"{parts.scheme}://{(parts.hostname or '').lower()}:{port}"


def join_url(base: str, reference: str) -> str | None:
    """The address that a page names, without user info and fragment; None for what is no http address."""
    try:
        parts = urlsplit(urljoin(base, reference))
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    if parts.scheme not in {"http", "https"} or not host or not reference.isascii() or not reference.isprintable():
        return None
    authority = f"[{host}]" if ":" in host else host
    return urlunsplit((parts.scheme, authority if port is None else f"{authority}:{port}", parts.path, parts.query, ""))


def host_of(url: str) -> str:
    """The host of an address, for messages and for `~/.netrc`."""
    return urlsplit(url).hostname or ""


def without_query(url: str) -> str:
    """The address as it may be shown: a query may hold a signature."""
    return one_line(url.partition("?")[0], limit=300)


def _new_session() -> "requests.Session":
    import requests
    from requests.adapters import HTTPAdapter
    from urllib3.util.retry import Retry

    class Session(requests.Session):
        def get_redirect_target(self, resp: requests.Response) -> None:
            """Nothing: requests would read the whole body of a redirect, however long, to go on from there."""

    session = Session()
    session.headers["User-Agent"] = "rdlc"
    # Behind the variables of requests itself, which overrule this.
    session.verify = os.environ.get("SSL_CERT_FILE") or os.environ.get("PIP_CERT") or True
    retry = Retry(
        total=_RETRIES,
        redirect=0,
        backoff_factor=0.5,
        status_forcelist=_RETRIED_STATUSES,
        respect_retry_after_header=False,
        raise_on_status=False,
    )
    for scheme in ("http://", "https://"):
        session.mount(scheme, HTTPAdapter(max_retries=retry, pool_connections=_CONNECTIONS, pool_maxsize=_CONNECTIONS))
    return session


def _redirected(url: str, location: str, what: str) -> str:
    target = join_url(url, location)
    if target is None:
        raise OutsideError(f"`{host_of(url)}` redirects the {what} to what is no http address")
    if url.startswith("https:") and not target.startswith("https:"):
        raise OutsideError(f"`{host_of(url)}` redirects from https to plain HTTP, `{without_query(target)}`")
    return target


def _refuse(response: "requests.Response", what: str) -> None:
    status, host = response.status_code, host_of(response.url)
    if status == 200:
        return
    if status in (404, 410):
        raise NotThereError(f"`{host}` has no {what}")
    if status in (401, 403):
        raise OutsideError(
            f"`{host}` does not give the {what}: status {status}",
            hint=f"put the user name and the password for `{host}` into `~/.netrc`",
        )
    raise OutsideError(f"`{host}` answers {status} for the {what}", hint="try again later")


def _unreachable(url: str, error: Exception, what: str) -> OutsideError:
    reason = one_line(str(error) or type(error).__name__, limit=200)
    if "CERTIFICATE_VERIFY_FAILED" in str(error):
        return OutsideError(
            f"the certificate of `{host_of(url)}` is not trusted: {reason}",
            hint="`SSL_CERT_FILE` names a file with further certificate authorities",
        )
    return OutsideError(
        f"`{host_of(url)}` does not give the {what}: {reason}",
        hint="check the name, the network and `HTTPS_PROXY`",
    )
