"""A difference as lines for people, in words and not only in colour."""

import json
import re
from collections.abc import Iterator

from rich.console import Console

from rdlc.cli.console import write_line
from rdlc.cli.diff_image import rebuild_lines
from rdlc.cli.image_text import move_lines
from rdlc.core.canonical import Json
from rdlc.core.comparison import Comparison, Divergence
from rdlc.core.diff import Change, Difference
from rdlc.core.image.locked_moves import LockedMoves
from rdlc.operations.diff import Pair

WORDS = {"changed": "changed", "removed": "only in A", "added": "only in B"}

_STYLES = {"changed": "yellow", "removed": "red", "added": "green"}
_DIGEST = re.compile(r"\b([0-9a-f]{12})[0-9a-f]{52}\b")
_NAMES_SHOWN = 10


def write_pair(console: Console, pair: Pair, *, is_first: bool) -> None:
    """Writes both names, the changes by section, the outcome and the notes."""
    is_short = console.is_terminal
    if not is_first:
        write_line(console, "")
    write_line(console, f"A  {pair.first.label} ({pair.first.kind})")
    write_line(console, f"B  {pair.second.label} ({pair.second.kind})")
    difference = pair.difference
    if difference.is_empty:
        write_line(console, "\nno differences")
    for section, changes in difference.by_section().items():
        write_line(console, f"\n{section}", style="bold")
        for change in changes:
            write_line(console, f"  {_change_line(change, is_short)}", style=_STYLES[change.kind])
    if pair.image is not None:
        _write_rebuild(console, pair.image)
    _write_outcome(console, difference, is_short)
    if difference.notes:
        write_line(console, "\nnotes", style="bold")
    for note in difference.notes:
        write_line(console, f"  {note}")


def outcome_lines(outcome: Comparison) -> Iterator[str]:
    """What differs between two outcomes, the first divergent step first."""
    if outcome.divergence:
        yield from _divergence_lines(outcome.divergence)
    if outcome.ending:
        side = "A" if outcome.steps_expected < outcome.steps_found else "B"
        yield f"{side} {outcome.ending}"
    yield from outcome.one_sided


def suspect_lines(difference: Difference) -> Iterator[str]:
    """What may explain that the outcome is another one."""
    suspects = difference.suspects
    for change in suspects[:_NAMES_SHOWN]:
        yield f"may be the cause: {change.path}"
    if len(suspects) > _NAMES_SHOWN:
        yield f"may be the cause: {len(suspects) - _NAMES_SHOWN} more of the changes above"


def value_text(value: Json, *, is_short: bool) -> str:
    """A value as JSON; `is_short` keeps 12 hex digits of each digest."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    return _shortened(text) if is_short else text


def _shortened(text: str) -> str:
    return _DIGEST.sub(r"\1", text)


def _change_line(change: Change, is_short: bool) -> str:
    old = value_text(change.old, is_short=is_short)
    new = value_text(change.new, is_short=is_short)
    values = {"changed": f"{old} -> {new}", "removed": old, "added": new}[change.kind]
    return f"{WORDS[change.kind]:<9}  {change.subject or 'the whole section'}  {values}"


def _write_rebuild(console: Console, image: LockedMoves) -> None:
    write_line(console, "\nimage rebuild", style="bold")
    for line in (*rebuild_lines(image), *move_lines(image.moves)):
        write_line(console, f"  {line}" if line else "")


def _write_outcome(console: Console, difference: Difference, is_short: bool) -> None:
    if difference.outcome is None or not difference.outcome.differs:
        return
    write_line(console, "\noutcome", style="bold")
    for line in outcome_lines(difference.outcome):
        write_line(console, f"  {_shortened(line) if is_short else line}")
    for line in suspect_lines(difference):
        write_line(console, f"  {line}")


def _divergence_lines(divergence: Divergence) -> Iterator[str]:
    names = ", ".join(divergence.fields)
    yield f"first differs at step {divergence.step}: {names}"
    for item in divergence.differences:
        yield f"  {item.name}: {_both(item.expected)} in A, {_both(item.found)} in B"
    if divergence.tensor_step is not None:
        count = f"{len(divergence.tensors)} of {divergence.tensors_total} parameters differ"
        when = "before step 1" if divergence.tensor_step == 0 else f"after step {divergence.tensor_step}"
        yield f"  {count} {when}: {_some(divergence.tensors)}"


def _both(text: str) -> str:
    """A hex float with its decimal; any other text as it is."""
    is_float = "p" in text and text.lstrip("-").startswith("0x")
    return f"{text} ({float.fromhex(text)!r})" if is_float else text


def _some(names: tuple[str, ...]) -> str:
    shown = ", ".join(f"`{name}`" for name in names[:_NAMES_SHOWN])
    rest = len(names) - _NAMES_SHOWN
    return f"{shown} and {rest} more" if rest > 0 else shown
