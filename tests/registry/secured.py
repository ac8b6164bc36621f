"""Registries that want credentials, over TLS, and one that keeps its blobs on another host.

They serve the storage of a plain registry, so that images are pushed there without credentials.
"""

import base64
import contextlib
import json
import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import bcrypt
import jwt
from cryptography.hazmat.primitives.serialization import Encoding

from tests.registry.authority import Authority, ServerCertificate, issue
from tests.registry.http_server import Asked, HttpServer, Reply, serving
from tests.registry.registries import registry

SERVICE = "registry of the tests"
ISSUER = "issuer of the tests"


@dataclass(frozen=True, kw_only=True, slots=True)
class Secured:
    """A registry's address, and the server beside it that saw tokens or blobs asked for."""

    address: str
    beside: HttpServer


@contextlib.contextmanager
def token_registry(
    folder: Path,
    authority: Authority,
    *,
    users: Mapping[str, str],
    private: tuple[str, ...] = (),
) -> Iterator[Secured]:
    """A TLS registry with bearer tokens; `private` repositories need one of the users."""
    certificate = issue(authority, folder)

    def answering(asked: Asked) -> Reply:
        return _token_reply(asked, certificate, users, private)

    with serving(answering, certificate=certificate) as tokens:
        auth = {
            "token": {
                "realm": f"https://localhost:{tokens.port}/token",
                "service": SERVICE,
                "issuer": ISSUER,
                "rootcertbundle": str(authority.file),
            }
        }
        with registry(folder, http=tls(certificate), auth=auth) as address:
            yield Secured(address=address, beside=tokens)


@contextlib.contextmanager
def basic_registry(
    folder: Path, authority: Authority, *, users: Mapping[str, str], names: tuple[str, ...] = ()
) -> Iterator[str]:
    """A TLS registry with Basic authentication, whose certificate is good for these host names."""
    certificate = issue(authority, folder, *names)
    auth = basic_auth(folder, users)
    with registry(folder, http=tls(certificate), auth=auth) as address:
        yield address


@contextlib.contextmanager
def redirecting_registry(folder: Path, authority: Authority, *, users: Mapping[str, str]) -> Iterator[Secured]:
    """A TLS registry with Basic authentication that keeps its blobs on another host."""
    certificate = issue(authority, folder)

    def answering(asked: Asked) -> Reply:
        path = folder / "storage" / urlsplit(asked.path).path.lstrip("/")
        return range_reply(path.read_bytes(), asked) if path.is_file() else Reply(status=404)

    with serving(answering, certificate=certificate) as storage:
        auth = basic_auth(folder, users)
        elsewhere = f"https://localhost:{storage.port}/"
        with registry(folder, http=tls(certificate), auth=auth, redirect_to=elsewhere) as address:
            yield Secured(address=address, beside=storage)


def basic_auth(folder: Path, users: Mapping[str, str]) -> dict[str, object]:
    """The registry's setting for these users and passwords."""
    lines = [
        f"{user}:{bcrypt.hashpw(password.encode()[:72], bcrypt.gensalt(4)).decode()}\n"
        for user, password in users.items()
    ]
    file = folder / f"htpasswd-{uuid.uuid4().hex}"
    file.write_text("".join(lines), encoding="utf-8")
    return {"htpasswd": {"realm": "basic of the tests", "path": str(file)}}


def tls(certificate: ServerCertificate) -> dict[str, object]:
    """The registry's setting for this certificate."""
    return {
        "tls": {
            "certificate": str(certificate.certificate_file),
            "key": str(certificate.key_file),
        }
    }


def range_reply(data: bytes, asked: Asked) -> Reply:
    """The data, or the piece of it that `Range` asks for."""
    wanted = asked.headers.get("range", "")
    if not wanted:
        return Reply(body=data)
    first, _, last = wanted.removeprefix("bytes=").partition("-")
    start, end = int(first), min(int(last or len(data)), len(data) - 1)
    if start > end:
        return Reply(status=416)
    headers = {"Content-Range": f"bytes {start}-{end}/{len(data)}"}
    return Reply(status=206, body=data[start : end + 1], headers=headers)


def write_docker_config(folder: Path, logins: Mapping[str, tuple[str, str]]) -> Path:
    """The file that `docker login` leaves; returns the folder for `DOCKER_CONFIG`."""
    auths = {
        host: {"auth": base64.b64encode(f"{user}:{password}".encode()).decode()}
        for host, (user, password) in logins.items()
    }
    (folder / "config.json").write_text(json.dumps({"auths": auths}), encoding="utf-8")
    return folder


def _token_reply(
    asked: Asked,
    certificate: ServerCertificate,
    users: Mapping[str, str],
    private: tuple[str, ...],
) -> Reply:
    query = parse_qs(urlsplit(asked.path).query)
    _, _, encoded = asked.headers.get("authorization", "").partition(" ")
    user, _, password = base64.b64decode(encoded).decode().partition(":")
    if user and users.get(user) != password:
        return Reply(status=401, body=b'{"errors": [{"message": "wrong password"}]}')
    if query.get("service") != [SERVICE]:
        return Reply(status=400)
    access: list[dict[str, object]] = []
    for scope in query.get("scope", []):
        kind, name, actions = scope.split(":")
        if actions == "pull" and (user or name not in private):
            access.append({"type": kind, "name": name, "actions": ["pull"]})
    token = _sign(certificate, user, access)
    return Reply(body=json.dumps({"token": token, "expires_in": 300}).encode())


def _sign(certificate: ServerCertificate, user: str, access: list[dict[str, object]]) -> str:
    now = int(time.time())
    claims = {
        "iss": ISSUER,
        "sub": user,
        "aud": SERVICE,
        "exp": now + 300,
        "nbf": now - 60,
        "iat": now,
        "jti": uuid.uuid4().hex,
        "access": access,
    }
    chain = base64.b64encode(certificate.certificate.public_bytes(Encoding.DER)).decode()
    return jwt.encode(claims, certificate.key, algorithm="ES256", headers={"x5c": [chain]})
