"""The Hub of Hugging Face over HTTP: what a repository holds at a revision, and its files.

The address is that of `HF_ENDPOINT`, the token that of `HF_TOKEN` or of the file that a login leaves. The
token is shown to that address alone, and to no other that it sends us on to.
https://huggingface.co/docs/hub/api
"""

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from rdlc.adapters.hub.folder import FILES_LIMIT
from rdlc.adapters.packages.web import NotThereError, Web, join_url, origin_of
from rdlc.core.data.files import BYTES, STATED, LockedFile, LockedFiles
from rdlc.core.data.origin import MODEL, Origin, select_files
from rdlc.core.text import one_line
from rdlc.errors import InputError, OutsideError, RdlcError

# Larger files than this lie outside git, and then their sha256 is stated.
_SMALL_BYTES = 64 << 20
_COMMIT = re.compile(r"[0-9a-f]{40}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_TOKEN_LIMIT_BYTES = 4096


@dataclass(frozen=True, kw_only=True, slots=True)
class _Listed:
    """What the Hub says of one file; `sha256` is "" for one that lies in git."""

    size: int
    sha256: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Revision:
    """A commit of a repository, and the files in it."""

    commit: str
    files: Mapping[str, _Listed]


class Hub:
    """One Hub; close it at the end."""

    def __init__(self, *, endpoint: str, token: str | None) -> None:
        address = join_url(endpoint, "")
        if address is None:
            raise InputError(f"`HF_ENDPOINT` must be an http address, not `{one_line(endpoint)}`")
        self._endpoint = address.rstrip("/")
        self._web = Web(tokens={origin_of(self._endpoint): token} if token else {})
        self._has_token = token is not None

    def close(self) -> None:
        """Closes the connections that are kept open."""
        self._web.close()

    def find_revision(self, origin: Origin, *, what: str) -> Revision:
        """What the revision names now, and its files."""
        kind = "models" if what == MODEL else "datasets"
        url = f"{self._endpoint}/api/{kind}/{origin.place}/revision/{quote(origin.revision, safe='')}?blobs=true"
        asked = f"{what} `{origin.place}` at `{origin.revision}`"
        with self._explained(asked):
            page = self._web.read_page(url, accept="application/json", what=asked)
        return _read_revision(page.data, asked)

    def find_files(self, origin: Origin, *, what: str) -> LockedFiles:
        """The files that the origin asks for, each with its sha256; those that lie in git are read for it."""
        revision = self.find_revision(origin, what=what)
        names = select_files(list(revision.files), origin, what=what)
        files = {}
        is_read = True
        for name in names:
            listed = revision.files[name]
            if listed.sha256:
                files[name] = LockedFile(size=listed.size, sha256=f"sha256:{listed.sha256}")
                is_read = False
            else:
                files[name] = self._hash(origin, revision.commit, name, what=what)
        return LockedFiles(evidence=BYTES if is_read else STATED, files=files, commit=revision.commit)

    def find_missing(self, origin: Origin, locked: LockedFiles, *, what: str) -> tuple[str, ...]:
        """The locked files that the locked commit no longer gives; all of them if it is gone."""
        pinned = replace(origin, revision=locked.commit, files=())
        try:
            listed = self.find_revision(pinned, what=what).files
        except OutsideError:
            raise
        except RdlcError:
            return tuple(sorted(locked.files))
        missing = []
        for name, file in sorted(locked.files.items()):
            found = listed.get(name)
            stated = f"sha256:{found.sha256}" if found is not None and found.sha256 else file.sha256
            if found is None or stated != file.sha256:
                missing.append(name)
        return tuple(missing)

    @contextmanager
    def open_file(self, origin: Origin, commit: str, name: str, *, what: str) -> Iterator[Iterator[bytes]]:
        """The bytes of a file at a commit, in pieces."""
        prefix = "" if what == MODEL else "datasets/"
        url = f"{self._endpoint}/{prefix}{origin.place}/resolve/{commit}/{quote(name)}"
        asked = f"file `{one_line(name)}` of `{origin.place}`"
        with self._explained(asked), self._web.open_file(url, what=asked) as chunks:
            yield chunks

    def _hash(self, origin: Origin, commit: str, name: str, *, what: str) -> LockedFile:
        found, size = hashlib.sha256(), 0
        with self.open_file(origin, commit, name, what=what) as chunks:
            for chunk in chunks:
                size += len(chunk)
                if size > _SMALL_BYTES:
                    raise OutsideError(
                        f"`{one_line(name)}` of `{origin.place}` has no sha256 and is larger than 64 MiB"
                    )
                found.update(chunk)
        return LockedFile(size=size, sha256=f"sha256:{found.hexdigest()}")

    @contextmanager
    def _explained(self, asked: str) -> Iterator[None]:
        try:
            yield
        except NotThereError as error:
            raise RdlcError(f"the Hub has no {asked}", hint="check the name and the revision") from error
        except OutsideError as error:
            if "status 40" not in error.message:
                raise
            # The Hub says so of what is not there, too, to those who may not know.
            known = "the one that is set may not read it" if self._has_token else "none is set"
            hint = f"check the name; a private or gated one needs a token in `HF_TOKEN`, and {known}"
            raise OutsideError(f"the Hub does not give the {asked}", hint=hint) from error


def open_hub() -> Hub:
    """The Hub of this machine's environment."""
    return Hub(endpoint=os.environ.get("HF_ENDPOINT") or "https://huggingface.co", token=_read_token())


def _read_token() -> str | None:
    token = os.environ.get("HF_TOKEN")
    if token is None:
        home = Path(os.environ.get("HF_HOME") or Path("~/.cache/huggingface").expanduser())
        path = Path(os.environ.get("HF_TOKEN_PATH") or home / "token")
        try:
            with path.open("rb") as file:
                token = file.read(_TOKEN_LIMIT_BYTES).decode("ascii", "replace")
        except OSError:
            return None
    token = token.strip()
    if not token:
        return None
    if not token.isascii() or not token.isprintable():
        raise InputError("the token for the Hub holds characters that no token has", hint="set `HF_TOKEN` anew")
    return token


def _read_revision(data: bytes, asked: str) -> Revision:
    try:
        document: Any = json.loads(data)
        commit, siblings = document["sha"], document["siblings"]
        if not _COMMIT.fullmatch(commit) or len(siblings) > FILES_LIMIT:
            raise ValueError("no commit, or too many files")
        files = {name: listed for name, listed in map(_read_sibling, siblings) if _is_plain(name)}
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise OutsideError(f"the answer of the Hub for the {asked} is not of the form that is known") from error
    return Revision(commit=commit, files=files)


def _read_sibling(sibling: Any) -> tuple[str, _Listed]:
    name, size, lfs = sibling["rfilename"], sibling.get("size"), sibling.get("lfs")
    if not isinstance(name, str):
        raise TypeError("a file without a name")
    sha256 = lfs.get("sha256", "") if isinstance(lfs, dict) else ""
    if sha256 and not _SHA256.fullmatch(sha256):
        raise ValueError("no sha256")
    if sha256 and (not isinstance(size, int) or isinstance(size, bool) or size < 0):
        size = lfs["size"]
    if not isinstance(size, int):
        size = 0
    return name, _Listed(size=size, sha256=sha256)


def _is_plain(name: str) -> bool:
    """Whether this is a path below a folder, safe to write and to show; others are left where they are."""
    parts = name.split("/")
    return name.isprintable() and "\\" not in name and not any(part in {"", ".", ".."} for part in parts)
