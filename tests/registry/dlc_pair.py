"""A registry with a DLC-like image and its rebuild, and their output with stable names."""

import re
from collections.abc import Mapping

from tests.adapters.image_contents.dlc_like import FIRST_BUILD, NEXT_BUILD, dlc_like_image
from tests.registry.push import push

REPOSITORY = "deep-learning-containers/ray"
MOVING, FIXED = "train-ml-cuda-v1.1", "train-ml-cuda-v1.1.0"
FIRST, NEXT = dlc_like_image(FIRST_BUILD), dlc_like_image(NEXT_BUILD)


def push_first(address: str, *, has_soci: bool = False) -> None:
    """The first build, under its moving and its fixed tag."""
    push(address, REPOSITORY, FIRST.image, MOVING, FIXED)
    if has_soci:
        push(address, REPOSITORY, FIRST.soci, f"{MOVING}-soci", f"{FIXED}-soci")


def push_next(address: str, *, has_soci: bool = False) -> None:
    """The rebuild behind the moving tag."""
    push(address, REPOSITORY, NEXT.image, MOVING)
    if has_soci:
        push(address, REPOSITORY, NEXT.soci, f"{MOVING}-soci")


def with_names(text: str, address: str, digests: Mapping[str, str] | None = None) -> str:
    """The text with the registry's port, and digests that depend on this Python's zlib, replaced."""
    named = {FIRST.image.digest: "sha256:FIRST", NEXT.image.digest: "sha256:NEXT", **(digests or {})}
    for digest, name in named.items():
        text = text.replace(digest, name)
    return re.sub(re.escape(address), "registry.example", text)
