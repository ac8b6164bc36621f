"""Digests of files: of one, and of all the code that a worker received."""

import hashlib
from pathlib import Path


def file_digest(path: Path) -> str:
    """`sha256:` and the hex digest of a file's bytes."""
    with path.open("rb") as file:
        return "sha256:" + hashlib.file_digest(file, "sha256").hexdigest()


def code_root() -> Path:
    """The folder on the module path that this package was imported from."""
    return Path(__file__).resolve().parent.parent


def code_digest(root: Path) -> str:
    """The digest of all files below the root but compiled Python.

    It is sha256 over a listing with a line `<sha256 hex>  <path>` per file, sorted by the path's
    UTF-8 bytes.
    """
    lines = {}
    for path in root.rglob("*"):
        relative = path.relative_to(root)
        if path.is_file() and "__pycache__" not in relative.parts and path.suffix != ".pyc":
            name = relative.as_posix()
            lines[name.encode()] = f"{file_digest(path).removeprefix('sha256:')}  {name}\n"
    listing = "".join(lines[name] for name in sorted(lines))
    return "sha256:" + hashlib.sha256(listing.encode()).hexdigest()
