"""Tag lists in pages."""

import json

import pytest

from rdlc.core.image.reference import parse_reference
from rdlc.errors import OutsideError
from tests.adapters.registry.conftest import Client
from tests.registry.faults import faulty_registry
from tests.registry.http_server import Asked, Reply


def page(tags: list[str], following: str | None) -> Reply:
    headers = {"Link": f'<{following}>; rel="next"'} if following else {}
    return Reply(body=json.dumps({"name": "r", "tags": tags}).encode(), headers=headers)


def test_tag_lists_are_read_page_by_page(client: Client) -> None:
    def fault(asked: Asked, right: Reply) -> Reply:
        if "last=b" in asked.path:
            return page(["a", "no tag!"], None)
        return page(["b", "c"], "/v2/r/tags/list?n=2&last=b")

    with faulty_registry("r", {}, fault) as server:
        assert client.registry.list_tags(parse_reference(f"{server.address}/r")) == ("a", "b", "c")


@pytest.mark.parametrize(
    ("following", "problem"),
    [
        ("/v2/r/tags/list", "does not end: 1 tags so far"),
        ("https://elsewhere.example/v2/r/tags/list", "goes on at `https://elsewhere.example/v2/r/tags/list`"),
        ("/v2/other/tags/list", "goes on at `http://REGISTRY/v2/other/tags/list`"),
    ],
)
def test_tag_lists_without_end_or_elsewhere_are_refused(following: str, problem: str, client: Client) -> None:
    with faulty_registry("r", {}, lambda asked, right: page(["a"], following)) as server:
        with pytest.raises(OutsideError) as caught:
            client.registry.list_tags(parse_reference(f"{server.address}/r"))
        message = caught.value.message.replace(server.address, "REGISTRY")

    assert message == f"the tag list of `REGISTRY/r` {problem}"
