"""Which tags of a repository are later versions of the one that was locked."""

import re
from collections.abc import Iterable

_VERSIONED = re.compile(r"(?P<stem>.*)-v(?P<version>[0-9]{1,6}(\.[0-9]{1,6}){0,2})")


def newer_tags(tag: str, tags: Iterable[str]) -> tuple[str, ...]:
    """The tags of the same family with a later version, the latest last.

    For `train-ml-cuda-v1.1`, `train-ml-cuda-v1.2` is newer; `train-ml-cuda-v1.1.0` is not, and
    `serve-ml-cuda-v2` is of another family. A tag without a version has no newer ones.
    """
    own = _VERSIONED.fullmatch(tag)
    if own is None:
        return ()
    locked = _numbers(own["version"])
    found = []
    for other in tags:
        match = _VERSIONED.fullmatch(other)
        if match and match["stem"] == own["stem"]:
            version = _numbers(match["version"])
            # Compared as far as both go: `v1.1.0` is the same as `v1.1`, only more exact.
            shared = min(len(version), len(locked))
            if version[:shared] > locked[:shared]:
                found.append((version, other))
    return tuple(name for _, name in sorted(found))


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
