"""Where checkpoints go, if not into the run's own output folder: a folder that all ranks see, or an address."""

from dataclasses import dataclass
from pathlib import Path

from fsdp_qwen.failures import ConfigError
from fsdp_qwen.fields import Fields


@dataclass(frozen=True, kw_only=True, slots=True)
class StorageConfig:
    """An absolute folder, or an address as `s3://bucket/prefix`."""

    path: str

    @property
    def is_address(self) -> bool:
        """Whether it is no folder but an address that fsspec knows how to reach."""
        return "://" in self.path

    def below(self, run_name: str) -> str:
        """Where the checkpoints of one run are."""
        return f"{self.path.rstrip('/')}/{run_name}"


def read_storage(fields: Fields | None) -> StorageConfig | None:
    """The `storage` section, or None without one."""
    if fields is None:
        return None
    path = fields.optional_text("path")
    fields.finish()
    if path is None:
        raise ConfigError("storage.path: must be text, found null")
    storage = StorageConfig(path=path)
    if not storage.is_address and not Path(path).is_absolute():
        raise ConfigError(f"storage.path: must be an absolute path or an address with `://`, found `{path}`")
    return storage
