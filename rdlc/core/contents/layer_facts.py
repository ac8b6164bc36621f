"""What one layer adds to an image and removes from it, as far as an inventory needs it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from rdlc.core.canonical import Json, canonical_bytes, digest
from rdlc.core.contents.inventory import EVIDENCE_LEVELS, Evidence, OsPackage
from rdlc.core.fields import Fields
from rdlc.core.lines import read_json_file

# Rises whenever the wanted files or the shape below change: entries of another format are not read.
FACTS_FORMAT = 1
FACTS_LIMIT_BYTES = 256 << 20


@dataclass(frozen=True, kw_only=True, slots=True)
class FileFact:
    """A wanted file of a layer.

    `offset` is where its bytes start in the uncompressed layer, None when that is not known.
    `hardlink` is the path whose bytes it shares. `content` is its text, `packages` what a package
    database lists; both None until they were read.
    """

    size: int
    offset: int | None = None
    hardlink: str | None = None
    content: str | None = None
    packages: tuple[OsPackage, ...] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class LayerFacts:
    """Paths are relative to the image's root, without `.`, `..` or a slash at either end.

    `removed` are the paths of whiteouts, `emptied` the folders that hide all of the layers below,
    `links` maps each symbolic link to its target; `folders` are those near the root, since one that
    replaces a link changes where files below it land.
    """

    digest: str
    evidence: Evidence
    files: Mapping[str, FileFact] = field(default_factory=dict, repr=False)
    links: Mapping[str, str] = field(default_factory=dict, repr=False)
    folders: tuple[str, ...] = field(default=(), repr=False)
    removed: tuple[str, ...] = ()
    emptied: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def with_file(self, path: str, fact: FileFact) -> "LayerFacts":
        """The same layer, with more known of one file."""
        return replace(self, files={**self.files, path: fact})


def write_facts(facts: LayerFacts) -> bytes:
    """One JSON object; `check` is the digest over the rest, so that damage is noticed."""
    payload: dict[str, Json] = {
        "format": FACTS_FORMAT,
        "digest": facts.digest,
        "evidence": facts.evidence,
        "files": {path: _file_payload(fact) for path, fact in facts.files.items()},
        "links": dict(facts.links),
        "folders": list(facts.folders),
        "removed": list(facts.removed),
        "emptied": list(facts.emptied),
        "notes": list(facts.notes),
    }
    return canonical_bytes({**payload, "check": digest(payload)}) + b"\n"


def read_facts(data: bytes, *, name: str) -> LayerFacts:
    """The facts that `write_facts` wrote; InputError for another format, damage or a wrong type."""
    fields = read_json_file(data, name=name, limit_bytes=FACTS_LIMIT_BYTES)
    if fields.count("format") != FACTS_FORMAT:
        raise fields.error("format", f"must be {FACTS_FORMAT}")
    rest = {key: value for key, value in fields.values.items() if key != "check"}
    if fields.digest("check") != digest(rest):
        raise fields.error("check", "does not match the rest of the file")
    files = fields.below("files")
    return LayerFacts(
        digest=fields.digest("digest"),
        evidence=_read_evidence(fields),
        files={path: _read_file(files.below(path)) for path in files.names()},
        links=fields.table("links"),
        folders=fields.texts("folders"),
        removed=fields.texts("removed"),
        emptied=fields.texts("emptied"),
        notes=fields.texts("notes"),
    )


def _file_payload(fact: FileFact) -> Json:
    payload: dict[str, Json] = {
        "size": fact.size,
        "offset": fact.offset,
        "hardlink": fact.hardlink,
        "content": fact.content,
    }
    if fact.packages is not None:
        payload["packages"] = [[item.kind, item.name, item.version, item.architecture] for item in fact.packages]
    return {key: value for key, value in payload.items() if value is not None}


def _read_file(fields: Fields) -> FileFact:
    return FileFact(
        size=fields.count("size"),
        offset=fields.count("offset") if fields.has("offset") else None,
        hardlink=fields.text("hardlink") if fields.has("hardlink") else None,
        content=fields.remark("content") if fields.has("content") else None,
        packages=_read_packages(fields) if fields.has("packages") else None,
    )


def _read_packages(fields: Fields) -> tuple[OsPackage, ...]:
    packages = []
    for item in fields.items("packages"):
        match item:
            case ["rpm" | "dpkg" as kind, str(name), str(version), str(architecture)]:
                package = OsPackage(kind=kind, name=name, version=version, architecture=architecture)
                packages.append(package)
            case _:
                raise fields.error("packages", "must list kind, name, version and architecture")
    return tuple(packages)


def _read_evidence(fields: Fields) -> Evidence:
    word = fields.text("evidence", choices=EVIDENCE_LEVELS)
    return next(level for level in EVIDENCE_LEVELS if level == word)
