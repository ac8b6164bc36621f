"""The run lock: sections, their digests, the id, and the one text that says it all."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from rdlc.core.block import parse_block, write_block
from rdlc.core.canonical import Json, digest
from rdlc.core.derivation import find_contradictions
from rdlc.core.document import LOCK_LIMIT_BYTES, Document
from rdlc.core.fields import Fields
from rdlc.core.provenance import Provenance, read_provenance
from rdlc.core.section_reading import read_sections
from rdlc.core.sections import SECTION_NAMES, Sections
from rdlc.errors import InputError

SCHEMA = "rdlc/run-lock/v1"
REVISION = 1

_TOP_LEVEL = ("schema", "revision", "id", "sections", *SECTION_NAMES, "provenance")


@dataclass(frozen=True, kw_only=True, slots=True)
class RunLock:
    """What one run resolved to. `id` and `digests` are always computed, never taken from a file."""

    sections: Sections
    provenance: Provenance

    @property
    def digests(self) -> dict[str, str]:
        """Section name to the digest of its payload."""
        return _digests(self.sections.payloads())

    @property
    def id(self) -> str:
        """The digest of the section digests."""
        return digest(self.digests)

    @property
    def name(self) -> str:
        """The name of the run."""
        return self.sections.run.requested.name


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One thing that is wrong in a file: the section, the place, and what is wrong."""

    section: str
    file: str
    message: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadLock:
    """A lock as it came from a file, with what does not fit in it."""

    lock: RunLock
    findings: tuple[Finding, ...]


def write_lock(lock: RunLock) -> bytes:
    """The canonical bytes of a lock: the same lock always gives the same bytes."""
    payloads = lock.sections.payloads()
    return _write(lock, payloads, digests=_digests(payloads))


def _write(lock: RunLock, payloads: Mapping[str, Json], *, digests: Mapping[str, str]) -> bytes:
    head: dict[str, Json] = {
        "schema": SCHEMA,
        "revision": REVISION,
        "id": digest(digests),
        "sections": digests,
    }
    text = write_block({**head, **payloads, "provenance": lock.provenance.payload()})
    return text.encode("utf-8")


def _digests(payloads: Mapping[str, Json]) -> dict[str, str]:
    return {name: digest(payload) for name, payload in payloads.items()}


def read_lock(data: bytes, *, name: str) -> ReadLock:
    """A lock and all that does not fit in it; raises InputError if it cannot be read as a lock."""
    try:
        return _read_lock(data, name)
    except InputError as error:
        raise _with_section(error, data) from error


def _read_lock(data: bytes, name: str) -> ReadLock:
    document = parse_block(data, name=name, limit_bytes=LOCK_LIMIT_BYTES)
    fields = Fields.of(document)
    _check_schema(fields, name)
    stated_id = fields.digest("id")
    lock = RunLock(sections=read_sections(fields), provenance=read_provenance(fields.below("provenance")))
    below = fields.below("sections")
    payloads = lock.sections.payloads()
    stated = {section: below.digest(section) for section in payloads}
    below.finish()
    fields.finish()
    # Once for both checks: digests are most of the time that it takes to read a lock.
    digests = _digests(payloads)
    findings = _compare(document, digests, stated_id=stated_id, stated=stated)
    findings += [
        Finding(section=item.section, file=document.place(item.address), message=item.message)
        for item in find_contradictions(lock.sections)
    ]
    wanted = _write(lock, payloads, digests=digests)
    return ReadLock(lock=lock, findings=(*findings, *_check_canonical(data, wanted, name=name, head=4 + len(digests))))


def _compare(
    document: Document, digests: Mapping[str, str], *, stated_id: str, stated: Mapping[str, str]
) -> list[Finding]:
    findings = []
    for section, computed in digests.items():
        if stated[section] != computed:
            message = f"the contents give {computed}, and `sections.{section}` says {stated[section]}"
            findings.append(_finding(document, section, message))
    if digest(dict(stated)) != stated_id:
        message = f"the section digests give {digest(dict(stated))}, and `id` says {stated_id}"
        findings.append(_finding(document, "id", message))
    return findings


def _check_canonical(data: bytes, canonical: bytes, *, name: str, head: int) -> list[Finding]:
    # Line ends are normalised first: git may have turned them on checkout.
    lines = data.replace(b"\r\n", b"\n").split(b"\n")
    # Digests, in the lines before `head`, are compared elsewhere; there only the form counts.
    wanted = canonical.split(b"\n")
    for number, line in enumerate(lines):
        same = number < len(wanted) and line == wanted[number]
        if not same and not 2 <= number < head:
            return [_canonical_finding(data, name, number)]
        if not same and not _same_form(line, wanted[number]):
            return [_canonical_finding(data, name, number)]
    return [] if len(lines) == len(wanted) else [_canonical_finding(data, name, len(lines) - 1)]


def _same_form(line: bytes, wanted: bytes) -> bool:
    # Two digest lines of the head: equal up to the 64 hex digits.
    return len(line) == len(wanted) and line[:-65] == wanted[:-65]


def _canonical_finding(data: bytes, name: str, number: int) -> Finding:
    section = section_at_line(data, number + 1)
    message = "the line is not what rdlc writes for this content"
    return Finding(section=section, file=f"{name}:{number + 1}", message=message)


def section_at_line(data: bytes, line: int) -> str:
    """The top-level key under which a line (from 1) stands; a damaged key is known by its place."""
    names = [name for name in _TOP_LEVEL if name not in _absent_sections(data)]
    index = -1
    for text in data.split(b"\n")[:line]:
        # A blank in the second place: a line below a key, of which the first blank was damaged.
        if not text or text[:1] == b" " or text[1:2] == b" ":
            continue
        key = text.partition(b":")[0].decode("utf-8", "replace")
        index = names.index(key) if key in names else index + 1
    return names[min(max(index, 0), len(names) - 1)]


def _absent_sections(data: bytes) -> set[str]:
    """The sections that this lock has none of, as far as a damaged one tells."""
    absent = {"environment" if not _mentions(data, "environment") else "image"}
    return absent | {section for section in ("packages", "infra") if not _mentions(data, section)}


def _mentions(data: bytes, section: str) -> bool:
    return f"\n{section}:".encode() in data or f"\n  {section}: ".encode() in data


def _finding(document: Document, section: str, message: str) -> Finding:
    return Finding(section=section, file=f"{document.name}:{document.line(section)}", message=message)


def _check_schema(fields: Fields, name: str) -> None:
    if not fields.has("schema") or not fields.has("sections"):
        hint = f"`rdlc lock {name}` makes a lock from a run spec" if fields.has("recipe") else None
        raise InputError("this is not a run lock", file=name, hint=hint)
    schema = fields.text("schema")
    family, _, version = schema.rpartition("/v")
    if family != "rdlc/run-lock" or not version.isdigit():
        raise fields.error("schema", f"must be `{SCHEMA}`, not `{schema}`: this is not a run lock")
    revision = fields.count("revision")
    if schema != SCHEMA or revision > REVISION:
        raise fields.error(
            "schema",
            f"is `{schema}` revision {revision}, and this rdlc reads up to `{SCHEMA}` revision {REVISION}",
            "`pip install --upgrade rdlc`",
        )
    if revision != REVISION:
        raise fields.error("revision", f"must be {REVISION}, not {revision}")


def _with_section(error: InputError, data: bytes) -> InputError:
    """The error, naming the section in which its line stands if its field does not."""
    line = (error.file or "").rpartition(":")[2]
    is_lock = b"rdlc/run-lock/" in data[:4096]
    if not is_lock or not line.isdecimal() or re.split(r"[.\[]", error.field or "")[0] in _TOP_LEVEL:
        return error
    section = section_at_line(data, int(line))
    return InputError(f"{error.message} (in section `{section}`)", hint=error.hint, file=error.file, field=error.field)
