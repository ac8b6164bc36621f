"""A registry in memory that serves what `images` built, and goes wrong where a test says so."""

import contextlib
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

from tests.registry.http_server import Asked, HttpServer, Reply, serving
from tests.registry.images import Blob, Image, Index
from tests.registry.secured import range_reply

Fault = Callable[[Asked, Reply], Reply]


@contextlib.contextmanager
def faulty_registry(
    repository: str, tags: dict[str, Image | Index], fault: Fault | None = None
) -> Iterator[HttpServer]:
    """The registry while it runs. `fault` makes the answer from the request and the right answer.

    Tags may be moved in the mapping while it runs. The greeting at `/v2/` is always right.
    """

    def answering(asked: Asked) -> Reply:
        path = urlsplit(asked.path).path
        if path == "/v2/":
            return Reply(body=b"{}")
        right = _answer(path.removeprefix(f"/v2/{repository}/"), tags, asked)
        return fault(asked, right) if fault else right

    with serving(answering) as server:
        yield server


def _answer(path: str, tags: dict[str, Image | Index], asked: Asked) -> Reply:
    kind, _, name = path.partition("/")
    manifests, blobs = _below(list(tags.values()))
    if kind == "blobs" and name in blobs:
        return range_reply(blobs[name].data, asked)
    manifest = tags[name].manifest if name in tags else manifests.get(name)
    if kind != "manifests" or manifest is None:
        body = b'{"errors": [{"code": "MANIFEST_UNKNOWN", "message": "manifest unknown"}]}'
        return Reply(status=404, body=body)
    return Reply(
        body=manifest.data,
        headers={"Content-Type": manifest.media_type, "Docker-Content-Digest": manifest.digest},
    )


def _below(pushed: "list[Image | Index]") -> tuple[dict[str, Blob], dict[str, Blob]]:
    manifests: dict[str, Blob] = {}
    blobs: dict[str, Blob] = {}
    left = list(pushed)
    while left:
        item = left.pop()
        manifests[item.digest] = item.manifest
        if isinstance(item, Index):
            left.extend(item.children)
        else:
            blobs.update({blob.digest: blob for blob in item.blobs})
    return manifests, blobs
