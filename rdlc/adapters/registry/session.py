"""Requests to one registry's API: where it listens, and with which authorization."""

import http.client
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from rdlc.adapters.registry.answers import refusal
from rdlc.adapters.registry.connections import Answer, Connections
from rdlc.adapters.registry.transport import Request, Transport
from rdlc.adapters.registry.url import Url, is_loopback, parse_url
from rdlc.core.image.oci_json import JSON_LIMIT_BYTES
from rdlc.core.image.reference import DEFAULT_REGISTRY, ImageReference

if TYPE_CHECKING:
    from rdlc.adapters.registry.authorization import Authorization

DOCKER_HUB_API = "registry-1.docker.io"

_TLS_WANTED = b"to an https server"


class Session:
    """Asks registries about repositories; safe to use from several threads.

    What opened a repository is kept; a token that has expired is answered by a new challenge. The
    search for credentials is prepared by the first challenge: loading it takes a tenth of a resolve.
    """

    def __init__(
        self,
        connections: Connections,
        transport: Transport,
        *,
        prepare_authorization: "Callable[[], Authorization]",
    ) -> None:
        self._connections = connections
        self._transport = transport
        self._prepare_authorization = prepare_authorization
        self._authorization: Authorization | None = None
        self._opened_by: dict[tuple[str, str], str] = {}
        self._lock = threading.Lock()
        self._bases: dict[str, Url] = {}

    def get(
        self,
        reference: ImageReference,
        path: str,
        *,
        what: str,
        headers: Mapping[str, str] | None = None,
        is_stream: bool = False,
        limit_bytes: int = JSON_LIMIT_BYTES,
    ) -> Answer:
        """The answer for a path below the repository; every refusal is raised, 416 is not one."""
        url = self.base(reference.registry).at(f"/v2/{reference.repository}/{path}")
        request = Request(url=url, what=what, headers=headers or {}, is_stream=is_stream, limit_bytes=limit_bytes)
        answer = self._authorized(request, reference)
        if answer.status not in (200, 206, 416):
            is_closed = answer.status in (401, 403)
            known_as = self._ask_for().known_as(reference.registry) if is_closed else None
            raise refusal(answer, what=what, registry=reference.registry, known_as=known_as)
        return answer

    def base(self, registry: str) -> Url:
        """Where the registry listens. One on loopback is asked once whether it speaks TLS."""
        with self._lock:
            base = self._bases.get(registry)
            if base is None:
                base = self._bases[registry] = self._find_base(registry)
            return base

    def _authorized(self, request: Request, reference: ImageReference) -> Answer:
        place = (reference.registry, reference.repository)
        answer = self._transport.send(_with_authorization(request, self._opened_by.get(place)))
        if answer.status == 401 and answer.url.origin == request.url.origin:
            value = self._ask_for().answer(answer, reference.registry)
            if value is not None:
                self._opened_by[place] = value
                answer = self._transport.send(_with_authorization(request, value))
        return answer

    def _ask_for(self) -> "Authorization":
        with self._lock:
            if self._authorization is None:
                self._authorization = self._prepare_authorization()
            return self._authorization

    def _find_base(self, registry: str) -> Url:
        host = DOCKER_HUB_API if registry == DEFAULT_REGISTRY else registry
        secure = parse_url(f"https://{host}/", sent_by=registry)
        plain = parse_url(f"http://{host}/", sent_by=registry)
        if registry in self._transport.plain_http:
            return plain
        if is_loopback(secure.host) and not self._speaks_tls(plain):
            return plain
        return secure

    def _speaks_tls(self, plain: Url) -> bool:
        """Whether plain HTTP gets no HTTP back, or Go's words for it; nothing secret is sent."""
        url = plain.at("/v2/")
        try:
            answer = self._connections.send(url, method="GET", headers={}, body=None)
            answer.read_all(limit_bytes=JSON_LIMIT_BYTES, what="greeting")
        except (ConnectionResetError, http.client.HTTPException):
            return True
        except OSError:
            return False  # nobody there: the request itself will say so
        return answer.status == 400 and _TLS_WANTED in answer.data.lower()


def _with_authorization(request: Request, value: str | None) -> Request:
    if value is None:
        return request
    return replace(request, headers={**request.headers, "Authorization": value})
