"""Answering a registry's challenge: Basic, or a bearer token from the place that it names."""

import re
import urllib.parse
from collections.abc import Callable

from rdlc.adapters.registry.answers import refusal
from rdlc.adapters.registry.connections import Answer
from rdlc.adapters.registry.credentials import Credential, Credentials
from rdlc.adapters.registry.transport import Request, Transport
from rdlc.adapters.registry.url import check_plain, parse_url
from rdlc.core.image.oci_challenge import Challenge, parse_challenges
from rdlc.core.image.oci_json import JsonObject
from rdlc.core.text import one_line
from rdlc.errors import OutsideError

TOKEN_LIMIT_BYTES = 256 << 10

_TOKEN = re.compile(r"[!-~]+")


class Authorization:
    """Finds what opens a repository; safe to use from several threads."""

    def __init__(self, transport: Transport, credentials: Credentials, *, warn: Callable[[str], None]) -> None:
        self._warn = warn
        self._transport = transport
        self._credentials = credentials

    def known_as(self, registry: str) -> str | None:
        """Whose credentials are shown to this registry, for messages."""
        credential = self._credentials.find(registry)
        return credential.source if credential else None

    def answer(self, refused: Answer, registry: str) -> str | None:
        """An `Authorization` header for a request refused with 401; None if there is none."""
        challenges = parse_challenges(refused.headers("WWW-Authenticate"))
        credential = self._credentials.find(registry)
        for challenge in challenges:
            if challenge.scheme == "bearer":
                return self._bearer(challenge, registry, credential)
        for challenge in challenges:
            if challenge.scheme == "basic" and credential is not None and credential.username:
                return credential.basic
        return None

    def _bearer(self, challenge: Challenge, registry: str, credential: Credential | None) -> str:
        what = f"access token of `{registry}`"
        answer = self._transport.send(self._token_request(challenge, registry, credential, what))
        if answer.status in (400, 401, 403) and credential is not None:
            # An outdated login must not close what is open to everybody.
            self._warn(f"`{registry}` refuses the credentials from {credential.source}: going on without")
            credential = None
            answer = self._transport.send(self._token_request(challenge, registry, None, what))
        if answer.status != 200:
            known_as = credential.source if credential else None
            raise refusal(answer, what=what, registry=registry, known_as=known_as)
        fields = JsonObject.parse(answer.data, what=what)
        token = fields.text("token", default="") or fields.text("access_token", default="")
        if not _TOKEN.fullmatch(token):
            raise OutsideError(f"the {what} is missing, or no token, in the answer of its server")
        return f"Bearer {token}"

    def _token_request(self, challenge: Challenge, registry: str, credential: Credential | None, what: str) -> Request:
        realm = challenge.parameters.get("realm")
        if not realm:
            raise OutsideError(f"`{one_line(registry)}` asks for a token and does not say where from")
        url = parse_url(realm, sent_by=registry)
        check_plain(url, allowed=self._transport.plain_http, why=f"`{registry}` sends for its token")
        names = ("service", "scope")
        fields = {name: challenge.parameters[name] for name in names if name in challenge.parameters}
        if credential is not None and credential.identity_token:
            return _exchange(Request(url=url, what=what, headers={}), fields, credential)
        headers = {"Authorization": credential.basic} if credential is not None else {}
        question = urllib.parse.urlencode(fields)
        joined = f"{url}{'&' if '?' in url.target else '?'}{question}" if question else str(url)
        return Request(
            url=parse_url(joined, sent_by=registry),
            what=what,
            headers=headers,
            limit_bytes=TOKEN_LIMIT_BYTES,
        )


def _exchange(request: Request, fields: dict[str, str], credential: Credential) -> Request:
    """The OAuth form of the request, in which an identity token is the proof."""
    form = {
        **fields,
        "grant_type": "refresh_token",
        "client_id": "rdlc",
        "refresh_token": credential.identity_token,
    }
    return Request(
        url=request.url,
        what=request.what,
        headers={"Content-Type": "application/x-www-form-urlencoded"},
        method="POST",
        body=urllib.parse.urlencode(form).encode("ascii"),
        limit_bytes=TOKEN_LIMIT_BYTES,
    )
