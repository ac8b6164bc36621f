"""Which attributes of a resource differ between the world and the lock, with both values as text."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from rdlc.core.canonical import Json, canonical_bytes
from rdlc.core.text import one_line

ABSENT = "not there"
HIDDEN = "(sensitive)"
UNKNOWN = "(known after apply)"
_VALUE_LIMIT = 400
_DEPTH_LIMIT = 32


@dataclass(frozen=True, kw_only=True, slots=True)
class AttributeChange:
    """One attribute: its path, the value that the world has, and the one that the lock asks for."""

    path: str
    seen: str
    locked: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Sides:
    """A value before and after, and what is unknown or sensitive of it, as a plan tells them."""

    before: Json
    after: Json
    unknown: Json = False
    sensitive: Json = False


def changed_attributes(sides: Sides) -> tuple[AttributeChange, ...]:
    """Every attribute that really differs, in the order of the paths.

    Left out is what differs in form alone (null and an empty value), what is only computed anew, and
    `tags_all`, which repeats `tags`.
    """
    found = {change.path: change for change in _walk("", sides, 0)}
    is_tagged = any(path.partition(".")[0] == "tags" for path in found)
    return tuple(
        change for path, change in sorted(found.items()) if not (is_tagged and path.partition(".")[0] == "tags_all")
    )


def show_value(value: Json) -> str:
    """A value as one line of text: a text as it is, anything else as JSON."""
    if _is_empty(value):
        return ABSENT if value is None else "(empty)"
    text = value if isinstance(value, str) else canonical_bytes(value).decode("utf-8")
    return one_line(text, limit=_VALUE_LIMIT)


def _walk(path: str, sides: Sides, depth: int) -> Iterator[AttributeChange]:
    before, after = sides.before, sides.after
    if sides.unknown is True or before == after or (_is_empty(before) and _is_empty(after)):
        return
    if sides.sensitive is True:
        yield AttributeChange(path=path, seen=HIDDEN, locked=HIDDEN)
    elif depth < _DEPTH_LIMIT and isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in sorted(before.keys() | after.keys()):
            yield from _walk(
                f"{path}.{key}" if path else key, _below(sides, before.get(key), after.get(key), key), depth + 1
            )
    elif depth < _DEPTH_LIMIT and _has_mappings(before) and _has_mappings(after):
        yield from _walk_items(path, sides, depth)
    else:
        yield AttributeChange(path=path, seen=_shown(sides, before), locked=_shown(sides, after))


def _walk_items(path: str, sides: Sides, depth: int) -> Iterator[AttributeChange]:
    """Compares blocks: those that stand on both sides in any order are taken away first."""
    assert isinstance(sides.before, Sequence)
    assert isinstance(sides.after, Sequence)
    after = list(enumerate(sides.after))
    before: list[tuple[int, Json]] = []
    for index, item in enumerate(sides.before):
        same = next((pair for pair in after if pair[1] == item), None)
        if same is None:
            before.append((index, item))
        else:
            after.remove(same)
    for seen, wanted in zip_longest(before, after):
        index = (wanted or seen)[0]
        sides_below = _below(sides, seen[1] if seen else None, wanted[1] if wanted else None, index)
        yield from _walk(f"{path}[{index}]", sides_below, depth + 1)


def _below(sides: Sides, before: Json, after: Json, key: str | int) -> Sides:
    return Sides(
        before=before,
        after=after,
        unknown=_mark_below(sides.unknown, key),
        sensitive=_mark_below(sides.sensitive, key),
    )


def _mark_below(mark: Json, key: str | int) -> Json:
    if isinstance(mark, Mapping) and isinstance(key, str):
        return mark.get(key, False)
    if isinstance(mark, list) and isinstance(key, int) and key < len(mark):
        below: Json = mark[key]
        return below
    return mark is True


def _has_mappings(value: Json) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, Mapping) for item in value)


def _is_empty(value: Json) -> bool:
    return value is None or value in ("", [], {})


def _shown(sides: Sides, value: Json) -> str:
    # A part of it may be sensitive: then none of it is shown.
    return HIDDEN if _holds_true(sides.sensitive) else show_value(value)


def _holds_true(mark: Json) -> bool:
    if isinstance(mark, Mapping):
        return any(_holds_true(item) for item in mark.values())
    if isinstance(mark, list):
        return any(_holds_true(item) for item in mark)
    return mark is True
