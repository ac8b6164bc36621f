"""Locked files: their digests, and how sure it is that they are what they were."""

from collections.abc import Mapping
from dataclasses import dataclass

from rdlc.core.canonical import Json
from rdlc.core.fields import Fields

# From the strongest: the bytes were read; the store states a sha256, which is checked when a file is
# fetched; the store states less, and what comes is taken for what was there.
BYTES, STATED, LISTING = "bytes", "stated", "listing"
EVIDENCE = (BYTES, STATED, LISTING)


@dataclass(frozen=True, kw_only=True, slots=True)
class LockedFile:
    """One file: its size, its sha256 ("" where nobody knows it), and what the store says else of it.

    `version` and `etag` are those of S3, "" elsewhere.
    """

    size: int
    sha256: str = ""
    version: str = ""
    etag: str = ""

    def payload(self) -> dict[str, Json]:
        """Version 1."""
        texts = {"sha256": self.sha256, "version": self.version, "etag": self.etag}
        return {"size": self.size, **{key: text for key, text in texts.items() if text}}


@dataclass(frozen=True, kw_only=True, slots=True)
class LockedFiles:
    """All files from one origin: path to file. `commit` is what a revision of the Hub named, "" elsewhere."""

    evidence: str
    files: Mapping[str, LockedFile]
    commit: str = ""

    @property
    def size(self) -> int:
        """Bytes in all."""
        return sum(file.size for file in self.files.values())

    def payload(self) -> dict[str, Json]:
        """Version 1."""
        commit: dict[str, Json] = {"commit": self.commit} if self.commit else {}
        files: dict[str, Json] = {name: file.payload() for name, file in sorted(self.files.items())}
        return {**commit, "evidence": self.evidence, "files": files}


@dataclass(frozen=True, kw_only=True, slots=True)
class FetchedFolder:
    """A folder of this machine with the files of an origin in it, and the sha256 of each."""

    path: str
    digests: Mapping[str, str]

    def config(self) -> dict[str, Json]:
        """As the recipe's config names it."""
        lines: list[Json] = [
            f"{digest.removeprefix('sha256:')}  {name}" for name, digest in sorted(self.digests.items())
        ]
        return {"path": self.path, "files": lines}


@dataclass(frozen=True, kw_only=True, slots=True)
class DataFolders:
    """The folders of a run: pretrained weights and text, each None where there is none."""

    model: FetchedFolder | None = None
    dataset: FetchedFolder | None = None


def read_locked_files(fields: Fields) -> LockedFiles:
    """The files of a lock."""
    below = fields.below("files")
    files = {name: _read_file(below, name) for name in below.names()}
    commit = fields.text("commit") if fields.has("commit") else ""
    read = LockedFiles(evidence=fields.text("evidence", choices=EVIDENCE), files=files, commit=commit)
    fields.finish()
    return read


def _read_file(below: Fields, name: str) -> LockedFile:
    if name.startswith("/") or "\\" in name or ".." in name.split("/") or not name.isprintable():
        raise below.error(name, "must be a path below the folder, without `..`")
    fields = below.below(name)
    file = LockedFile(
        size=fields.count("size"),
        sha256=fields.digest("sha256") if fields.has("sha256") else "",
        version=fields.text("version") if fields.has("version") else "",
        etag=fields.text("etag") if fields.has("etag") else "",
    )
    fields.finish()
    return file


def find_missing_digest(locked: LockedFiles) -> str | None:
    """The first file without a sha256 although the evidence promises one; None if it is as it should be."""
    if locked.evidence == LISTING:
        return None
    return next((name for name, file in sorted(locked.files.items()) if not file.sha256), None)
