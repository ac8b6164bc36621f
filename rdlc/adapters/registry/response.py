"""The head of an HTTP response, read within bounds.

`http.client` parses headers with the parser for e-mail, which takes a third of the time of a resolve.
See RFC 9112 for what is read here; the rest of the response stays with `http.client`.
"""

import http.client
import re
from http import HTTPStatus
from typing import BinaryIO

LINE_LIMIT_BYTES = 64 << 10
HEADER_LIMIT = 100
# Interim answers, such as `100 Continue`, before the one that counts.
INTERIM_LIMIT = 8

_STATUS_LINE = re.compile(rb"(HTTP/[0-9]\.[0-9])[ \t]+([1-9][0-9]{2})(?:[ \t]+(.*?))?[ \t]*\r?\n?", re.DOTALL)
_WITHOUT_BODY = (HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED)


class Response(http.client.HTTPResponse):
    """A response to GET or POST."""

    _is_begun = False

    def begin(self) -> None:
        """Reads the head up to the body, once; raises HTTPException if it is none, or beyond the bounds."""
        if self._is_begun:
            return
        self._is_begun = True
        self.version, self.status, self.reason = _read_status(self.fp)
        self.code = self.status
        self.headers = self.msg = read_headers(self.fp)
        self.chunked = (self.headers.get("Transfer-Encoding") or "").lower() == "chunked"
        self.chunk_left = None
        self.length = None if self.chunked else _stated_length(self.headers)
        if self.status in _WITHOUT_BODY:
            self.length = 0
        has_end = self.chunked or self.length is not None
        self.will_close = not has_end or not _stays_open(self.version, self.headers)


def read_headers(file: BinaryIO) -> http.client.HTTPMessage:
    """The header fields up to the empty line; raises HTTPException for one that is none."""
    message = http.client.HTTPMessage()
    name = ""
    values: list[str] = []
    for _ in range(HEADER_LIMIT + 1):
        line = _read_line(file)
        text = line.decode("iso-8859-1")
        is_continued = text[:1] in (" ", "\t") and name != ""
        if name and not is_continued:
            message.set_raw(name, " ".join(values))
        if line in (b"\r\n", b"\n", b""):
            return message
        if is_continued:
            values.append(text.strip())
            continue
        name, colon, value = text.partition(":")
        if not colon or not name or name[0].isspace():
            raise http.client.HTTPException("a header line without a name")
        name, values = name.rstrip(), [value.strip()]
    raise http.client.HTTPException(f"more than {HEADER_LIMIT} header lines")


def _read_status(file: BinaryIO) -> tuple[int, int, str]:
    """Version (10 or 11), status and reason of the first answer that is not an interim one."""
    for _ in range(INTERIM_LIMIT + 1):
        line = _read_line(file)
        if not line:
            raise http.client.RemoteDisconnected("the other side closed the connection without an answer")
        match = _STATUS_LINE.fullmatch(line)
        if match is None:
            raise http.client.BadStatusLine(line.decode("iso-8859-1"))
        status = int(match[2])
        if status >= HTTPStatus.OK:
            version = 10 if match[1] in (b"HTTP/1.0", b"HTTP/0.9") else 11
            return version, status, (match[3] or b"").decode("iso-8859-1")
        read_headers(file)
    raise http.client.HTTPException(f"more than {INTERIM_LIMIT} interim answers")


def _read_line(file: BinaryIO) -> bytes:
    line = file.readline(LINE_LIMIT_BYTES + 1)
    if len(line) > LINE_LIMIT_BYTES:
        raise http.client.HTTPException(f"a line of more than {LINE_LIMIT_BYTES >> 10} KiB in the head")
    return line


def _stated_length(headers: http.client.HTTPMessage) -> int | None:
    text = (headers.get("Content-Length") or "").strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else None


def _stays_open(version: int, headers: http.client.HTTPMessage) -> bool:
    connection = (headers.get("Connection") or "").lower()
    return "close" not in connection if version == 11 else "keep-alive" in connection
