"""The names of checkpoints and what their indexes say.

Needs no torch, so that the driver can read them.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from fsdp_qwen.failures import ConfigError, TrainingFailed
from fsdp_qwen.records import Output, read_document

if TYPE_CHECKING:
    from fsdp_qwen.config import Config
    from fsdp_qwen.object_store import ObjectStore

# Written last, into the checkpoint's folder: a folder without it is not a checkpoint.
INDEX = "checkpoint.json"


def checkpoint_name(step: int) -> str:
    """The folder's name; names sort like steps."""
    return f"step-{step:06d}"


_NAME = re.compile("step-[0-9]{6,}")


def saved_by_run(config: "Config", output: Output) -> list[dict[str, object]]:
    """What `result.json` says about the complete checkpoints of a run, wherever they are."""
    storage = config.storage
    if storage is None:
        return saved_checkpoints(output.checkpoints(config.run_name))
    if not storage.is_address:
        return saved_checkpoints(Path(storage.below(config.run_name)))
    from fsdp_qwen.object_store import open_store

    store = open_store(storage.below(config.run_name))
    names = complete_in_store(store)
    return [_described(name, read_stored_index(store, name)) for name in names]


def refuse_used_name(config: "Config", output: Output) -> None:
    """Refuses a run's name under which checkpoints may be already: they would be gone on from."""
    storage = config.storage
    if storage is not None and storage.is_address:
        from fsdp_qwen.object_store import open_store

        where = storage.below(config.run_name)
        try:
            is_used = bool(open_store(where).names())
        except TrainingFailed as error:
            raise ConfigError(error.message) from error
    else:
        path = Path(storage.below(config.run_name)) if storage else output.checkpoints(config.run_name)
        where, is_used = str(path), path.exists()
    if is_used:
        raise ConfigError(f"run_name: `{config.run_name}` is not fresh, `{where}` exists")


def saved_checkpoints(folder: Path) -> list[dict[str, object]]:
    """The complete checkpoints below a folder, in step order."""
    found: list[dict[str, object]] = []
    for index_path in sorted(folder.glob(f"step-*/{INDEX}")):
        index = read_document(index_path)
        assert index is not None
        # A rank that was killed while it copied its part leaves an index without its files.
        if all((index_path.parent / name).exists() for name in _files(index)):
            found.append(_described(index_path.parent.name, index))
    return found


def complete_in_store(store: "ObjectStore") -> list[str]:
    """The names of the checkpoints at an address that have an index and every file that it lists, in step order."""
    complete = []
    for name in store.names():
        if _NAME.fullmatch(name):
            held = set(store.names(name))
            if INDEX in held and held >= _files(read_stored_index(store, name)).keys():
                complete.append(name)
    return complete


def newest_in_store(store: "ObjectStore") -> str | None:
    """The name of the newest complete checkpoint at an address."""
    names = complete_in_store(store)
    return names[-1] if names else None


def stored_files(store: "ObjectStore", name: str) -> Mapping[str, str]:
    """The digests that the index at an address has, by file."""
    return _files(read_stored_index(store, name))


def read_stored_index(store: "ObjectStore", name: str) -> dict[str, object]:
    """The index of a checkpoint at an address; raises `TrainingFailed` if it is none."""
    data = store.read(f"{name}/{INDEX}")
    try:
        document = json.loads(data or b"")
    except ValueError as error:
        raise TrainingFailed(f"{store.address}/{name}/{INDEX}: is not JSON", field="checkpoint") from error
    if not isinstance(document, dict) or not isinstance(document.get("files"), dict) or "step" not in document:
        raise TrainingFailed(f"{store.address}/{name}/{INDEX}: is no index of a checkpoint", field="checkpoint")
    return document


def _files(index: Mapping[str, object]) -> Mapping[str, str]:
    files = index["files"]
    assert isinstance(files, dict)
    return files


def _described(name: str, index: Mapping[str, object]) -> dict[str, object]:
    # Only the shards: `.metadata` is a pickle and differs between equal runs.
    shards = {f"{name}/{file}": digest for file, digest in _files(index).items() if file.endswith(".distcp")}
    return {"step": index["step"], "files": shards}
