"""The checkpoints of a training: what `result.json` and their indexes say of their files."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rdlc.core.lines import read_json_file
from rdlc.core.outcome_files import RESULT_LIMIT_BYTES

INDEX_FILE = "checkpoint.json"
INDEX_LIMIT_BYTES = 16 << 20


@dataclass(frozen=True, kw_only=True, slots=True)
class Checkpoint:
    """One checkpoint: its folder, its step, and the sha256 of its files by their paths, `sha256:` before it."""

    folder: str
    step: int
    files: Mapping[str, str]


def read_checkpoints(result: bytes, *, name: str) -> tuple[Checkpoint, ...]:
    """The checkpoints that a `result.json` lists, with their shards; raises InputError."""
    fields = read_json_file(result, name=name, limit_bytes=RESULT_LIMIT_BYTES)
    checkpoints = []
    for item in fields.each("checkpoints"):
        files = item.table("files")
        for path in files:
            if path.count("/") != 1:
                raise item.error("files", "must name files as `FOLDER/FILE`")
        folders = {path.partition("/")[0] for path in files}
        if len(folders) != 1:
            raise item.error("files", "must name files of one folder")
        checkpoints.append(Checkpoint(folder=folders.pop(), step=item.count("step"), files=files))
    return tuple(checkpoints)


def read_index(data: bytes, *, folder: str, name: str) -> Checkpoint:
    """What the index in a checkpoint's folder says, with all files of the folder; raises InputError."""
    fields = read_json_file(data, name=name, limit_bytes=INDEX_LIMIT_BYTES)
    files = {f"{folder}/{file}": digest for file, digest in fields.table("files").items()}
    return Checkpoint(folder=folder, step=fields.count("step"), files=files)


def find_changed_files(listed: Mapping[str, str], found: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Path and trouble of every listed file that is gone or changed; `found` is in hex alone."""
    for path, digest in sorted(listed.items()):
        if path not in found:
            yield path, "is missing"
        elif f"sha256:{found[path]}" != digest:
            yield path, f"was changed: its sha256 is {found[path]}, and {digest} was written down"
