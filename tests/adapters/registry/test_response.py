"""Heads of HTTP responses, beside what `http.client` makes of the same bytes."""

import contextlib
import http.client
import io
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdlc.adapters.registry.response import HEADER_LIMIT, INTERIM_LIMIT, LINE_LIMIT_BYTES, Response, read_headers

NAMES = st.from_regex(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,20}", fullmatch=True)
# Latin-1 without blanks and controls, which may stand inside a value but are cut off at its ends.
VALUES = st.text(st.sampled_from([chr(code) for code in (*range(0x21, 0x7F), *range(0xA1, 0x100))]), max_size=30)
# What of a response decides how its body is read and whether its connection can be used again.
State = tuple[int, int, str, bool, int | None, bool]


class OneAnswer:
    """A socket that gives these bytes and ends."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def makefile(self, mode: str) -> io.BufferedReader:
        return cast("io.BufferedReader", io.BytesIO(self._data))


def begin(kind: type[http.client.HTTPResponse], data: bytes) -> http.client.HTTPResponse:
    response = kind(cast("Any", OneAnswer(data)), method="GET")
    response.begin()
    return response


def state(response: http.client.HTTPResponse) -> State:
    return (
        response.version,
        response.status,
        response.reason,
        response.chunked,
        response.length,
        response.will_close,
    )


@pytest.mark.parametrize(
    "head",
    [
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n",
        "HTTP/1.1 200\r\ncontent-length:3\r\n",
        "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n",
        "HTTP/1.1 200 OK\r\n",
        "HTTP/1.1 204 No Content\r\n",
        "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n",
        "HTTP/1.0 200 OK\r\nContent-Length: 3\r\n",
        "HTTP/1.0 200 OK\r\nContent-Length: 3\r\nConnection: Keep-Alive\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -3\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: three\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n",
        "HTTP/1.1 100 Continue\r\nX: 1\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 3\r\n",
    ],
)
def test_a_head_is_read_as_http_client_reads_it(head: str) -> None:
    data = f"{head}\r\nabc".encode()

    ours, theirs = begin(Response, data), begin(http.client.HTTPResponse, data)

    assert state(ours) == state(theirs)
    assert ours.headers.items() == theirs.headers.items()


@pytest.mark.parametrize(
    "head", ["Content-Length: 3\r\n\r\nabc", "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"]
)
def test_the_body_is_read_by_what_the_head_says(head: str) -> None:
    assert begin(Response, f"HTTP/1.1 200 OK\r\n{head}".encode()).read() == b"abc"


@given(st.lists(st.tuples(NAMES, VALUES), max_size=HEADER_LIMIT))
def test_header_fields_are_those_that_http_client_reads(fields: list[tuple[str, str]]) -> None:
    data = "".join(f"{name}: {value}\r\n" for name, value in fields).encode("iso-8859-1") + b"\r\n"

    found = read_headers(io.BytesIO(data)).items()

    assert found == fields
    assert found == http.client.parse_headers(cast("io.BufferedReader", io.BytesIO(data))).items()


def test_a_field_that_comes_twice_and_one_that_is_folded_are_whole() -> None:
    headers = read_headers(io.BytesIO(b"WWW-Authenticate: Basic\r\nWWW-Authenticate: Bearer\r\n realm=x\r\n\r\n"))

    assert headers.get_all("www-authenticate") == ["Basic", "Bearer realm=x"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"<html>\r\n\r\n", "<html>\r\n"),
        (b"HTTP/1.1 99 Low\r\n\r\n", "HTTP/1.1 99 Low\r\n"),
        (b"HTTP/1.1 2000 High\r\n\r\n", "HTTP/1.1 2000 High\r\n"),
        (b"HTTP/2 200\r\n\r\n", "HTTP/2 200\r\n"),
        (b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n", "a header line without a name"),
        (b"HTTP/1.1 200 OK\r\n: value\r\n\r\n", "a header line without a name"),
        (b"HTTP/1.1 200 OK\r\n folded: first\r\n\r\n", "a header line without a name"),
        (b"HTTP/1.1 200 OK\r\n" + b"X: 1\r\n" * (HEADER_LIMIT + 1), f"more than {HEADER_LIMIT} header lines"),
        (b"HTTP/1.1 200 " + b"x" * LINE_LIMIT_BYTES, "a line of more than 64 KiB in the head"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * LINE_LIMIT_BYTES, "a line of more than 64 KiB in the head"),
        (b"HTTP/1.1 100 Continue\r\n\r\n" * 9, f"more than {INTERIM_LIMIT} interim answers"),
        (b"", "the other side closed the connection without an answer"),
    ],
)
def test_what_is_no_head_or_too_large_is_an_http_exception(data: bytes, message: str) -> None:
    with pytest.raises(http.client.HTTPException) as caught:
        begin(Response, data)

    assert str(caught.value) == message


@given(st.binary(max_size=200) | st.binary(max_size=100).map(lambda data: b"HTTP/1.1 200 OK\r\n" + data))
def test_no_bytes_raise_anything_else(data: bytes) -> None:
    with contextlib.suppress(http.client.HTTPException):
        begin(Response, data)
