"""Locked files of the Hub, fetched by the node that needs them, where nobody could put them there before.

The address is `HF_ENDPOINT`'s, the token `HF_TOKEN`'s; it is shown to that address alone. What comes is
kept only if its sha256 is the locked one.
"""

import hashlib
import os
import time
import urllib.error
import urllib.request
from http.client import HTTPMessage
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

from fsdp_qwen.digest import file_digest
from fsdp_qwen.failures import TrainingFailed, one_line
from fsdp_qwen.locked_folder import LockedFolder

_HUB = "https://huggingface.co"
_CHUNK_BYTES = 1 << 20
_TIMEOUT_S = 60.0
_TRIES = 4


def fetch_folder(folder: LockedFolder) -> None:
    """Fetches each file of a folder with a source that is not there as locked; raises `TrainingFailed`."""
    if folder.source is None:
        return
    for name, locked in folder.files.items():
        path = folder.path / name
        if path.is_file() and file_digest(path) == locked:
            continue
        url = folder.source.url(os.environ.get("HF_ENDPOINT") or _HUB, name)
        _fetch(url, path, locked, field=folder.field)


def _fetch(url: str, path: Path, locked: str, *, field: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    for attempt in range(1, _TRIES + 1):
        try:
            found = _receive(url, partial)
            break
        except (urllib.error.URLError, OSError) as error:
            partial.unlink(missing_ok=True)
            if isinstance(error, urllib.error.HTTPError):
                error.close()
            if attempt == _TRIES or not _is_passing(error):
                raise TrainingFailed(f"{field}: `{url}` can't be fetched: {one_line(str(error))}", field) from error
            time.sleep(attempt)
    if found != locked:
        partial.unlink()
        raise TrainingFailed(f"{field}: `{url}` gives {found}, and {locked} is locked", field)
    partial.replace(path)


def _receive(url: str, path: Path) -> str:
    """Writes what comes; gives its sha256."""
    digest = hashlib.sha256()
    request = urllib.request.Request(url, headers={"User-Agent": "rdlc"})  # noqa: S310 - http by `_Redirects`
    token = os.environ.get("HF_TOKEN")
    if token:
        # Not among the headers that go on to where a redirect leads.
        request.add_unredirected_header("Authorization", f"Bearer {token}")
    opener = urllib.request.build_opener(_Redirects)
    with opener.open(request, timeout=_TIMEOUT_S) as answer, path.open("wb") as file:
        while chunk := answer.read(_CHUNK_BYTES):
            digest.update(chunk)
            file.write(chunk)
    return f"sha256:{digest.hexdigest()}"


def _is_passing(error: Exception) -> bool:
    """Whether the same might work in a moment."""
    return not isinstance(error, urllib.error.HTTPError) or error.code == 429 or error.code >= 500


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Goes on to http addresses only, and never from https to plain http."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        """The request to go on with."""
        before, after = urlsplit(req.full_url).scheme, urlsplit(newurl).scheme
        if after not in {"http", "https"} or (before == "https" and after == "http"):
            raise urllib.error.URLError(f"it redirects to a `{after}` address")
        return super().redirect_request(req, fp, code, msg, headers, newurl)
