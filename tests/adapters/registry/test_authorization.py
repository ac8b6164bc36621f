"""Credentials against real registries: bearer tokens, Basic, helpers, and blobs elsewhere."""

import base64
import json
import stat
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from rdlc.adapters.registry.client import Registry
from rdlc.adapters.registry.pace import Pace
from rdlc.core.image.reference import parse_reference
from rdlc.errors import OutsideError
from tests.adapters.registry.conftest import PRIVATE, Client
from tests.adapters.registry.test_client import small_image
from tests.registry.faults import faulty_registry
from tests.registry.http_server import Asked, Reply
from tests.registry.push import push
from tests.registry.secured import Secured, write_docker_config

LogIn = Callable[[Mapping[str, tuple[str, str]]], Path]


@pytest.fixture
def log_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LogIn:
    """Writes what `docker login` would, for host to user and password; gives the file."""

    def write(logins: Mapping[str, tuple[str, str]]) -> Path:
        monkeypatch.setenv("DOCKER_CONFIG", str(write_docker_config(tmp_path, logins)))
        return tmp_path / "config.json"

    return write


def write_config(folder: Path, monkeypatch: pytest.MonkeyPatch, settings: Mapping[str, object]) -> None:
    (folder / "config.json").write_text(json.dumps(settings), encoding="utf-8")
    monkeypatch.setenv("DOCKER_CONFIG", str(folder))


def write_helper(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """A credential helper `docker-credential-tests` that is found first on PATH."""
    helper = folder / "docker-credential-tests"
    helper.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    helper.chmod(helper.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(folder), prepend=":")


def test_a_public_image_needs_no_login_and_one_token(plain: str, token: Secured, client: Client) -> None:
    built = push(plain, "public/ray", small_image("a"), "v1")
    before = len(token.beside.asked)
    reference = parse_reference(f"{token.address}/public/ray:v1")

    images = [client.registry.resolve(reference) for _ in range(2)]

    assert [image.digest for image in images] == [built, built]
    (asked,) = token.beside.asked[before:]
    assert asked.path == "/token?service=registry+of+the+tests&scope=repository%3Apublic%2Fray%3Apull"
    assert "authorization" not in asked.headers


def test_each_repository_gets_a_token_of_its_own(plain: str, token: Secured, client: Client) -> None:
    built = [push(plain, f"public/{name}", small_image(name), "v1") for name in ("one", "two")]

    images = [client.registry.resolve(parse_reference(f"{token.address}/public/{name}:v1")) for name in ("one", "two")]

    assert [image.digest for image in images] == built


def test_a_private_image_without_login_is_refused_with_the_next_step(
    plain: str, token: Secured, client: Client
) -> None:
    push(plain, PRIVATE, small_image("secret"), "v1")
    name = f"{token.address}/{PRIVATE}:v1"

    with pytest.raises(OutsideError) as caught:
        client.registry.resolve(parse_reference(name))

    assert caught.value.message == (
        f"`{token.address}` does not give the image `{name}` without credentials, if it has it at all: "
        '"authentication required"'
    )
    assert caught.value.hint == f"`docker login {token.address}`, or AWS credentials for a private ECR registry"
    assert caught.value.exit_code == 3


def test_a_private_image_opens_with_what_docker_login_left(
    plain: str, token: Secured, client: Client, log_in: LogIn
) -> None:
    built = push(plain, PRIVATE, small_image("secret"), "v1")
    log_in({token.address: ("user", "password")})

    assert client.registry.resolve(parse_reference(f"{token.address}/{PRIVATE}:v1")).digest == built


def test_an_outdated_login_does_not_close_a_public_image(
    plain: str, token: Secured, client: Client, log_in: LogIn
) -> None:
    built = push(plain, "public/ray", small_image("a"), "v1")
    file = log_in({token.address: ("user", "outdated")})

    image = client.registry.resolve(parse_reference(f"{token.address}/public/ray:v1"))

    assert image.digest == built
    assert client.warnings == [f"`{token.address}` refuses the credentials from `{file}`: going on without"]


def test_a_missing_helper_does_not_close_a_public_image(
    plain: str, token: Secured, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = push(plain, "public/ray", small_image("a"), "v1")
    write_config(tmp_path, monkeypatch, {"credsStore": "desktop.exe"})

    image = client.registry.resolve(parse_reference(f"{token.address}/public/ray:v1"))

    assert image.digest == built
    assert client.warnings == [
        "the credential helper `docker-credential-desktop.exe` is not installed: going on without it"
    ]


def test_a_helper_is_asked_for_the_registry(
    plain: str, token: Secured, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = push(plain, PRIVATE, small_image("secret"), "v1")
    write_config(tmp_path, monkeypatch, {"credHelpers": {token.address: "tests"}})
    secret = json.dumps({"Username": "user", "Secret": "password"})
    write_helper(tmp_path, monkeypatch, f'test "$1" = get && test "$(cat)" = {token.address} && echo \'{secret}\'')

    assert client.registry.resolve(parse_reference(f"{token.address}/{PRIVATE}:v1")).digest == built
    assert client.warnings == []


@pytest.mark.parametrize(
    ("script", "warnings"),
    [
        ("echo credentials not found in native keychain; exit 1", []),
        ("echo locked; exit 1", ["the credential helper `docker-credential-tests` failed: locked"]),
        ("echo '{}'", ["the credential helper `docker-credential-tests` gave no `Username` and `Secret`"]),
    ],
)
def test_a_helper_without_an_answer_is_told_unless_it_just_has_none(
    script: str,
    warnings: list[str],
    plain: str,
    token: Secured,
    client: Client,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    built = push(plain, "public/ray", small_image("a"), "v1")
    write_config(tmp_path, monkeypatch, {"credsStore": "tests"})
    write_helper(tmp_path, monkeypatch, f"cat >/dev/null; {script}")

    assert client.registry.resolve(parse_reference(f"{token.address}/public/ray:v1")).digest == built
    assert client.warnings == warnings


def test_blobs_on_another_host_are_read_without_the_credentials(
    plain: str, redirecting: Secured, client: Client, log_in: LogIn
) -> None:
    image = small_image("elsewhere")
    push(plain, "elsewhere/ray", image, "v1")
    log_in({redirecting.address: ("user", "password")})
    reference = parse_reference(f"{redirecting.address}/elsewhere/ray:v1")
    layer = image.blobs[1]

    resolved = client.registry.resolve(reference)
    with client.registry.open_blob(reference, digest=layer.digest, size=len(layer.data)) as stream:
        streamed = b"".join(stream)
    piece = client.registry.read_range(reference, digest=layer.digest, start=3, length=20)

    assert (resolved.digest, streamed, piece.data) == (image.digest, layer.data, layer.data[3:23])
    asked = redirecting.beside.asked
    assert len(asked) == 3
    assert [request.headers.get("authorization") for request in asked] == [None, None, None]
    assert asked[2].headers["range"] == "bytes=3-22"


def test_a_certificate_that_nobody_vouches_for_is_refused(plain: str, token: Secured) -> None:
    with Registry(warn=print, pace=Pace(attempts=1)) as registry, pytest.raises(OutsideError) as caught:
        registry.resolve(parse_reference(f"{token.address}/public/ray:v1"))

    assert caught.value.message.startswith(f"the certificate of `{token.address}` is not trusted: ")


def test_an_opaque_scope_goes_back_as_it_came_and_either_name_of_the_token_is_read(client: Client) -> None:
    image = small_image("opaque")

    def fault(asked: Asked, right: Reply) -> Reply:
        if asked.path.startswith("/token"):
            return Reply(body=b'{"access_token": "abc"}')
        if asked.headers.get("authorization") != "Bearer abc":
            challenge = f'Bearer realm="{server.url}/token/",service="public.ecr.aws",scope="aws"'
            return Reply(status=401, headers={"WWW-Authenticate": challenge})
        return right

    with faulty_registry("r", {"v1": image}, fault) as server:
        assert client.registry.resolve(parse_reference(f"{server.address}/r:v1")).digest == image.digest

    assert [asked.path for asked in server.asked if "token" in asked.path] == [
        "/token/?service=public.ecr.aws&scope=aws"
    ]


def test_an_identity_token_is_exchanged_and_never_redirected(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    image = small_image("identity")
    moved_to: list[str] = []

    def fault(asked: Asked, right: Reply) -> Reply:
        if asked.path == "/token":
            return Reply(status=307, headers={"Location": moved_to[0]}) if moved_to else Reply(body=b'{"token": "abc"}')
        if asked.headers.get("authorization") != "Bearer abc":
            return Reply(status=401, headers={"WWW-Authenticate": f'Bearer realm="{server.url}/token",scope="s"'})
        return right

    with faulty_registry("r", {"v1": image}, fault) as server:
        entry = {"auth": base64.b64encode(b"user:x").decode(), "identitytoken": "identity"}
        write_config(tmp_path, monkeypatch, {"auths": {server.address: entry}})
        assert client.registry.resolve(parse_reference(f"{server.address}/r:v1")).digest == image.digest
        posted = [asked for asked in server.asked if asked.method == "POST"]
        moved_to.append("https://elsewhere.example/token")
        with Registry(warn=print) as registry, pytest.raises(OutsideError) as caught:
            registry.resolve(parse_reference(f"{server.address}/r:v1"))

    assert [asked.body for asked in posted] == [
        b"scope=s&grant_type=refresh_token&client_id=rdlc&refresh_token=identity"
    ]
    assert caught.value.message == (
        f"`{server.address}` redirects to an address elsewhere, `https://elsewhere.example/token`, "
        f"for the access token of `{server.address}`"
    )


def test_credentials_are_not_shown_to_a_token_server_over_plain_http(client: Client) -> None:
    def fault(asked: Asked, right: Reply) -> Reply:
        return Reply(status=401, headers={"WWW-Authenticate": 'Bearer realm="http://tokens.example/t"'})

    with faulty_registry("r", {}, fault) as server, pytest.raises(OutsideError) as caught:
        client.registry.resolve(parse_reference(f"{server.address}/r:v1"))

    assert caught.value.message == (
        f"`{server.address}` sends for its token over plain HTTP, `http://tokens.example/t`, which is not allowed"
    )


def test_a_token_that_has_expired_is_replaced(client: Client) -> None:
    image = small_image("expiring")
    valid = ["first"]

    def fault(asked: Asked, right: Reply) -> Reply:
        if asked.path.startswith("/token"):
            return Reply(body=json.dumps({"token": valid[0]}).encode())
        if asked.headers.get("authorization") != f"Bearer {valid[0]}":
            return Reply(status=401, headers={"WWW-Authenticate": f'Bearer realm="{server.url}/token"'})
        return right

    with faulty_registry("r", {"v1": image}, fault) as server:
        reference = parse_reference(f"{server.address}/r:v1")
        client.registry.resolve(reference)
        valid[0] = "second"
        assert client.registry.resolve(reference).digest == image.digest
