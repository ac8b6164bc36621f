"""Known issues of components and images: a small table of data, and which of them apply."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rdlc.core.document import parse_document
from rdlc.core.fields import Fields

_LEADING = re.compile(r"[0-9]+(\.[0-9]+)*")


@dataclass(frozen=True, kw_only=True, slots=True)
class KnownIssue:
    """One defect: whom it hits (components in some versions, or images by digest), and its source."""

    id: str
    title: str
    effect: str
    fix: str
    source: str
    components: Mapping[str, tuple[str, ...]]
    digests: tuple[str, ...]


def read_known_issues(data: bytes, *, name: str) -> tuple[KnownIssue, ...]:
    """The table in the bytes of its file; raises InputError with file, line and field."""
    fields = Fields.of(parse_document(data, name=name))
    issues = tuple(
        _read_issue(Fields(fields.document, item, f"issues[{index}]"))
        for index, item in enumerate(fields.items("issues"))
    )
    fields.finish()
    return issues


def match_issues(
    issues: Iterable[KnownIssue], *, components: Iterable[tuple[str, str]], digests: Iterable[str]
) -> tuple[KnownIssue, ...]:
    """The issues that apply to an image with these components, as name and version, and digests."""
    versions = {(name, _leading(version)) for name, version in components}
    own = set(digests)
    return tuple(issue for issue in issues if own & set(issue.digests) or versions & _hit_versions(issue))


def _hit_versions(issue: KnownIssue) -> set[tuple[str, str]]:
    return {(name, version) for name, versions in issue.components.items() for version in versions}


def _leading(version: str) -> str:
    """`1.18.0` of `1.18.0-1.amzn2023` or `1:1.18.0amzn1.0`: builds of one release share its defects."""
    found = _LEADING.match(version.rpartition(":")[2])
    return found.group() if found else version


def _read_issue(fields: Fields) -> KnownIssue:
    components = fields.below("components", default={})
    issue = KnownIssue(
        id=fields.text("id"),
        title=fields.text("title"),
        effect=fields.text("effect"),
        fix=fields.text("fix"),
        source=fields.text("source"),
        components={name: components.texts(name) for name in components.names()},
        digests=fields.texts("digests"),
    )
    fields.finish()
    return issue
