"""Folders of files that the lock names: model weights, text. They are checked before anything is read from them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from fsdp_qwen.digest import file_digest
from fsdp_qwen.failures import ConfigError, TrainingFailed
from fsdp_qwen.fields import Fields

_REPO = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)?")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_LINE = re.compile(r"[0-9a-f]{64}  [^\x00-\x1f\x7f]{1,500}")


@dataclass(frozen=True, kw_only=True, slots=True)
class HubSource:
    """A commit of a repository of the Hub, of models or of data sets."""

    kind: str
    repo: str
    commit: str

    def url(self, endpoint: str, name: str) -> str:
        """Where a file of it is."""
        prefix = "datasets/" if self.kind == "dataset" else ""
        return f"{endpoint.rstrip('/')}/{prefix}{self.repo}/resolve/{self.commit}/{quote(name)}"


@dataclass(frozen=True, kw_only=True, slots=True)
class LockedFolder:
    """A folder, and each file of it that may be read: path below it, with `/`, to `sha256:` and hex digits.

    `field` is the config's section that names it; `source` is where a node fetches what it lacks, None
    where all files are there already.
    """

    field: str
    path: Path
    files: Mapping[str, str]
    source: HubSource | None = None

    def file(self, name: str) -> Path:
        """Where a locked file lies; `TrainingFailed` for one that is not locked."""
        if name not in self.files:
            raise TrainingFailed(f"{self.field}: `{name}` is not among the locked files", field=self.field)
        return self.path / name


def read_locked_folder(fields: Fields, field: str) -> LockedFolder:
    """The folder that a config's `path` and `files` name, or `ConfigError` with the field's address.

    `files` holds a line `<sha256 hex>  <path>` for each file.
    """
    path = fields.optional_text("path")
    if path is None or not Path(path).is_absolute():
        raise ConfigError(f"{field}.path: must be an absolute path, found `{path}`")
    files = {}
    for index, line in enumerate(fields.matching("files", _LINE, "64 lower-case hex digits, two blanks and a path")):
        digest, _, name = line.partition("  ")
        if name.startswith("/") or "\\" in name or ".." in name.split("/") or name in files:
            raise ConfigError(f"{field}.files[{index}]: must be a path below the folder, named once, found `{name}`")
        files[name] = f"sha256:{digest}"
    if not files:
        raise ConfigError(f"{field}.files: must name at least one file")
    source = _read_source(fields.optional_section("source"))
    return LockedFolder(field=field, path=Path(path), files=dict(sorted(files.items())), source=source)


def _read_source(fields: Fields | None) -> HubSource | None:
    if fields is None:
        return None
    kind = fields.choice("kind", ("model", "dataset"))
    repo, commit = fields.optional_text("repo") or "", fields.optional_text("commit") or ""
    fields.finish()
    for name, value, pattern in (("repo", repo, _REPO), ("commit", commit, _COMMIT)):
        if not pattern.fullmatch(value):
            raise ConfigError(f"source.{name}: must be of the form `{pattern.pattern}`, found `{value[:60]}`")
    return HubSource(kind=kind, repo=repo, commit=commit)


def find_fault(folders: Sequence[LockedFolder]) -> TrainingFailed | None:
    """What is wrong with the first file that is not as locked; None if all are."""
    for folder in folders:
        for name, locked in folder.files.items():
            path = folder.path / name
            try:
                found = file_digest(path)
            except OSError as error:
                return TrainingFailed(f"{folder.field}: `{path}` can't be read: {error.strerror}", field=folder.field)
            if found != locked:
                message = f"{folder.field}: `{path}` has {found}, and {locked} is locked"
                return TrainingFailed(message, field=folder.field)
    return None
