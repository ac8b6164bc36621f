"""Why uv did not resolve, in words for people: who wants what, and what the base has.

uv explains a conflict as a proof: "Because A and B, we can conclude that C. And because ...". Its
premises are the facts; what it concludes from them is left out, and the base's versions are marked.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from rdlc.core.text import one_line, printable

Kind = Literal["conflict", "unreachable", "refused", "other"]

# A conflict may be a long story; that of one line says who wants what.
_LIMIT = 2000
_UNREACHABLE = re.compile(
    r"Failed to fetch|Request failed after|error sending request|Could not connect|dns error|operation timed out"
)
_REFUSED = re.compile(r"\((40[13] [A-Z][a-z]+)\)|returned a (40[13] [A-Z][a-z]+)")
_PREFIX = re.compile(r"^(?:error|cause|hint|warning): ")
_CONCLUSION = re.compile(r",\s+we can conclude that\b.*$", re.DOTALL)
_STEP = re.compile(r"(?:^|(?<=[.)])\s+)(?:And because|Because)\s+")
_REFERENCE = re.compile(r"we know from \(\d+\)(?: and \(\d+\))* that\s+|\s*\(\d+\)$")
_CUT_OFF = re.compile(r"^hint: `([^`]+)` was filtered by `exclude-newer`", re.MULTILINE)
_NO_DATE = re.compile(r"^warning: `([^`]+)` is missing an upload date", re.MULTILINE)
_NO_WHEEL = re.compile(r"no (?:usable )?wheels|Wheels are required")
_PLATFORMS = re.compile(r"^hint: (Wheels are available for .*?)$", re.MULTILINE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Failure:
    """What uv said when it gave up.

    `undated` are files that a cut-off left out because the index does not tell when they came;
    `too_new` the packages that the cut-off left without a version.
    """

    kind: Kind
    text: str
    undated: tuple[str, ...] = ()
    too_new: tuple[str, ...] = ()

    def wants_source(self, name: str) -> bool:
        """Whether it failed for lack of a wheel, with this package in the story."""
        return bool(_NO_WHEEL.search(self.text)) and _mentions(self.text, name)


def read_failure(said: str) -> Failure:
    """The failure in what uv wrote on stderr."""
    return Failure(
        kind=_kind_of(said),
        text=said,
        undated=tuple(sorted(set(_NO_DATE.findall(said)))),
        too_new=tuple(sorted(set(_CUT_OFF.findall(said)))),
    )


def explain(failure: Failure, *, base: Mapping[str, str]) -> str:
    """The reason on one line; `base` maps the distributions that stay to their versions."""
    if failure.kind == "conflict":
        facts = [_mark(fact, base) for fact in _facts(failure.text)]
        facts += [_lower_first(hint) for hint in _PLATFORMS.findall(failure.text)]
        reason = "; ".join(dict.fromkeys(facts))
    elif failure.kind == "unreachable":
        # From what uv wanted down to what the system said, which is the reason.
        reason = (_paragraph(failure.text) or [""])[-1]
    else:
        reason = " ".join(_paragraph(failure.text))
    return one_line(" ".join(reason.split()), limit=_LIMIT)


def why_refused(failure: Failure) -> str:
    """The status with which the index turned uv away, such as `401 Unauthorized`."""
    found = _REFUSED.search(failure.text)
    return (found[1] or found[2]) if found else ""


def _kind_of(said: str) -> Kind:
    if _REFUSED.search(said):
        return "refused"
    if _UNREACHABLE.search(said):
        return "unreachable"
    return "conflict" if "No solution found" in said and "Because" in said else "other"


def _facts(text: str) -> Iterator[str]:
    """The premises of uv's proof, one after the other."""
    story = text.partition("\nhint: ")[0]
    proof = " ".join(_paragraph(story[max(0, story.find("Because ")) :]))
    for step in _STEP.split(proof):
        premise = _REFERENCE.sub("", _CONCLUSION.sub("", step.strip())).strip(" .")
        if premise:
            yield premise


def _paragraph(text: str) -> list[str]:
    """uv's lines without what it puts before them; hints stay marked, they are no part of the reason."""
    lines = []
    for line in printable(text).splitlines():
        stripped = line.strip()
        if stripped.startswith("warning: ") or not stripped:
            continue
        lines.append(stripped if stripped.startswith("hint: ") else _PREFIX.sub("", stripped))
    return lines


def _mark(fact: str, base: Mapping[str, str]) -> str:
    """The fact with each `NAME==VERSION` of the base said to be the base's."""
    for name, version in base.items():
        if name not in fact:
            continue
        pinned = rf"(?<![A-Za-z0-9._-]){re.escape(f'{name}=={version}')}(?![A-Za-z0-9.+_-])"
        # As a premise of its own it is what the base has; anywhere else it is said of.
        fact = re.sub(rf"(?:^|,? and ){pinned}(?=$| and |,|;)", f", and the base has {name} {version}", fact)
        fact = re.sub(pinned, lambda found: f"{found[0]} of the base", fact)
    return fact.removeprefix(", and ")


def _mentions(text: str, name: str) -> bool:
    return re.search(rf"(?<![A-Za-z0-9._-]){re.escape(name)}(?![A-Za-z0-9_-])", text) is not None


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]
