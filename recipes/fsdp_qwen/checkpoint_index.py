"""The names of checkpoints and what their indexes say.

Needs no torch, so that the driver can read them.
"""

from pathlib import Path

from fsdp_qwen.records import read_document

# Written last, into the checkpoint's folder: a folder without it is not a checkpoint.
INDEX = "checkpoint.json"


def checkpoint_name(step: int) -> str:
    """The folder's name; names sort like steps."""
    return f"step-{step:06d}"


def saved_checkpoints(folder: Path) -> list[dict[str, object]]:
    """What `result.json` says about the complete checkpoints below a folder, in step order."""
    found: list[dict[str, object]] = []
    for index_path in sorted(folder.glob(f"step-*/{INDEX}")):
        index = read_document(index_path)
        assert index is not None
        files = index["files"]
        assert isinstance(files, dict)
        # Only the shards: `.metadata` is a pickle and differs between equal runs.
        shards = {
            f"{index_path.parent.name}/{name}": digest for name, digest in files.items() if name.endswith(".distcp")
        }
        # A rank that was killed while it copied its part leaves an index without its files.
        if all((index_path.parent / name).exists() for name in files):
            found.append({"step": index["step"], "files": shards})
    return found
