"""Checkpoint storage that the recipe keeps itself: in a folder that all ranks see, or at an address.

Only Ray Train with checkpoints in the output folder has storage of its own.
"""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import Protocol, TypeVar

import torch.distributed as dist

from fsdp_qwen.checkpoint_index import INDEX, checkpoint_name, newest_in_store, stored_files
from fsdp_qwen.config import Config
from fsdp_qwen.digest import file_digest
from fsdp_qwen.failures import TrainingFailed
from fsdp_qwen.object_store import ObjectStore, open_store
from fsdp_qwen.place import Place
from fsdp_qwen.records import Output

Result = TypeVar("Result")


class Storage(Protocol):
    """Where the parts of a checkpoint become one, and where it is found again; all ranks call every method."""

    def publish(self, part: Path, step: int) -> None:
        """Takes this rank's part of a checkpoint; whole, with an index, only when all ranks' parts are there."""
        ...

    def restore(self) -> Path | None:
        """The folder of the newest complete checkpoint."""
        ...

    def find(self, step: int) -> Path:
        """The folder of the checkpoint after a step of this run."""
        ...


@contextmanager
def opened_storage(config: Config, place: Place, output: Output) -> Iterator[Storage]:
    """The storage that the config asks for; in the output folder if it asks for none."""
    if config.storage is None:
        yield FolderStorage(path=output.checkpoints(config.run_name))
    elif not config.storage.is_address:
        yield FolderStorage(path=Path(config.storage.below(config.run_name)))
    else:
        store = open_store(config.storage.below(config.run_name))
        storage = AddressStorage(store=store, place=place, scratch=output.parts)
        try:
            yield storage
        finally:
            storage.forget()


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

    def find(self, step: int) -> Path:
        """The folder of the checkpoint after a step, which may not be there."""
        return self.path / checkpoint_name(step)


@dataclass(kw_only=True, slots=True)
class AddressStorage:
    """An address with a prefix per checkpoint, whose index is written last: without it, there is none.

    What is restored is copied once to each node, by its ranks together, below `scratch`.
    """

    store: ObjectStore
    place: Place
    scratch: Path
    # What this rank has to remove.
    _restored: Path | None = None

    def publish(self, part: Path, step: int) -> None:
        """Sends this rank's files, and then rank 0 the index. A collective."""
        self.forget()
        name = checkpoint_name(step)
        together(lambda: self._send(part, name, is_index=False))
        together(lambda: self._send(part, name, is_index=True))
        shutil.rmtree(part)

    def restore(self) -> Path | None:
        """A folder with the newest checkpoint that has an index, each file held against its digest. A collective."""
        found = [together(lambda: newest_in_store(self.store))]
        # One answer for all.
        dist.broadcast_object_list(found, src=0)
        return None if found[0] is None else self._copy(found[0])

    def find(self, step: int) -> Path:
        """A folder with a copy of the checkpoint after a step, each file held against its digest. A collective."""
        self.forget()
        return self._copy(checkpoint_name(step))

    def _copy(self, name: str) -> Path:
        nodes = [self.place.node_rank] * self.place.world_size
        dist.all_gather_object(nodes, self.place.node_rank)
        peers = [rank for rank, node in enumerate(nodes) if node == self.place.node_rank]
        folder = self._make_folder(first=peers[0])
        share = peers.index(self.place.rank)
        together(lambda: self._fetch(name, folder, share=share, of=len(peers)))
        return folder

    def forget(self) -> None:
        """Removes what was restored, once it has been loaded."""
        if self._restored is not None:
            shutil.rmtree(self._restored, ignore_errors=True)
            self._restored = None

    def _make_folder(self, *, first: int) -> Path:
        """A fresh folder of this node, made and later removed by its first rank."""
        if first == self.place.rank:
            self._restored = Path(mkdtemp(prefix="restored-", dir=self.scratch))
        folders: list[Path | None] = [None] * self.place.world_size
        dist.all_gather_object(folders, self._restored)
        folder = folders[first]
        assert folder is not None
        return folder

    def _send(self, part: Path, name: str, *, is_index: bool) -> None:
        for file in sorted(part.iterdir()):
            if (file.name == INDEX) == is_index:
                self.store.upload(file, f"{name}/{file.name}")

    def _fetch(self, name: str, folder: Path, *, share: int, of: int) -> None:
        files = stored_files(self.store, name)
        for file in sorted(files)[share::of]:
            self.store.download(f"{name}/{file}", folder / file)
            found = file_digest(folder / file)
            if found != files[file]:
                raise TrainingFailed(
                    f"{self.store.address}/{name}/{file}: has {found}, but {files[file]} was saved, "
                    "so the checkpoint is damaged",
                    field="checkpoint",
                )
        if share == 0:
            self.store.download(f"{name}/{INDEX}", folder / INDEX)


def together(work: Callable[[], Result]) -> Result:
    """What a rank's part of the work gives; if it fails on any rank, it fails on all, with the same words."""
    fault: str | None = None
    try:
        result = work()
    except TrainingFailed as error:
        fault = error.message
    faults: list[str | None] = [None] * dist.get_world_size()
    dist.all_gather_object(faults, fault)
    for each in faults:
        if each:
            raise TrainingFailed(each, field="storage")
    return result
