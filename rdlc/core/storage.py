"""Where a run keeps its checkpoints, if not in its record: a folder, or an address that fsspec knows."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from rdlc.core.canonical import Json
from rdlc.core.fields import Fields
from rdlc.core.text import one_line

_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://[^/]+(/.*)?|file:///.+")
_LIMIT = 1024
# Their files are in one process alone.
_IN_MEMORY = ("memory", "dir", "reference")


@dataclass(frozen=True, kw_only=True, slots=True)
class StorageRequest:
    """A folder, relative to the project or absolute, or an address as `s3://bucket/prefix`."""

    path: str

    @property
    def is_address(self) -> bool:
        """Whether it is no folder."""
        return "://" in self.path

    def payload(self) -> Mapping[str, Json]:
        """Version 1."""
        return {"path": self.path}


def read_storage_request(fields: Fields, key: str, *, target: str) -> StorageRequest | None:
    """The `storage` part of a spec or of a lock's request; None if there is none."""
    if not fields.has(key):
        return None
    part = fields.below(key)
    path = part.text("path")
    part.finish()
    if problem := find_storage_problem(path):
        raise part.error("path", *problem)
    request = StorageRequest(path=path)
    if target != "local" and not request.is_address and not path.startswith("/"):
        hint = "the folder's absolute path on every node, or an address as `s3://bucket/prefix`"
        raise part.error("path", f"target `{target}` has no project folder that `{path}` could be in", hint)
    return request


def find_storage_problem(path: str) -> tuple[str, str] | None:
    """What is wrong with a path or an address, and the hint; None if nothing is."""
    if len(path) > _LIMIT or one_line(path, limit=_LIMIT) != path:
        return f"must be one line of at most {_LIMIT} characters", "`storage: {path: checkpoints}`"
    if "://" not in path:
        if ".." in path.split("/"):
            return "must not lead out of its folder with `..`", "give an absolute path"
        return None
    scheme, _, rest = path.partition("://")
    if "@" in rest.partition("/")[0] or "?" in rest or "#" in rest:
        hint = "credentials come from the environment: `secrets: [{name: AWS_ACCESS_KEY_ID, from: env}]`"
        return "must be an address alone, without user, password or options", hint
    if scheme in _IN_MEMORY or not _ADDRESS.fullmatch(path):
        return f"`{one_line(path)}` is no address that files can be kept at", "`storage: {path: s3://bucket/prefix}`"
    return None
