"""YAML that people or programs hand us, read within bounds.

The safe YAML 1.2 reading, minus what a lock never needs: anchors, aliases, tags, several documents,
duplicate keys. Numbers with a point or an exponent stay the text that was given. Every value keeps
its line, so that a message can say where.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    DocumentStartEvent,
    Event,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
    SequenceStartEvent,
)

from rdlc.core.canonical import Json
from rdlc.core.text import one_line
from rdlc.errors import InputError

SPEC_LIMIT_BYTES = 1 << 20
LOCK_LIMIT_BYTES = 64 << 20
DEPTH_LIMIT = 32
NUMBER_LIMIT = 1 << 53

_WHOLE = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_CONFLICT = re.compile(rb"^(<<<<<<< |=======\r?$|>>>>>>> )", re.MULTILINE)
# No text of a spec or lock holds one of these, not even written as an escape.
CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


@dataclass(frozen=True, kw_only=True, slots=True)
class Document:
    """One parsed file: its value, and the line (from 1) at which each address stands.

    `overlaid` are the addresses whose values came from the command line instead.
    """

    name: str
    value: Json
    lines: dict[str, int] = field(repr=False)
    overlaid: tuple[str, ...] = ()

    def place(self, address: str) -> str:
        """Where a value stands: `run.yaml:7`, or `--set recipe.seed` for one of the command line."""
        for overlaid in self.overlaid:
            if f"{address}.".startswith(f"{overlaid}.") or f"{overlaid}.".startswith(f"{address}."):
                return f"--set {overlaid}"
        return f"{self.name}:{self.line(address)}"

    def line(self, address: str) -> int:
        """The line of the address, or of the nearest part of it that exists."""
        while address and address not in self.lines:
            address = address.rpartition(".")[0]
        return self.lines.get(address, 1)


def parse_document(data: bytes, *, name: str, limit_bytes: int = SPEC_LIMIT_BYTES) -> Document:
    """The value of a YAML file and the lines of its parts; raises InputError with file and line."""
    text = decode_text(data, name=name, limit_bytes=limit_bytes)
    reader = _Reader(name)
    try:
        value = reader.read(YAML(typ="safe", pure=True).parse(text))
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f":{mark.line + 1}" if mark else ""
        problem = one_line(str(error.problem or error.context or "cannot be parsed"))
        raise InputError(f"not YAML: {problem}", file=name + line) from error
    except (YAMLError, ValueError, OverflowError) as error:
        raise InputError(f"not YAML: {one_line(str(error))}", file=name) from error
    return Document(name=name, value=value, lines=reader.lines)


def child_address(address: str, key: str) -> str:
    """The address of a key below an address; a key with dots in it stands in brackets."""
    if "." in key or "[" in key:
        return f'{address}["{key}"]'
    return f"{address}.{key}" if address else key


def decode_text(data: bytes, *, name: str, limit_bytes: int) -> str:
    """The text of a file, refused with file and line if it is not what a person or program wrote."""
    if len(data) > limit_bytes:
        raise InputError(f"the file is larger than {limit_bytes // 1024} KiB", file=name)
    if (position := data.find(b"\0")) >= 0:
        line = data.count(b"\n", 0, position) + 1
        raise InputError("the file holds a NUL byte: it is not text", file=f"{name}:{line}")
    if marker := _CONFLICT.search(data):
        line = data.count(b"\n", 0, marker.start()) + 1
        raise InputError(
            "the file holds git conflict markers",
            file=f"{name}:{line}",
            hint="take one side with `git checkout --ours` or `--theirs`, then `rdlc lock` again",
        )
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError("the file is not UTF-8 text", file=f"{name}:{line}") from error
    if not text.strip():
        raise InputError("the file is empty", file=name)
    return text


class _Reader:
    """Builds plain values from the event stream, so that nothing is expanded before it is allowed."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.lines: dict[str, int] = {}

    def read(self, events: Iterator[Event]) -> Json:
        value: Json = None
        documents = 0
        for event in events:
            if isinstance(event, DocumentStartEvent):
                documents += 1
                if documents > 1:
                    raise self._error(event, "", "holds several YAML documents, one is allowed")
            elif isinstance(event, NodeEvent):
                value = self._value(event, events, "", 0)
        return value

    def _value(self, event: Event, events: Iterator[Event], address: str, depth: int) -> Json:
        self._refuse_extras(event, address)
        if depth > DEPTH_LIMIT:
            raise self._error(event, "", f"nests deeper than {DEPTH_LIMIT} levels")
        self.lines[address] = event.start_mark.line + 1
        if isinstance(event, MappingStartEvent):
            return self._mapping(events, address, depth)
        if isinstance(event, SequenceStartEvent):
            items: list[Json] = []
            for item in events:
                if isinstance(item, CollectionEndEvent):
                    return items
                items.append(self._value(item, events, f"{address}[{len(items)}]", depth + 1))
        return self._scalar(event, address)

    def _mapping(self, events: Iterator[Event], address: str, depth: int) -> Json:
        result: dict[str, Json] = {}
        for event in events:
            if isinstance(event, CollectionEndEvent):
                break
            self._refuse_extras(event, address)
            if not isinstance(event, ScalarEvent):
                raise self._error(event, address, "a key must be plain text")
            key = event.value
            below = child_address(address, key)
            if CONTROL.search(key):
                raise self._error(event, address, "a key holds a control character")
            if key in result:
                raise self._error(event, below, f"`{one_line(key)}` stands here twice")
            result[key] = self._value(next(events), events, below, depth + 1)
            # Where the key stands; the first line of a block below it is the next one.
            self.lines[below] = event.start_mark.line + 1
        return result

    def _scalar(self, event: Event, address: str) -> Json:
        assert isinstance(event, ScalarEvent)
        text: str = event.value
        if CONTROL.search(text):
            raise self._error(event, address, "the text holds a control character")
        if event.style is not None:
            return text
        if text in {"", "~", "null", "Null", "NULL"}:
            return None
        if text in {"true", "True", "TRUE", "false", "False", "FALSE"}:
            return text.lower() == "true"
        if len(text) < 20 and _WHOLE.fullmatch(text) and abs(int(text)) <= NUMBER_LIMIT:
            return int(text)
        return text

    def _refuse_extras(self, event: Event, address: str) -> None:
        if isinstance(event, AliasEvent) or getattr(event, "anchor", None):
            raise self._error(event, address, "YAML anchors and aliases are not allowed")
        if tag := getattr(event, "tag", None):
            raise self._error(event, address, f"the YAML tag `{one_line(str(tag))}` is not allowed")

    def _error(self, event: Event, address: str, message: str) -> InputError:
        line = event.start_mark.line + 1
        return InputError(message, file=f"{self.name}:{line}", field=address or None)
