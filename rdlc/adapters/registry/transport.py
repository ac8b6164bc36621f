"""One request to its end: waiting, asking again, following redirects."""

import http.client
import socket
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from rdlc.adapters.registry.answers import ERROR_LIMIT_BYTES, is_worth_another_try, throttled
from rdlc.adapters.registry.connections import Answer, Connections
from rdlc.adapters.registry.pace import Pace, Waiting
from rdlc.adapters.registry.url import Url, check_plain
from rdlc.core.image.oci_json import JSON_LIMIT_BYTES
from rdlc.core.text import one_line
from rdlc.errors import OutsideError

REDIRECT_LIMIT = 5

_SUCCESS = frozenset({200, 206})
_REDIRECTS = frozenset({301, 302, 303, 307, 308})


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """What is asked; `what` names it in messages, a stream is not read here."""

    url: Url
    what: str
    headers: Mapping[str, str]
    method: str = "GET"
    body: bytes | None = None
    is_stream: bool = False
    limit_bytes: int = JSON_LIMIT_BYTES


class Transport:
    """Sends requests; safe to use from several threads."""

    def __init__(self, connections: Connections, *, pace: Pace, plain_http: Collection[str]) -> None:
        self.plain_http = frozenset(plain_http)
        self._connections = connections
        self._pace = pace

    def send(self, request: Request) -> Answer:
        """The last answer, whatever its status, with the body in `data` unless it is a stream.

        Raises OutsideError if there is none, or if the server goes on saying `later`.
        """
        waiting = self._pace.start()
        while True:
            try:
                answer = self._follow(request)
            except (OSError, http.client.HTTPException, UnicodeError) as error:
                if _is_lasting(error) or not waiting.wait():
                    raise _unreachable(request.url, error, waiting) from error
                continue
            if not is_worth_another_try(answer):
                return answer
            if not waiting.wait(answer.header("Retry-After")):
                raise throttled(answer, waiting, what=request.what, registry=answer.url.authority)

    def _follow(self, request: Request) -> Answer:
        for _ in range(REDIRECT_LIMIT + 1):
            answer = self._ask(request)
            if answer.status not in _REDIRECTS:
                return answer
            target = answer.url.join(answer.header("Location"))
            if request.url.scheme == "https" and target.scheme == "http":
                raise OutsideError(
                    f"`{request.url.authority}` redirects from https to plain HTTP, `{target.without_query}`"
                )
            why = f"`{request.url.authority}` redirects to an address"
            check_plain(target, allowed=self.plain_http, why=why)
            if request.body is not None and target.origin != request.url.origin:
                raise OutsideError(f"{why} elsewhere, `{target.without_query}`, for the {request.what}")
            request = replace(request, url=target, headers=_headers_beyond(request, target))
        raise OutsideError(f"more than {REDIRECT_LIMIT} redirects for the {request.what}")

    def _ask(self, request: Request) -> Answer:
        headers = {"User-Agent": "rdlc", "Accept-Encoding": "identity", **request.headers}
        answer = self._connections.send(request.url, method=request.method, headers=headers, body=request.body)
        if answer.status not in _SUCCESS:
            _read_error(answer)
        elif not request.is_stream:
            answer.read_all(limit_bytes=request.limit_bytes, what=request.what)
        return answer


def _read_error(answer: Answer) -> None:
    """Keeps the start of the body, for the message; an endless one is left unread."""
    try:
        answer.read_all(limit_bytes=ERROR_LIMIT_BYTES, what="error message")
    except OutsideError:
        answer.data = b""


def _headers_beyond(request: Request, target: Url) -> Mapping[str, str]:
    """Credentials stay with their origin; storage also refuses a signed address that has both."""
    if target.origin == request.url.origin:
        return request.headers
    return {name: text for name, text in request.headers.items() if name != "Authorization"}


def _is_lasting(error: BaseException) -> bool:
    """Whether asking again a second later is of no use."""
    if isinstance(error, socket.gaierror):
        return error.errno != socket.EAI_AGAIN
    if isinstance(error, TimeoutError | http.client.HTTPException):
        return isinstance(error, http.client.InvalidURL)
    is_passing = isinstance(error, ConnectionError) and not isinstance(error, ConnectionRefusedError)
    return not is_passing


def _unreachable(url: Url, error: BaseException, waiting: Waiting) -> OutsideError:
    reason = one_line(str(error) or type(error).__name__)
    if "CERTIFICATE_VERIFY_FAILED" in reason:
        return OutsideError(
            f"the certificate of `{url.authority}` is not trusted: {reason}",
            hint="`SSL_CERT_FILE` names a file with further certificate authorities",
        )
    tries = f" in {waiting.attempts} attempts" if waiting.attempts > 1 else ""
    return OutsideError(
        f"`{url.authority}` does not answer{tries}: {reason}",
        hint="check the name, the network and `HTTPS_PROXY`",
    )
