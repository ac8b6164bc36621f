"""Which image a container really runs: kubelet's image id, held against the digests of the lock."""

import re
from collections.abc import Mapping

from rdlc.core.text import one_line

NOT_MEASURED = "not measured"
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


def digest_of(reference: str) -> str:
    """The digest in an image reference or image id, whatever its registry; "" where it has none."""
    _, at, digest = reference.rpartition("@")
    return digest if at and _DIGEST.fullmatch(digest) else ""


def due_digests(reference: str, known: Mapping[str, str]) -> Mapping[str, str]:
    """The digests that a locked reference may show as, each with what it is of.

    `known` holds those of one image (its index and its platform's manifest); a reference to neither of
    them stands for itself only.
    """
    digest = digest_of(reference)
    if digest in known:
        return known
    return {digest: "the digest asked for"} if digest else {}


def judge_image_id(image_id: str, due: Mapping[str, str]) -> tuple[str, bool | None]:
    """What a container runs in words, and whether it is locked; None where kubelet names no manifest."""
    if not image_id:
        return NOT_MEASURED, None
    digest = digest_of(image_id)
    if not digest:
        # The digest of a config, of an image that was loaded and never pulled: it is no manifest's.
        return f"{NOT_MEASURED}: kubelet names no manifest, but {one_line(image_id, limit=300)}", None
    if digest in due:
        return f"{digest} ({due[digest]})", True
    return digest, False


def describe_due(due: Mapping[str, str]) -> str:
    """The digests that are accepted, in words."""
    return " or ".join(f"{digest} ({what})" for digest, what in due.items())
