"""Pushing what `images` built to a registry over plain HTTP."""

import http.client
from urllib.parse import quote, urlsplit

from tests.registry.images import Blob, Image, Index


def push(registry: str, repository: str, pushed: Image | Index, *tags: str) -> str:
    """Pushes it with all that is below it, and sets the tags; returns its digest.

    `registry` is `127.0.0.1:PORT`. Without a tag it can be had by digest only.
    """
    connection = http.client.HTTPConnection(registry, timeout=60)
    try:
        _push(connection, repository, pushed)
        for tag in tags:
            _put_manifest(connection, repository, pushed.manifest, tag)
    finally:
        connection.close()
    return pushed.digest


def push_blob(registry: str, repository: str, blob: Blob) -> None:
    """Uploads one blob in one piece, unless the repository has it."""
    connection = http.client.HTTPConnection(registry, timeout=60)
    try:
        _put_blob(connection, repository, blob)
    finally:
        connection.close()


def delete_manifest(registry: str, repository: str, digest: str) -> None:
    """Deletes a manifest, as garbage collection of an old build does; its tags go with it."""
    connection = http.client.HTTPConnection(registry, timeout=60)
    try:
        _ask(connection, "DELETE", f"/v2/{repository}/manifests/{digest}", wanted={202})
    finally:
        connection.close()


def _push(connection: http.client.HTTPConnection, repository: str, pushed: Image | Index) -> None:
    if isinstance(pushed, Index):
        for child in pushed.children:
            _push(connection, repository, child)
    else:
        for blob in pushed.blobs:
            _put_blob(connection, repository, blob)
    _put_manifest(connection, repository, pushed.manifest, pushed.digest)


def _put_blob(connection: http.client.HTTPConnection, repository: str, blob: Blob) -> None:
    path = f"/v2/{repository}/blobs/"
    status, _ = _ask(connection, "HEAD", path + blob.digest, wanted={200, 404})
    if status == 200:
        return
    _, headers = _ask(connection, "POST", f"{path}uploads/", wanted={202})
    place = urlsplit(headers["Location"])
    query = f"{place.query}&" if place.query else ""
    upload = f"{place.path}?{query}digest={quote(blob.digest)}"
    _ask(connection, "PUT", upload, blob.data, "application/octet-stream", wanted={201})


def _put_manifest(connection: http.client.HTTPConnection, repository: str, manifest: Blob, name: str) -> None:
    path = f"/v2/{repository}/manifests/{name}"
    _ask(connection, "PUT", path, manifest.data, manifest.media_type, wanted={201})


def _ask(
    connection: http.client.HTTPConnection,
    method: str,
    path: str,
    body: bytes = b"",
    media_type: str | None = None,
    *,
    wanted: set[int],
) -> tuple[int, dict[str, str]]:
    headers = {"Content-Type": media_type} if media_type else {}
    connection.request(method, path, body, headers)
    response = connection.getresponse()
    answer = response.read()
    assert response.status in wanted, f"{method} {path}: {response.status} {answer[:500]!r}"
    return response.status, dict(response.getheaders())
