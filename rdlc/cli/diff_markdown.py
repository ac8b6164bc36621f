"""A difference as Markdown for a comment on a change: all that comes from files is a code span."""

import re

from rich.console import Console

from rdlc.cli.console import write_line
from rdlc.cli.diff_image import rebuild_lines
from rdlc.cli.diff_text import WORDS, outcome_lines, suspect_lines, value_text
from rdlc.core.diff import Change
from rdlc.core.image.locked_moves import LockedMoves
from rdlc.core.image.moves import Move
from rdlc.core.text import one_line
from rdlc.operations.diff import Pair


def write_markdown(console: Console, pair: Pair, *, is_first: bool) -> None:
    """Writes a heading, a table for each section, the outcome and the notes."""
    if not is_first:
        write_line(console, "")
    first, second, difference = pair.first, pair.second, pair.difference
    write_line(console, f"### {first.kind} A and {second.kind} B\n")
    write_line(console, f"- A: {code_span(first.label)}")
    write_line(console, f"- B: {code_span(second.label)}")
    if difference.is_empty:
        write_line(console, "\nNo differences.")
    for section, changes in difference.by_section().items():
        write_line(console, f"\n#### {section}\n")
        write_line(console, "| | address | A | B |\n|---|---|---|---|")
        for change in changes:
            write_line(console, _row(change))
    if pair.image is not None:
        _write_rebuild(console, pair.image)
    if difference.outcome and difference.outcome.differs:
        lines = [*outcome_lines(difference.outcome), *suspect_lines(difference)]
        _write_list(console, "outcome", lines)
    _write_list(console, "notes", list(difference.notes))


def code_span(text: str) -> str:
    """The text as a code span that also holds in a table cell: no pipe or backtick ends it."""
    text = one_line(text, limit=1 << 20).replace("|", "\\|")
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    edge = " " if text.startswith("`") or text.endswith("`") or not text else ""
    return f"{fence}{edge}{text}{edge}{fence}"


def _row(change: Change) -> str:
    old = "" if change.kind == "added" else code_span(value_text(change.old, is_short=False))
    new = "" if change.kind == "removed" else code_span(value_text(change.new, is_short=False))
    address = code_span(change.subject) if change.address else "the whole section"
    return f"| {WORDS[change.kind]} | {address} | {old} | {new} |"


def _write_rebuild(console: Console, image: LockedMoves) -> None:
    _write_list(console, "image rebuild", list(rebuild_lines(image)))
    if image.moves.moves:
        write_line(console, "\n| group | name | A | B | risk |\n|---|---|---|---|---|")
    for move in image.moves.moves:
        write_line(console, _move_row(move))


def _move_row(move: Move) -> str:
    name = move.name if move.place == "component" else f"{move.name} ({move.place})"
    old, new = ("" if version is None else code_span(version) for version in (move.old, move.new))
    return f"| {move.group} | {code_span(name)} | {old} | {new} | {move.risk or ''} |"


def _write_list(console: Console, heading: str, lines: list[str]) -> None:
    if lines:
        write_line(console, f"\n#### {heading}\n")
    for line in lines:
        write_line(console, f"- {code_span(line.strip())}")
