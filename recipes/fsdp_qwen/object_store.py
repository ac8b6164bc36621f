"""Files at an address: read and written whole, through fsspec.

For `s3://` it is pyarrow that talks to the service, in fsspec's clothes: it comes with `ray[train]`, and
fsspec's own S3 does not. It takes credentials as AWS's tools do, and `AWS_ENDPOINT_URL` too. Every other
address is fsspec's, with what it needs to be installed.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from fsspec import AbstractFileSystem
from fsspec.core import url_to_fs
from fsspec.implementations.arrow import ArrowFSWrapper

from fsdp_qwen.failures import TrainingFailed

_PIECE_BYTES = 8 << 20
_INDEX_LIMIT_BYTES = 16 << 20


@dataclass(frozen=True, kw_only=True, slots=True)
class ObjectStore:
    """The files below one address; every method raises `TrainingFailed` with the address where it can't work."""

    address: str
    system: AbstractFileSystem
    root: str

    def names(self, folder: str = "") -> list[str]:
        """The names in a folder, sorted; none where there is no such folder."""
        with self._failing("listed", folder):
            self.system.invalidate_cache()
            try:
                found = self.system.ls(self._at(folder), detail=False)
            except FileNotFoundError:
                return []
            return sorted(str(path).rstrip("/").rpartition("/")[2] for path in found)

    def upload(self, file: Path, name: str) -> None:
        """Copies a file to a name, and checks its size there."""
        with self._failing("written", name):
            if not _has_flat_names(self.system):
                self.system.makedirs(self._at(name).rpartition("/")[0], exist_ok=True)
            with file.open("rb") as source, self.system.open(self._at(name), "wb") as target:
                while piece := source.read(_PIECE_BYTES):
                    target.write(piece)
            self.system.invalidate_cache()
            size = self.system.info(self._at(name))["size"]
        if size != file.stat().st_size:
            raise TrainingFailed(
                f"{self.address}/{name}: has {size} bytes there, but {file.stat().st_size} were sent", field="storage"
            )

    def download(self, name: str, file: Path) -> None:
        """Copies a name into a file."""
        with (
            self._failing("read", name),
            self.system.open(self._at(name), "rb") as source,
            file.open("wb") as target,
        ):
            while piece := source.read(_PIECE_BYTES):
                target.write(piece)

    def read(self, name: str) -> bytes | None:
        """The bytes of a small file, or None if there is none."""
        with self._failing("read", name):
            try:
                with self.system.open(self._at(name), "rb") as source:
                    data: bytes = source.read(_INDEX_LIMIT_BYTES)
            except FileNotFoundError:
                return None
        return data

    def _at(self, name: str) -> str:
        return f"{self.root}/{name}".rstrip("/")

    @contextmanager
    def _failing(self, done: str, name: str) -> Iterator[None]:
        try:
            yield
        except TrainingFailed:
            raise
        except Exception as error:  # every system behind an address has errors of its own
            where = f"{self.address}/{name}".rstrip("/")
            message = f"{where}: can't be {done}: {_first_line(error)}"
            raise TrainingFailed(message, field="storage") from error


def open_store(address: str) -> ObjectStore:
    """The store at an address; raises `TrainingFailed` for one that nothing here can reach."""
    try:
        if urlsplit(address).scheme == "s3":
            system, root = _s3(os.environ), address.partition("://")[2]
        else:
            system, root = url_to_fs(address)
    except (ImportError, ValueError, OSError) as error:
        message = f"storage.path: `{address}` can't be reached: {_first_line(error)}"
        raise TrainingFailed(message, field="storage.path") from error
    return ObjectStore(address=address.rstrip("/"), system=system, root=str(root).rstrip("/"))


def _s3(environment: Mapping[str, str]) -> AbstractFileSystem:
    from pyarrow.fs import S3FileSystem

    options: dict[str, Any] = {}
    region = environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION")
    if region:
        options["region"] = region
    endpoint = environment.get("AWS_ENDPOINT_URL_S3") or environment.get("AWS_ENDPOINT_URL")
    if endpoint:
        parts = urlsplit(endpoint)
        options |= {"endpoint_override": parts.netloc, "scheme": parts.scheme}
    return ArrowFSWrapper(S3FileSystem(**options))


def _has_flat_names(system: AbstractFileSystem) -> bool:
    """Whether folders are but parts of names, as in S3, where making one leaves an object."""
    return isinstance(system, ArrowFSWrapper)


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0][:400]
