"""Canonical JSON and the digests over it."""

import hashlib
import json
from collections.abc import Mapping, Sequence

_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)

Json = None | bool | int | str | Sequence["Json"] | Mapping[str, "Json"]


def canonical_bytes(value: Json) -> bytes:
    """The one spelling of a value: UTF-8 JSON, sorted keys, no spaces, no floats."""
    _refuse_floats(value)
    return _ENCODER.encode(value).encode("utf-8")


def digest(value: Json) -> str:
    """`sha256:` and the 64 hex digits over the canonical bytes."""
    return digest_of_bytes(canonical_bytes(value))


def digest_of_bytes(data: bytes) -> str:
    """`sha256:` and the 64 hex digits over the bytes themselves."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def listing_digest(files: Mapping[str, str]) -> str:
    """The digest of a folder, from relative path to sha256 in hex.

    The listing has one line `<sha256>  <path>` for each file, sorted by the bytes of the path; it
    can be repeated with `find -type f -printf '%P\\n' | LC_ALL=C sort | xargs sha256sum | sha256sum`.
    """
    paths = sorted(files, key=lambda path: path.encode("utf-8"))
    listing = "".join(f"{files[path]}  {path}\n" for path in paths)
    return digest_of_bytes(listing.encode("utf-8"))


def _refuse_floats(value: object) -> None:
    if isinstance(value, float):
        raise TypeError(f"a float has no place in hashed data: {value!r}")
    if isinstance(value, Mapping):
        for item in value.values():
            _refuse_floats(item)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for item in value:
            _refuse_floats(item)
