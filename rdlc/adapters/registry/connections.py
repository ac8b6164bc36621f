"""Connections that are kept open between requests; one pool serves any number of threads."""

import http.client
import os
import socket
import threading
import zlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

from rdlc.adapters.registry.response import Response
from rdlc.adapters.registry.url import Url
from rdlc.core.text import one_line
from rdlc.errors import OutsideError

if TYPE_CHECKING:
    import ssl

Address = tuple[str, int]


class Connection(http.client.HTTPConnection):
    """A connection to one origin, over TLS if it has a context, perhaps through a proxy."""

    response_class = Response

    def __init__(self, address: Address, *, url: Url, context: "ssl.SSLContext | None", timeout_s: float) -> None:
        super().__init__(*address, timeout=timeout_s)
        self.origin = url.origin
        self.has_answered = False
        self.is_tunnelled = False
        self._server_name = url.host
        self._context = context

    def connect(self) -> None:
        """Opens the socket, and checks the certificate against the name that was asked for."""
        if self.is_tunnelled:
            super().connect()
        else:
            # A host of type `str` makes Python load its IDNA tables: 5 ms for names that are ASCII.
            address = (self.host.encode("ascii"), self.port)
            self.sock = socket.create_connection(address, self.timeout)  # type: ignore[arg-type]  # bytes will do
            self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self._context is not None:
            self.sock = self._context.wrap_socket(self.sock, server_hostname=self._server_name)


class Answer:
    """One response. Its connection is free again when the body was read or `close` called."""

    def __init__(
        self, pool: "Connections", connection: Connection, response: http.client.HTTPResponse, url: Url
    ) -> None:
        self.url = url
        self.status = response.status
        self.data = b""
        self._pool = pool
        self._connection = connection
        self._response = response
        self._is_open = True

    def header(self, name: str) -> str:
        """The header's value, or an empty text."""
        return self._response.headers.get(name) or ""

    def headers(self, name: str) -> list[str]:
        """Every value of a header that may come several times."""
        return self._response.headers.get_all(name) or []

    def read_all(self, *, limit_bytes: int, what: str) -> bytes:
        """The whole body, also kept in `data`; raises OutsideError beyond the limit."""
        stated = self._response.length
        too_long = OutsideError(f"the {what} is larger than {limit_bytes} bytes")
        if stated is not None and stated > limit_bytes:
            self.close()
            raise too_long
        data = self._response.read(limit_bytes + 1)
        if len(data) > limit_bytes:
            self.close()
            raise too_long
        if stated is not None and len(data) < stated:
            self.close()
            raise http.client.IncompleteRead(data, stated - len(data))
        self.close()
        self.data = _decoded(data, self.header("Content-Encoding"), limit_bytes, what)
        return self.data

    def read(self, size: int) -> bytes:
        """Up to that many bytes as they were sent; none at the end."""
        return self._response.read(size)

    def close(self) -> None:
        """Gives the connection back if the body was read to its end, and closes it otherwise."""
        if not self._is_open:
            return  # the connection may already serve another request
        self._is_open = False
        is_reusable = self._response.isclosed() or self._response.length == 0
        self._response.close()
        self._pool.give_back(self._connection, is_reusable=is_reusable)


class Connections:
    """The pool. `connect_to` sends an authority, such as `registry.example:443`, elsewhere."""

    def __init__(self, *, timeout_s: float, ca_file: str | None, connect_to: Mapping[str, Address]) -> None:
        self._timeout_s = timeout_s
        self._ca_file = ca_file
        self._connect_to = dict(connect_to)
        self._lock = threading.Lock()
        self._idle: dict[tuple[str, str, int], list[Connection]] = {}
        self._context: ssl.SSLContext | None = None

    def send(self, url: Url, *, method: str, headers: Mapping[str, str], body: bytes | None) -> Answer:
        """One request and the head of its response; OSError and HTTPException pass through.

        A kept connection that the other side has closed meanwhile is replaced without a word.
        """
        while True:
            connection = self._take(url)
            is_kept = connection.has_answered
            try:
                connection.request(method, url.target, body, {"Host": url.authority, **headers})
                response = connection.getresponse()
            except (ConnectionError, http.client.RemoteDisconnected):
                connection.close()
                if is_kept:
                    continue
                raise
            except BaseException:
                connection.close()
                raise
            connection.has_answered = True
            return Answer(self, connection, response, url)

    def give_back(self, connection: Connection, *, is_reusable: bool) -> None:
        """Keeps a connection for the next request, or closes it."""
        if not is_reusable or connection.sock is None:
            connection.close()
            return
        with self._lock:
            self._idle.setdefault(connection.origin, []).append(connection)

    def close(self) -> None:
        """Closes every idle connection; the pool can go on being used."""
        with self._lock:
            idle = [connection for kept in self._idle.values() for connection in kept]
            self._idle.clear()
        for connection in idle:
            connection.close()

    def _take(self, url: Url) -> Connection:
        with self._lock:
            idle = self._idle.get(url.origin)
            if idle:
                return idle.pop()
        context = self._tls() if url.scheme == "https" else None
        address = self._connect_to.get(f"{url.host}:{url.port}")
        proxy = None if address or context is None else _find_proxy(url)
        connection = Connection(
            address or proxy or (url.host, url.port),
            url=url,
            context=context,
            timeout_s=self._timeout_s,
        )
        if proxy:
            connection.set_tunnel(url.host, url.port)
            connection.is_tunnelled = True
        return connection

    def _tls(self) -> "ssl.SSLContext":
        with self._lock:
            if self._context is None:
                import ssl  # reading the system's certificates takes longer than a request

                self._context = ssl.create_default_context(cafile=self._ca_file)
            return self._context


def _find_proxy(url: Url) -> Address | None:
    from rdlc.adapters.registry.proxies import Proxies

    return Proxies.of(os.environ).find(url)


def _decoded(data: bytes, encoding: str, limit_bytes: int, what: str) -> bytes:
    """The body behind a `Content-Encoding` that was not asked for, within the same limit."""
    if encoding.lower() in ("", "identity"):
        return data
    if encoding.lower() not in ("gzip", "x-gzip"):
        raise OutsideError(f"the {what} came in the encoding `{one_line(encoding)}`, which nobody asked for")
    decoder = zlib.decompressobj(wbits=31)
    try:
        plain = decoder.decompress(data, limit_bytes + 1)
    except zlib.error as error:
        raise OutsideError(f"the {what} came in a broken gzip encoding") from error
    if len(plain) > limit_bytes or not decoder.eof:
        raise OutsideError(f"the {what} came cut, or larger than {limit_bytes} bytes, in gzip encoding")
    return plain
