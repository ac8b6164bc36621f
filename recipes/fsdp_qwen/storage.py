"""Checkpoint storage in a plain folder that all ranks see."""

import shutil
from dataclasses import dataclass
from pathlib import Path

import torch.distributed as dist

from fsdp_qwen.checkpoint_index import INDEX, checkpoint_name


@dataclass(frozen=True, kw_only=True, slots=True)
class FolderStorage:
    """A folder with one folder per complete checkpoint."""

    path: Path

    def publish(self, part: Path, step: int) -> None:
        """Merges the ranks' parts; the folder gets its name when it is whole. A collective."""
        name = checkpoint_name(step)
        partial = self.path / f".{name}.partial"
        partial.mkdir(parents=True, exist_ok=True)
        for file in part.iterdir():
            shutil.move(file, partial / file.name)
        part.rmdir()
        dist.barrier()
        if dist.get_rank() == 0:
            partial.rename(self.path / name)
        dist.barrier()

    def restore(self) -> Path | None:
        """The folder of the newest complete checkpoint."""
        folders = sorted(index.parent for index in self.path.glob(f"step-*/{INDEX}"))
        return folders[-1] if folders else None
