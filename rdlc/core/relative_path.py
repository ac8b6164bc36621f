"""Paths in specs and locks: with `/`, below the folder where they start."""

from rdlc.core.fields import Fields


def read_relative_path(fields: Fields, key: str) -> str:
    """A path with `/` that stays below where it starts."""
    path = fields.text(key)
    if path.startswith("/") or "\\" in path or ".." in path.split("/"):
        raise fields.error(key, f"must be a path below the folder, without `..`, not `{path}`")
    return path
