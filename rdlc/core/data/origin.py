"""Where files of a run come from: a folder of the project, a repository of the Hub, a place in S3."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from rdlc.core.canonical import Json
from rdlc.core.fields import Fields
from rdlc.core.relative_path import read_relative_path

MODEL, DATASET = "model", "dataset"

_REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}(/[A-Za-z0-9][A-Za-z0-9._-]{0,95})?")
_REVISION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,120}")
_S3 = re.compile(r"s3://([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])/?([^\x00-\x1f\x7f]*)")
_COMMIT = re.compile(r"[0-9a-f]{40}")
# What training needs of a repository; other formats of the same weights are left where they are.
_MODEL_FILES = ("*.safetensors", "*.json", "*.txt", "*.model", "*.jinja")
_TEXT_SUFFIXES = (".txt", ".md", ".jsonl", ".ndjson")


@dataclass(frozen=True, kw_only=True, slots=True)
class Origin:
    """Where files are asked for, and which: `files` are patterns, none takes all that is of use.

    `kind` is `folder`, `hub` or `s3`; `place` the path below the project, the repository or the address;
    `revision` is of the Hub alone, "" elsewhere.
    """

    kind: str
    place: str
    revision: str = ""
    files: tuple[str, ...] = ()

    def payload(self) -> dict[str, Json]:
        """The keys as in a spec."""
        where: dict[str, Json] = {"path": self.place}
        if self.kind == "hub":
            where = {"repo": self.place, "revision": self.revision}
        return {**where, **({"files": list(self.files)} if self.files else {})}

    @property
    def is_pinned(self) -> bool:
        """Whether the revision is a commit, which never moves."""
        return bool(_COMMIT.fullmatch(self.revision))

    @property
    def bucket(self) -> tuple[str, str]:
        """Bucket and prefix of an S3 address."""
        found = _S3.fullmatch(self.place)
        assert found is not None
        return found[1], found[2]

    def describe(self) -> str:
        """The origin for people."""
        return f"{self.place} at {self.revision}" if self.kind == "hub" else self.place


def read_origin(fields: Fields, *, allow_s3: bool) -> Origin:
    """The origin that `path`, or `repo` and `revision`, and `files` name."""
    files = fields.texts("files")
    for index, pattern in enumerate(files):
        if not pattern.isprintable() or ".." in pattern.split("/") or pattern.startswith("/"):
            raise fields.item_error("files", index, "must be a pattern of paths below the origin, as `data/*.parquet`")
    if fields.has("repo"):
        if fields.has("path"):
            raise fields.error("path", "stands beside `repo`: files come from one place", "leave one of them out")
        return _read_hub(fields, files)
    if fields.has("revision"):
        raise fields.error("revision", "only a `repo` has one")
    path = fields.text("path")
    if path.startswith("s3://"):
        return _read_s3(fields, path, files, allow_s3=allow_s3)
    return Origin(kind="folder", place=read_relative_path(fields, "path"), files=files)


def _read_hub(fields: Fields, files: tuple[str, ...]) -> Origin:
    repository, revision = fields.text("repo"), fields.text("revision", default="main")
    if not _REPOSITORY.fullmatch(repository):
        raise fields.error("repo", "must name a repository of the Hub, as `Qwen/Qwen2.5-1.5B`")
    if not _REVISION.fullmatch(revision) or ".." in revision:
        raise fields.error("revision", "must be a branch, a tag or a commit, as `main`")
    return Origin(kind="hub", place=repository, revision=revision, files=files)


def _read_s3(fields: Fields, path: str, files: tuple[str, ...], *, allow_s3: bool) -> Origin:
    if not allow_s3:
        raise fields.error("path", "weights come from a folder or the Hub", "copy them to a folder of the project")
    if not _S3.fullmatch(path) or not path.isascii():
        raise fields.error("path", "must be `s3://bucket/prefix`")
    return Origin(kind="s3", place=path, files=files)


def select_files(names: Sequence[str], origin: Origin, *, what: str) -> tuple[str, ...]:
    """The names that the origin asks for, sorted; hidden files never."""
    shown = [name for name in names if not any(part.startswith(".") for part in name.split("/"))]
    if origin.files:
        return tuple(sorted(name for name in shown if any(fnmatchcase(name, each) for each in origin.files)))
    if what == MODEL:
        return tuple(sorted(n for n in shown if "/" not in n and any(fnmatchcase(n, each) for each in _MODEL_FILES)))
    return tuple(sorted(name for name in shown if _is_text(name)))


def _is_text(name: str) -> bool:
    lower = name.lower()
    return lower.endswith(".parquet") or lower.removesuffix(".gz").endswith(_TEXT_SUFFIXES)


def describe_unusable(names: Sequence[str], *, what: str, needs_tokenizer: bool) -> str | None:
    """Why these files can't be trained with; None if they can."""
    if what == DATASET:
        return None if names else "holds no text: no .txt, .md, .jsonl, .ndjson (or these with .gz) and no .parquet"
    if "config.json" not in names:
        return "holds no `config.json`"
    if not {"model.safetensors", "model.safetensors.index.json"} & set(names):
        return "holds no safetensors weights: neither `model.safetensors` nor `model.safetensors.index.json`"
    if needs_tokenizer and "tokenizer.json" not in names:
        return "holds no `tokenizer.json`, and `data.tokenizer` is `model`"
    return None


def origin_of(origin: Mapping[str, Json]) -> Origin:
    """The origin in the normalised `data` of a request."""
    files = origin.get("files", [])
    assert isinstance(files, list)
    patterns = tuple(str(pattern) for pattern in files)
    if "repo" in origin:
        return Origin(kind="hub", place=str(origin["repo"]), revision=str(origin["revision"]), files=patterns)
    path = str(origin["path"])
    return Origin(kind="s3" if path.startswith("s3://") else "folder", place=path, files=patterns)
