"""JSON that a training wrote, line by line or as one file: untrusted, bounded, with its place."""

import json
import math
import re
from collections.abc import Iterator
from typing import Any

from rdlc.core.canonical import Json
from rdlc.core.document import Document
from rdlc.core.fields import Fields
from rdlc.core.text import one_line
from rdlc.errors import InputError

LINE_LIMIT_BYTES = 8 << 20

_HEX_FLOAT = re.compile(r"-?0x[0-9a-f]+(\.[0-9a-f]*)?(p[-+]?[0-9]{1,5})?|-?inf|nan", re.IGNORECASE)
_FINGERPRINT = re.compile(r"0x[0-9a-f]{16}")
_DECIMAL = re.compile(r"[0-9]+(\.[0-9]+)?(e[-+]?[0-9]{1,3})?", re.IGNORECASE)


class Decimal(str):
    """A number with a point or an exponent, as it was written."""

    __slots__ = ()


def read_json_lines(data: bytes, *, name: str, limit_bytes: int) -> Iterator[Fields]:
    """The mapping on each whole line.

    A last line without its line end was cut by a kill, and is left out.
    """
    if len(data) > limit_bytes:
        raise InputError(f"the file is larger than {limit_bytes >> 20} MiB", file=name)
    for number, line in enumerate(data.split(b"\n")[:-1], start=1):
        yield _read_json(line, name=name, number=number, limit_bytes=LINE_LIMIT_BYTES)


def read_json_file(data: bytes, *, name: str, limit_bytes: int) -> Fields:
    """The mapping that the whole file is."""
    return _read_json(data, name=name, number=1, limit_bytes=limit_bytes)


def fields_at(name: str, value: Json, *, line: int, address: str = "") -> Fields:
    """The fields of a value of which every part stands on the same line of a file."""
    return Fields(Document(name=name, value=value, lines={"": line}), value, address)


def hex_float(fields: Fields, key: str) -> str:
    """A float as C99 hex text, in the one spelling of `float.hex`; so are `inf`, `-inf`, `nan`."""
    text = fields.text(key)
    if len(text) > 64 or not _HEX_FLOAT.fullmatch(text):
        shown = one_line(text, limit=60)
        raise fields.error(key, f'must be a float in hex, as "0x1.8p+1", not "{shown}"')
    try:
        return float.fromhex(text).hex()
    except OverflowError as error:
        raise fields.error(key, f'"{text}" is larger than a float can be') from error


def fingerprint(fields: Fields, key: str) -> str:
    """A fingerprint of parameters: `0x` and 16 hex digits."""
    text = fields.text(key)
    if not _FINGERPRINT.fullmatch(text):
        raise fields.error(key, f'must be `0x` and 16 hex digits, not "{one_line(text, limit=60)}"')
    return text


def decimal_text(fields: Fields, key: str) -> str:
    """A number of at least 0, as text that stays as it was given."""
    text = fields.text(key)
    if len(text) > 40 or not _DECIMAL.fullmatch(text):
        raise fields.error(key, f'must be a number as text, not "{one_line(text, limit=60)}"')
    return text


def seconds(fields: Fields, key: str) -> float:
    """A measured time of at least 0 s; no text."""
    value: Any = fields.values.get(key)
    if fields.has(key) and isinstance(value, int | Decimal) and not isinstance(value, bool):
        number = _number(value)
        if math.isfinite(number) and number >= 0:
            return number
        shown = one_line(str(value), limit=60)
        raise fields.error(key, f"must be seconds, at least 0, not {shown}")
    fields.count(key)
    raise fields.error(key, "must be a number of seconds")


def _number(value: int | Decimal) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _read_json(data: bytes, *, name: str, number: int, limit_bytes: int) -> Fields:
    place = f"{name}:{number}"
    if len(data) > limit_bytes:
        raise InputError(f"the line is longer than {limit_bytes >> 20} MiB", file=place)
    try:
        text = data.decode("utf-8")
        value = json.loads(text, parse_float=Decimal, parse_constant=_refuse_constant, object_pairs_hook=_mapping)
    except (ValueError, RecursionError) as error:
        problem = "nests too deep" if isinstance(error, RecursionError) else one_line(str(error))
        raise InputError(f"not JSON: {problem}", file=place) from error
    return fields_at(name, value, line=number)


def _refuse_constant(text: str) -> None:
    raise ValueError(f"`{text}` is no JSON number")


def _mapping(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    mapping = dict(pairs)
    if len(mapping) != len(pairs):
        names = [key for key, _ in pairs]
        twice = next(key for key in names if names.count(key) > 1)
        raise ValueError(f"`{one_line(twice)}` stands here twice")
    return mapping
