"""Canonical JSON and the digests over it."""

import hashlib

import pytest

from rdlc.core.canonical import canonical_bytes, digest, listing_digest


def test_canonical_json_is_sorted_utf8_without_spaces() -> None:
    assert canonical_bytes({"b": [1, True, None], "a": "\u00e4\n"}) == '{"a":"\u00e4\\n","b":[1,true,null]}'.encode()


def test_the_digest_is_over_the_canonical_bytes() -> None:
    assert digest({"a": 1}) == "sha256:" + hashlib.sha256(b'{"a":1}').hexdigest()


@pytest.mark.parametrize("value", [1.0, {"a": [1.0]}, [float("nan")]])
def test_a_float_is_never_hashed(value: object) -> None:
    with pytest.raises(TypeError, match="a float has no place in hashed data"):
        canonical_bytes(value)  # type: ignore[arg-type]  # what the types forbid


def test_a_listing_is_sorted_by_the_bytes_of_its_paths() -> None:
    files = {"b": "1" * 64, "a/\u00e9": "2" * 64, "a/z": "3" * 64, "B": "4" * 64}
    listing = f"{'4' * 64}  B\n{'3' * 64}  a/z\n{'2' * 64}  a/\u00e9\n{'1' * 64}  b\n"

    assert listing_digest(files) == "sha256:" + hashlib.sha256(listing.encode()).hexdigest()
