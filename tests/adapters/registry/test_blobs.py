"""Blobs as streams and in pieces, from servers that do it wrong."""

from collections.abc import Callable

import pytest

from rdlc.core.image.reference import parse_reference
from rdlc.errors import OutsideError, RdlcError
from tests.adapters.registry.conftest import Client
from tests.adapters.registry.test_client import small_image
from tests.registry.faults import faulty_registry
from tests.registry.http_server import Asked, Reply

IMAGE = small_image("right")
LAYER = IMAGE.blobs[1]
GZIP = {"Content-Encoding": "gzip"}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda right: Reply(body=right.body, cut_to=10), "ends after 10 bytes"),
        (lambda right: Reply(body=right.body[:10]), "ends after 10 bytes"),
        (lambda right: Reply(body=right.body + b"x"), "goes on behind its stated size"),
        (lambda right: Reply(body=right.body[:-1] + b"x"), "has another content, "),
        (lambda right: Reply(body=b"x" * len(right.body), headers=GZIP), ", in the encoding `gzip`"),
    ],
    ids=["cut", "short", "long", "other", "encoded"],
)
def test_a_stream_does_not_end_well_unless_size_and_digest_are_right(
    change: Callable[[Reply], Reply], problem: str, client: Client
) -> None:
    def fault(asked: Asked, right: Reply) -> Reply:
        return change(right) if "/blobs/" in asked.path else right

    with faulty_registry("r", {"v1": IMAGE}, fault) as server:
        reference = parse_reference(f"{server.address}/r")
        with (
            client.registry.open_blob(reference, digest=LAYER.digest, size=len(LAYER.data)) as stream,
            pytest.raises(OutsideError) as caught,
        ):
            stream.finish()

    assert caught.value.message.startswith(f"the blob `{LAYER.digest}` of {len(LAYER.data)} bytes ")
    assert problem in caught.value.message


def test_a_server_that_ignores_range_is_told_apart_from_one_that_lies(client: Client) -> None:
    def answer(status: int, stated: str, body: bytes) -> RdlcError | bool:
        def fault(asked: Asked, right: Reply) -> Reply:
            return Reply(status=status, body=body, headers={"Content-Range": stated})

        with faulty_registry("r", {"v1": IMAGE}, fault) as server:
            reference = parse_reference(f"{server.address}/r")
            try:
                return client.registry.read_range(reference, digest=LAYER.digest, start=4, length=4).is_honoured
            except RdlcError as error:
                return error

    def message(status: int, stated: str, body: bytes) -> str:
        error = answer(status, stated, body)
        assert isinstance(error, OutsideError)
        return error.message

    other_range = f"the blob `{LAYER.digest}` came with another range than 4-7"
    assert answer(200, "", LAYER.data) is False
    assert answer(206, "bytes 4-7/100", b"1234") is True
    assert message(206, "bytes 0-3/100", b"1234") == other_range
    assert message(206, "bytes 4-8/100", b"12345") == other_range
    assert message(206, "", b"1234") == other_range
    assert message(206, "bytes 4-7/100", b"123") == f"the blob `{LAYER.digest}` has 3 bytes in a range of 4"
    assert message(206, "bytes 4-7/100", b"12345") == f"the blob `{LAYER.digest}` is larger than 4 bytes"
