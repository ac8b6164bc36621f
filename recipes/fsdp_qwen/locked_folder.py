"""Folders of files that the lock names: model weights, text. They are checked before anything is read from them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fsdp_qwen.digest import file_digest
from fsdp_qwen.failures import ConfigError, TrainingFailed
from fsdp_qwen.fields import Fields

_LINE = re.compile(r"[0-9a-f]{64}  [^\x00-\x1f\x7f]{1,500}")


@dataclass(frozen=True, kw_only=True, slots=True)
class LockedFolder:
    """A folder, and each file of it that may be read: path below it, with `/`, to `sha256:` and hex digits.

    `field` is the config's section that names it.
    """

    field: str
    path: Path
    files: Mapping[str, str]

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
    return LockedFolder(field=field, path=Path(path), files=dict(sorted(files.items())))


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
