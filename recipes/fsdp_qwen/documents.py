"""The documents of text files, in the order of the files' paths; and which of them are held out."""

import gzip
import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

from fsdp_qwen.data_settings import TextConfig
from fsdp_qwen.failures import TrainingFailed

JSON_SUFFIXES = (".jsonl", ".ndjson")
TEXT_SUFFIXES = (".txt", ".md")
PARQUET_SUFFIX = ".parquet"


def read_documents(text: TextConfig) -> Iterator[str]:
    """Each document with something in it but blanks; raises `TrainingFailed` naming the file and line."""
    for name in sorted(text.folder.files):
        for document in _read_file(text, text.folder.file(name)):
            if document.strip():
                yield document


def is_held_out(document: str, percent: int) -> bool:
    """Whether a document is kept for evaluation; follows from its text alone, so equal ones stay together."""
    key = hashlib.sha256(b"held-out/" + document.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(key[:8], "big") * 100 < percent << 64


def _read_file(text: TextConfig, path: Path) -> Iterator[str]:
    suffix = Path(path.name.removesuffix(".gz")).suffix.lower()
    if suffix == PARQUET_SUFFIX:
        return _read_parquet(path, text.field)
    if suffix not in (*JSON_SUFFIXES, *TEXT_SUFFIXES):
        known = ", ".join(f"`{each}`" for each in (*TEXT_SUFFIXES, *JSON_SUFFIXES, PARQUET_SUFFIX))
        raise _refused(path, f"is none of {known}, nor one of the first four packed with gzip")
    if suffix in JSON_SUFFIXES:
        return _read_json_lines(path, text.field)
    return _read_plain(path, text.documents)


def _read_json_lines(path: Path, field: str) -> Iterator[str]:
    with _open(path) as lines:
        for number, line in enumerate(_decoded(path, lines), start=1):
            if not line.strip():
                continue
            try:
                document = json.loads(line)
            except (json.JSONDecodeError, RecursionError) as error:
                raise _refused(path, f"line {number} is not JSON") from error
            value = document.get(field) if isinstance(document, dict) else None
            if not isinstance(value, str):
                raise _refused(path, f"line {number} has no text under `{field}`")
            yield value


def _read_plain(path: Path, documents: str) -> Iterator[str]:
    with _open(path) as lines:
        decoded = _decoded(path, lines)
        if documents == "file":
            yield "".join(decoded)
        elif documents == "line":
            for line in decoded:
                yield line.rstrip("\n")
        else:
            yield from _paragraphs(decoded)


def _paragraphs(lines: Iterator[str]) -> Iterator[str]:
    """What stands between blank lines."""
    held: list[str] = []
    for line in lines:
        if line.strip():
            held.append(line)
        elif held:
            yield "".join(held).rstrip("\n")
            held = []
    if held:
        yield "".join(held).rstrip("\n")


def _read_parquet(path: Path, field: str) -> Iterator[str]:
    # Part of the image, and of no use to other kinds of data.
    import pyarrow
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            if field not in file.schema_arrow.names:
                raise _refused(path, f"has no column `{field}`, only {', '.join(file.schema_arrow.names[:20])}")
            for batch in file.iter_batches(columns=[field]):
                for value in batch.column(0).to_pylist():
                    if not isinstance(value, str):
                        raise _refused(path, f"the column `{field}` holds what is no text")
                    yield value
    except (pyarrow.ArrowException, OSError) as error:
        raise _refused(path, f"is no Parquet file that can be read: {error}") from error


def _open(path: Path) -> IO[bytes] | gzip.GzipFile:
    return gzip.open(path, "rb") if path.name.endswith(".gz") else path.open("rb")


def _decoded(path: Path, lines: Iterable[bytes]) -> Iterator[str]:
    """The lines as text: UTF-8, each line end a line feed."""
    try:
        for number, line in enumerate(lines, start=1):
            try:
                yield line.decode("utf-8").replace("\r\n", "\n")
            except UnicodeDecodeError as error:
                raise _refused(path, f"line {number} is not UTF-8") from error
    except (EOFError, gzip.BadGzipFile) as error:
        raise _refused(path, "is not whole, or not packed with gzip") from error


def _refused(path: Path, what: str) -> TrainingFailed:
    return TrainingFailed(f"data: `{path}` {what}", field="data")
