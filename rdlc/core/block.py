"""The written form of locks and baselines: YAML in which every value is JSON on one line.

A mapping is a block of `key: value` lines, two spaces deeper than its own key; lists, texts and
numbers are JSON. Any YAML reader takes it, and ten lines of standard Python do (`lock/README.md`).
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from rdlc.core.canonical import Json
from rdlc.core.document import (
    CONTROL,
    DEPTH_LIMIT,
    NUMBER_LIMIT,
    Document,
    child_address,
    decode_text,
    parse_document,
)
from rdlc.errors import InputError

_PLAIN_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_/+-]*(\.[A-Za-z0-9_/+-]+)*")
# What a YAML 1.1 reader takes for a truth value or nothing, though it is a text to us.
_AMBIGUOUS = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}
# JSON leaves these as they are; YAML does not count them as printable.
_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff\ufffe\uffff]")
_ENCODER = json.JSONEncoder(ensure_ascii=False, sort_keys=True)
# A text that JSON and YAML write as it is, between quotes.
_SIMPLE = re.compile(r'"[ !#-\[\]-~]*"')
_ROW = re.compile(r'( *)("(?:[^"\\]|\\.)*"|[A-Za-z][^: "]*):(?: (.+))?')


def write_block(value: Mapping[str, Json], *, indent: str = "") -> str:
    """The lines of a mapping, in the order of its keys; the same value gives the same text."""
    lines = []
    for key, item in value.items():
        if isinstance(item, Mapping) and item:
            lines.append(f"{indent}{_key(key)}:\n{write_block(item, indent=indent + '  ')}")
        else:
            lines.append(f"{indent}{_key(key)}: {_flow(item)}\n")
    return "".join(lines)


def sort_tree(value: Json) -> Json:
    """The same value with the keys of every mapping sorted."""
    if isinstance(value, Mapping):
        return {key: sort_tree(value[key]) for key in sorted(value)}
    if isinstance(value, list | tuple):
        return [sort_tree(item) for item in value]
    return value


def _key(key: str) -> str:
    plain = _PLAIN_KEY.fullmatch(key) and key.lower() not in _AMBIGUOUS
    return key if plain else _flow(key)


def _flow(value: Json) -> str:
    text = _ENCODER.encode(value)
    return _UNPRINTABLE.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def parse_block(data: bytes, *, name: str, limit_bytes: int) -> Document:
    """The value of a file that should be of the written form, as `parse_document` gives it.

    What is of that form is read line by line, ten times as quick as YAML. Everything else is left to
    the YAML reader; what that refuses is reported at the first line that is not of the form, where
    the damage is.
    """
    text = decode_text(data, name=name, limit_bytes=limit_bytes).replace("\r\n", "\n")
    try:
        value, lines = _read_block(text)
    except _NotBlockError as broken:
        return _parse_other(data, name=name, limit_bytes=limit_bytes, line=broken.line)
    return Document(name=name, value=value, lines=lines)


def _parse_other(data: bytes, *, name: str, limit_bytes: int, line: int) -> Document:
    try:
        return parse_document(data, name=name, limit_bytes=limit_bytes)
    except InputError as error:
        if error.message.startswith(("YAML ", "the YAML ")):
            # An anchor or a tag, refused where it stands: no damage.
            raise
        place = f"{name}:{line}"
        field = error.field if error.file == place else None
        raise InputError(error.message, hint=error.hint, file=place, field=field) from error


class _NotBlockError(ValueError):
    """The text is not of the written form; `line` (from 1) is the first that is not."""

    def __init__(self, line: int) -> None:
        super().__init__(f"line {line} is not of the written form")
        self.line = line


def _read_block(text: str) -> tuple[dict[str, Json], dict[str, int]]:
    top: dict[str, Json] = {}
    lines = {"": 1}
    levels, is_due = [(top, "")], True
    rows = text.split("\n")
    for number, row in enumerate(rows[:-1], start=1):
        depth, key, has_value, value = _read_row(row, number)
        # One level deeper under a key without a value, never deeper elsewhere; no key twice.
        if depth >= len(levels) or (is_due and depth + 1 != len(levels)) or key in levels[depth][0]:
            raise _NotBlockError(number)
        del levels[depth + 1 :]
        mapping, address = levels[depth]
        address = child_address(address, key)
        mapping[key], lines[address] = value, number
        if is_due := not has_value:
            levels.append((value, address))
        elif isinstance(value, list):
            lines |= {f"{address}[{index}]": number for index in range(len(value))}
    if is_due or rows[-1]:
        raise _NotBlockError(len(rows))
    return top, lines


def _read_row(row: str, number: int) -> tuple[int, str, bool, Any]:
    """Depth, key, whether a value stands on the line, and the value; a mapping follows otherwise."""
    match = _ROW.fullmatch(row)
    if match is None or len(match[1]) % 2 or len(match[1]) > 2 * DEPTH_LIMIT:
        raise _NotBlockError(number)
    indent, written_key, written = match.groups()
    try:
        key = _read_flow(written_key) if written_key.startswith('"') else written_key
        value = {} if written is None else _read_flow(written)
    except (ValueError, RecursionError) as error:
        raise _NotBlockError(number) from error
    if _key(key) != written_key:
        raise _NotBlockError(number)
    return len(indent) // 2, key, written is not None, value


def _read_flow(written: str) -> Any:
    """The value of JSON on one line; raises ValueError if `_flow` does not write it so."""
    if _SIMPLE.fullmatch(written):
        return written[1:-1]
    value = json.loads(written)
    if _flow(value) != written or not _is_plain(value, 0):
        raise ValueError("not of the written form")
    return value


def _is_plain(value: Any, depth: int) -> bool:
    """Whether this is what `parse_document` would give too; there is no need to decide the rest."""
    if isinstance(value, str):
        return not CONTROL.search(value)
    if isinstance(value, int):
        return abs(value) <= NUMBER_LIMIT
    if isinstance(value, list):
        return depth < 2 and all(_is_plain(item, depth + 1) for item in value)
    if isinstance(value, dict):
        items = (*value, *value.values())
        return (depth > 0 or not value) and depth < 2 and all(_is_plain(i, depth + 1) for i in items)
    return value is None
