"""Registries that go wrong: what is mended, what is refused, and with which words."""

import gzip
import json

import pytest

from rdlc.adapters.registry.answers import ImageNotFoundError
from rdlc.adapters.registry.client import Registry
from rdlc.adapters.registry.pace import Pace
from rdlc.core.image.reference import parse_reference
from rdlc.errors import OutsideError, RdlcError
from tests.adapters.registry.conftest import Client
from tests.adapters.registry.test_client import small_image
from tests.registry.faults import Fault, faulty_registry
from tests.registry.http_server import Asked, Reply
from tests.registry.images import Image, Index, build_index, to_json
from tests.registry.processes import free_port

IMAGE = small_image("right")
OTHER = small_image("other")
ZEROS = "sha256:" + "0" * 64


def is_manifest(asked: Asked) -> bool:
    return "/manifests/" in asked.path


def with_headers(right: Reply, **headers: str) -> Reply:
    changed = {**right.headers, **{name.replace("_", "-"): text for name, text in headers.items()}}
    return Reply(status=right.status, body=right.body, headers=changed)


def resolve(client: Client, fault: Fault | None, *, rest: str = ":v1") -> str:
    """The digest that a resolve gives; errors have `REGISTRY` for the address."""
    with faulty_registry("r", {"v1": IMAGE}, fault) as server:
        try:
            return client.registry.resolve(parse_reference(f"{server.address}/r{rest}")).digest
        except RdlcError as error:
            error.message = error.message.replace(server.address, "REGISTRY")
            raise


def test_a_manifest_without_digest_header_has_the_digest_of_its_bytes(client: Client) -> None:
    def fault(asked: Asked, right: Reply) -> Reply:
        kept = {name: text for name, text in right.headers.items() if name != "Docker-Content-Digest"}
        return Reply(status=right.status, body=right.body, headers=kept)

    assert resolve(client, fault) == IMAGE.digest


def test_a_wrong_digest_header_is_refused(client: Client) -> None:
    with pytest.raises(OutsideError) as caught:
        resolve(client, lambda asked, right: with_headers(right, Docker_Content_Digest=ZEROS))

    assert caught.value.message == (
        f"the image `REGISTRY/r:v1` of digest `{ZEROS}` has another content, {IMAGE.digest}"
    )


def test_a_body_that_came_compressed_has_the_digest_of_what_was_meant(client: Client) -> None:
    def fault(asked: Asked, right: Reply) -> Reply:
        assert asked.headers["accept-encoding"] == "identity"
        packed = gzip.compress(right.body, mtime=0)
        return with_headers(Reply(body=packed, headers=right.headers), Content_Encoding="gzip")

    assert resolve(client, fault) == IMAGE.digest


@pytest.mark.parametrize(
    ("encoding", "body", "problem"),
    [
        ("br", b"x", "came in the encoding `br`, which nobody asked for"),
        ("gzip", b"no gzip at all", "came in a broken gzip encoding"),
        ("gzip", gzip.compress(b"1" * 100, mtime=0)[:-8], "came cut, or larger than 4194304 bytes, in gzip encoding"),
        ("gzip", gzip.compress(bytes(5 << 20), mtime=0), "came cut, or larger than 4194304 bytes, in gzip encoding"),
    ],
)
def test_an_encoding_that_cannot_be_undone_is_refused(encoding: str, body: bytes, problem: str, client: Client) -> None:
    with pytest.raises(OutsideError) as caught:
        resolve(client, lambda asked, right: Reply(body=body, headers={"Content-Encoding": encoding}))

    assert caught.value.message == f"the image `REGISTRY/r:v1` {problem}"


@pytest.mark.parametrize("status", [429, 502, 503, 504])
@pytest.mark.parametrize(
    ("after", "waits_s"), [("7", [7.0]), ("Thu, 01 Jan 1970 00:00:09 GMT", [9.0]), ("soon", [0.5]), ("", [0.5])]
)
def test_a_busy_registry_is_asked_again_when_it_says(
    status: int, after: str, waits_s: list[float], client: Client
) -> None:
    busy = [Reply(status=status, headers={"Retry-After": after} if after else {})]

    digest = resolve(client, lambda asked, right: busy.pop() if busy else right)

    assert (digest, client.waits_s) == (IMAGE.digest, waits_s)


def test_a_registry_that_is_busy_for_ever_is_given_up(client: Client) -> None:
    with pytest.raises(OutsideError) as caught:
        resolve(client, lambda asked, right: Reply(status=429, headers={"Retry-After": "3"}))

    assert (caught.value.message, caught.value.exit_code) == (
        "`REGISTRY` answers too many requests for the image `REGISTRY/r:v1` after 5 requests, and asks to wait `3`",
        3,
    )
    assert client.waits_s == [3.0, 3.0, 3.0, 3.0]


def test_a_wait_beyond_patience_is_not_begun(client: Client) -> None:
    with pytest.raises(OutsideError, match=r"after 1 request, and asks to wait `3600`$"):
        resolve(client, lambda asked, right: Reply(status=503, headers={"Retry-After": "3600"}))

    assert client.waits_s == []


def test_a_used_up_quota_is_not_asked_again(client: Client) -> None:
    body = json.dumps({"errors": [{"code": "TOOMANYREQUESTS", "message": "Data limit exceeded"}]}).encode()

    with pytest.raises(OutsideError) as caught:
        resolve(client, lambda asked, right: Reply(status=429, body=body))

    assert caught.value.message == ('`REGISTRY` gives no more data to this address this month: "Data limit exceeded"')
    assert client.waits_s == []


@pytest.mark.parametrize(("status", "kind"), [(401, OutsideError), (403, OutsideError), (404, ImageNotFoundError)])
def test_a_refusal_is_not_asked_again(status: int, kind: type[RdlcError], client: Client) -> None:
    count = []

    def fault(asked: Asked, right: Reply) -> Reply:
        count.append(asked.path)
        return Reply(status=status)

    with pytest.raises(kind):
        resolve(client, fault)

    assert (count, client.waits_s) == (["/v2/r/manifests/v1"], [])


def test_head_is_never_needed(client: Client) -> None:
    methods = set()

    def fault(asked: Asked, right: Reply) -> Reply:
        methods.add(asked.method)
        return right if asked.method == "GET" else Reply(status=405)

    assert resolve(client, fault, rest=f":v1@{IMAGE.digest}") == IMAGE.digest
    assert methods == {"GET"}


def test_a_login_page_is_refused_with_its_start(client: Client) -> None:
    page = Reply(body=b"<html><title>Sign in</title>", headers={"Content-Type": "text/html"})

    with pytest.raises(OutsideError) as caught:
        resolve(client, lambda asked, right: page)

    assert caught.value.message == (
        "the image `REGISTRY/r:v1` is not JSON, it starts with `<html><title>Sign in</title>`"
    )
    assert caught.value.hint == "a proxy or a login page may answer instead of the registry"


def test_a_tag_that_moves_between_two_requests_gives_the_image_that_it_named_first(client: Client) -> None:
    tags: dict[str, Image | Index] = {"v1": build_index([IMAGE]), "kept": build_index([IMAGE])}

    def fault(asked: Asked, right: Reply) -> Reply:
        tags["v1"] = OTHER
        return right

    with faulty_registry("r", tags, fault) as server:
        first = client.registry.resolve(parse_reference(f"{server.address}/r:v1"))
        second = client.registry.resolve(parse_reference(f"{server.address}/r:v1"))

    assert (first.digest, first.manifest_digest) == (build_index([IMAGE]).digest, IMAGE.digest)
    assert second.digest == OTHER.digest


@pytest.mark.parametrize("kind", ["manifests", "blobs"])
def test_other_bytes_than_the_digest_asked_for_are_refused(kind: str, client: Client) -> None:
    def fault(asked: Asked, right: Reply) -> Reply:
        wrong = right.body.replace(b"2", b"3")
        return Reply(body=wrong, headers=right.headers) if f"/{kind}/" in asked.path else right

    with pytest.raises(OutsideError, match=r" has another content, sha256:[0-9a-f]{64}$") as caught:
        resolve(client, fault, rest=f"@{IMAGE.digest}")

    assert caught.value.hint == "something between here and the registry changes what it sends"


def test_a_body_that_breaks_off_is_asked_for_again(client: Client) -> None:
    cuts = [5, 0]

    def fault(asked: Asked, right: Reply) -> Reply:
        return Reply(body=right.body, headers=right.headers, cut_to=cuts.pop()) if cuts else right

    assert resolve(client, fault) == IMAGE.digest
    assert len(client.waits_s) == 2


def test_a_registry_that_always_breaks_off_is_given_up(client: Client) -> None:
    with pytest.raises(OutsideError) as caught:
        resolve(client, lambda asked, right: Reply(body=right.body, cut_to=5))

    assert caught.value.message == (
        "`REGISTRY` does not answer in 5 attempts: IncompleteRead(5 bytes read, "
        f"{len(IMAGE.manifest.data) - 5} more expected)"
    )
    assert client.waits_s == [0.5, 1.0, 2.0, 4.0]


@pytest.mark.parametrize("length", [{}, {"Content-Length": str(1 << 50)}])
def test_an_oversized_manifest_is_refused(length: dict[str, str], client: Client) -> None:
    with pytest.raises(OutsideError) as caught:
        resolve(client, lambda asked, right: Reply(body=bytes((4 << 20) + 1), headers=length))

    assert caught.value.message == "the image `REGISTRY/r:v1` is larger than 4194304 bytes"


def test_schema_1_is_refused(client: Client) -> None:
    with pytest.raises(RdlcError, match=r"has the old format `schema 1`, which does not pin what would run$"):
        resolve(client, lambda asked, right: Reply(body=to_json({"schemaVersion": 1, "name": "r"})))


@pytest.mark.parametrize(
    ("location", "problem"),
    [
        (
            "http://elsewhere.example/x",
            "redirects to an address over plain HTTP, `http://elsewhere.example/x`, which is not allowed",
        ),
        ("ftp://elsewhere.example/x", "points at an address that cannot be used: `ftp://elsewhere.example/x`"),
        (
            "https://user:word@elsewhere.example/x",
            "points at an address that cannot be used: `https://elsewhere.example/x`",
        ),
    ],
)
def test_a_redirect_to_where_nobody_should_go_is_refused(location: str, problem: str, client: Client) -> None:
    with pytest.raises(OutsideError) as caught:
        resolve(client, lambda asked, right: Reply(status=307, headers={"Location": location}))

    assert caught.value.message in {f"`REGISTRY` {problem}", f"`127.0.0.1` {problem}"}


def test_redirects_in_a_circle_come_to_an_end(client: Client) -> None:
    with pytest.raises(OutsideError) as caught:
        resolve(client, lambda asked, right: Reply(status=302, headers={"Location": asked.path}))

    assert caught.value.message == "more than 5 redirects for the image `REGISTRY/r:v1`"


def test_a_registry_that_is_down_is_told_at_once(client: Client) -> None:
    port = free_port()

    with pytest.raises(OutsideError) as caught:
        client.registry.resolve(parse_reference(f"127.0.0.1:{port}/r:v1"))

    assert (caught.value.message, caught.value.exit_code, client.waits_s) == (
        f"`127.0.0.1:{port}` does not answer: [Errno 111] Connection refused",
        3,
        [],
    )


def test_a_connection_closed_by_the_registry_is_replaced_without_waiting(client: Client) -> None:
    def closing(asked: Asked, right: Reply) -> Reply:
        return Reply(status=right.status, body=right.body, headers=right.headers, cut_to=len(right.body))

    assert resolve(client, closing) == IMAGE.digest
    assert client.waits_s == []


def test_a_name_that_no_host_can_have_is_an_outside_error() -> None:
    with Registry(warn=print, pace=Pace(attempts=1)) as registry, pytest.raises(OutsideError):
        registry.resolve(parse_reference(f"{'a' * 70}.example/r:v1"))
