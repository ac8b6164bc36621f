"""A command's output with the digests of this machine replaced by words."""

import re
from pathlib import Path

from rdlc.core.lockfile import RunLock, read_lock


def lock_at(path: Path) -> RunLock:
    """The lock in a file, which must be intact."""
    read = read_lock(path.read_bytes(), name=str(path))
    assert read.findings == ()
    return read.lock


def without_digests(text: str, lock: RunLock) -> str:
    """The text with the id and the section digests of the lock named; other digests stay."""
    for name, digest in {"ID": lock.id, **{section.upper(): value for section, value in lock.digests.items()}}.items():
        text = re.sub(rf"{digest}\b", name, text)
    return text
