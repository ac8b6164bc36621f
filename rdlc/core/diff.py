"""What differs between two of: locks, records, baselines."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from rdlc.core.canonical import Json
from rdlc.core.comparison import Comparison, compare_outcomes
from rdlc.core.flatten import flatten, natural_order
from rdlc.core.image.locked_moves import HeldImage
from rdlc.core.outcome import Outcome
from rdlc.core.sections import SECTION_NAMES

OBSERVED = "observed"

_EXTRAS = "packages.resolved.extras."
# Measured anew in every run, and no sign of a difference.
_MEASURED = ("peak memory of a rank",)
# The name, limits and claim of a run do not reach what it computes.
_WITHOUT_EFFECT = ("run",)


@dataclass(frozen=True, kw_only=True, slots=True)
class Side:
    """What one lock, record or baseline says.

    `digests` has every section, and none for a record without a lock; `payloads` is None where only
    digests are known. `observed` is what was seen of the run, `accepted` maps a section to the reason
    why it was allowed to drift, and `remarks` says what is wrong with the side itself. `image` is None
    where no image is known.
    """

    label: str
    kind: Literal["lock", "record", "baseline"]
    lock_id: str
    digests: Mapping[str, str]
    payloads: Mapping[str, Mapping[str, Json]] | None = field(repr=False)
    outcome: Outcome | None = field(repr=False)
    observed: Mapping[str, str]
    accepted: Mapping[str, str]
    remarks: tuple[str, ...]
    image: HeldImage | None = field(default=None, repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """One value that is not the same; `address` is empty where a section's digest is the value.

    `added` means that only the second side has it, `removed` that only the first does.
    """

    section: str
    address: str
    kind: Literal["added", "removed", "changed"]
    old: Json
    new: Json

    @property
    def path(self) -> str:
        """The whole address, with its section."""
        separator = "" if not self.address or self.address.startswith("[") else "."
        return f"{self.section}{separator}{self.address}"

    @property
    def subject(self) -> str:
        """What has changed, in words: the name of an extra package for its version, else the address."""
        if self.path.startswith(_EXTRAS) and self.path.endswith(".version"):
            return f"package {self.path[len(_EXTRAS) :].removesuffix('.version')}"
        return self.address


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """All that differs, from the first side to the second.

    `changes` are grouped by section, in the order of a lock, with what was observed last. `outcome`
    is None where not both sides have one. `suspects` are the changes that may have caused a
    difference in the outcome. `notes` say what could not be compared, and what to keep in mind.
    """

    changes: tuple[Change, ...]
    outcome: Comparison | None
    suspects: tuple[Change, ...]
    notes: tuple[str, ...]

    @property
    def is_empty(self) -> bool:
        """Whether nothing differs in what could be compared."""
        return not self.changes and not (self.outcome and self.outcome.differs)

    def by_section(self) -> dict[str, tuple[Change, ...]]:
        """Section to its changes, for the sections that have any."""
        sections = dict.fromkeys(change.section for change in self.changes)
        return {section: tuple(change for change in self.changes if change.section == section) for section in sections}


def diff_sides(first: Side, second: Side) -> Difference:
    """What differs from the first side to the second; provenance is never compared."""
    sections = SECTION_NAMES if first.digests and second.digests else ()
    changes = (
        *(change for section in sections for change in _diff_section(section, first, second)),
        *_diff_observed(first, second),
    )
    outcome = None
    if first.outcome is not None and second.outcome is not None:
        labels = (first.label, second.label)
        outcome = compare_outcomes(first.outcome, second.outcome, labels=labels)
    suspects: tuple[Change, ...] = ()
    if outcome is not None and outcome.divergence is not None:
        suspects = tuple(change for change in changes if change.section not in _WITHOUT_EFFECT)
    notes = (*_digest_notes(first, second), *_outcome_notes(first, second, outcome, suspects))
    return Difference(
        changes=changes,
        outcome=outcome,
        suspects=suspects,
        notes=(*dict.fromkeys((*_own_notes(first), *_own_notes(second))), *notes),
    )


def diff_tables(section: str, old: Mapping[str, Json], new: Mapping[str, Json]) -> list[Change]:
    """The changes between two flat tables, in the order of their addresses."""
    changes = []
    for address in sorted(old.keys() | new.keys(), key=natural_order):
        if address not in old:
            changes.append(_change(section, address, "added", None, new[address]))
        elif address not in new:
            changes.append(_change(section, address, "removed", old[address], None))
        elif not _same(old[address], new[address]):
            changes.append(_change(section, address, "changed", old[address], new[address]))
    return changes


def _diff_section(section: str, first: Side, second: Side) -> list[Change]:
    old, new = first.digests.get(section), second.digests.get(section)
    if old == new:
        return []
    if old is None or new is None:
        return [_change(section, "", "added" if old is None else "removed", old, new)]
    if first.payloads is None or second.payloads is None:
        return [_change(section, "", "changed", old, new)]
    changes = diff_tables(section, flatten(first.payloads[section]), flatten(second.payloads[section]))
    return _without_repeats(changes) or [_change(section, "", "changed", old, new)]


def _without_repeats(changes: list[Change]) -> list[Change]:
    """Leaves out a request that shows in what it resolved to, the digest of listed files, the file of a version."""
    paths = {change.path for change in changes}
    repeats = set()
    for path in paths:
        if path.startswith("code.resolved.files"):
            repeats.add("code.resolved.digest")
        if path.startswith("recipe.resolved.config"):
            repeats.add(path.replace("resolved.config", "requested.overrides", 1))
        if path.startswith(_EXTRAS) and path.endswith(".version"):
            repeats |= {f"{path.removesuffix('.version')}.{part}" for part in ("file", "size", "sha256")}
    return [change for change in changes if change.path not in repeats]


def _diff_observed(first: Side, second: Side) -> list[Change]:
    if not first.observed or not second.observed:
        return []
    old, new = (
        {name: value for name, value in side.observed.items() if name not in _MEASURED} for side in (first, second)
    )
    return diff_tables(OBSERVED, old, new)


def _change(
    section: str,
    address: str,
    kind: Literal["added", "removed", "changed"],
    old: Json,
    new: Json,
) -> Change:
    return Change(section=section, address=address, kind=kind, old=old, new=new)


def _same(old: Json, new: Json) -> bool:
    # In Python `True == 1`; in a lock they are two values.
    return old == new and repr(old) == repr(new)


def _own_notes(side: Side) -> Iterator[str]:
    for remark in side.remarks:
        yield f"{side.label}: {remark}"
    for section, reason in sorted(side.accepted.items()):
        yield f"{side.label}: drift in `{section}` was allowed: {reason}"


def _digest_notes(first: Side, second: Side) -> Iterator[str]:
    if not first.digests or not second.digests:
        return
    holders = [side.label for side in (first, second) if side.payloads is None]
    hold = "both hold" if len(holders) == 2 else f"{''.join(holders)} holds"
    for section in SECTION_NAMES if holders else ():
        if first.digests.get(section) != second.digests.get(section):
            yield f"section `{section}` differs; {hold} only its digest"


def _outcome_notes(
    first: Side, second: Side, outcome: Comparison | None, suspects: tuple[Change, ...]
) -> Iterator[str]:
    lacking = [side.label for side in (first, second) if side.outcome is None]
    if len(lacking) == 1:
        yield f"outcomes are not compared: {lacking[0]} has none"
    if outcome is None:
        return
    if not outcome.differs:
        final = " and the final parameters" if outcome.equal else ""
        steps = f"{outcome.steps_compared} step{'' if outcome.steps_compared == 1 else 's'}"
        yield f"the outcomes have the same bits in {steps}{final}"
    for words in outcome.not_compared:
        if words not in outcome.one_sided:
            yield f"not compared: {words}"
    if outcome.divergence and not suspects and not (first.accepted or second.accepted):
        yield "no input differs: the outcome differs by something that is not locked"
