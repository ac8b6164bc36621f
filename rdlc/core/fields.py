"""Typed reading of a parsed document: each getter knows the address of what it reads."""

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence

from rdlc.core.canonical import Json
from rdlc.core.document import NUMBER_LIMIT, Document, child_address
from rdlc.core.text import one_line
from rdlc.errors import InputError

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
# JSON can spell one as an escape; no UTF-8 file can hold it.
_SURROGATE = re.compile("[\ud800-\udfff]")
_DECIMAL = re.compile(r"[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?")


class Fields:
    """One mapping of a document; remembers which keys were asked for, to refuse the others."""

    def __init__(self, document: Document, value: Json, address: str = "") -> None:
        self.document = document
        self.address = address
        if not isinstance(value, Mapping):
            raise self._wrong(address, value, "a mapping of `key: value` lines")
        self.values: Mapping[str, Json] = value
        self._known: set[str] = set()

    @classmethod
    def of(cls, document: Document) -> "Fields":
        """The fields of the whole document."""
        return cls(document, document.value)

    def has(self, key: str) -> bool:
        """Whether the key stands there with a value."""
        self._known.add(key)
        return self.values.get(key) is not None

    def names(self) -> Iterator[str]:
        """The keys in the order of the file."""
        return iter(self.values)

    def text(self, key: str, *, default: str | None = None, choices: Sequence[str] = ()) -> str:
        """A non-empty text; a number is refused, since `1.10` and `"1.10"` differ."""
        value = self._get(key, default)
        if not isinstance(value, str) or not value:
            raise self._wrong(self._at(key), value, "a text")
        if not value.isascii() and _SURROGATE.search(value):
            raise self.error(key, "holds half of a surrogate pair, which is no character")
        if choices and value not in choices:
            near = difflib.get_close_matches(value, choices, n=1)
            hint = f"did you mean `{near[0]}`?" if near else None
            raise self.error(key, f"must be one of {_listed(choices)}, not `{one_line(value)}`", hint)
        return value

    def remark(self, key: str) -> str:
        """A text that may be empty; an absent one is."""
        return "" if self._get(key, "") == "" else self.text(key)

    def digest(self, key: str) -> str:
        """A text `sha256:<64 hex digits>`."""
        value = self._get(key, None)
        if not isinstance(value, str) or not _DIGEST.fullmatch(value):
            raise self._wrong(self._at(key), value, "`sha256:` and 64 hex digits")
        return value

    def count(self, key: str, *, default: int | None = None, least: int = 0, most: int = NUMBER_LIMIT) -> int:
        """A whole number between `least` and `most`."""
        value = self._get(key, default)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self._wrong(self._at(key), value, "a whole number")
        if not least <= value <= most:
            bounds = f"at least {least}" if most == NUMBER_LIMIT else f"from {least} to {most}"
            raise self.error(key, f"must be {bounds}, not {value}")
        return value

    def decimal(self, key: str, *, default: str | None = None) -> str:
        """A number greater than 0, kept as the text that was given."""
        value = self._get(key, default)
        text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
        if not isinstance(text, str) or not _DECIMAL.fullmatch(text) or len(text) > 20:
            raise self._wrong(self._at(key), value, "a number")
        if float(text) <= 0:
            raise self.error(key, f"must be greater than 0, not {text}")
        return text

    def flag(self, key: str, *, default: bool | None = None) -> bool:
        """True or false, written so."""
        value = self._get(key, default)
        if not isinstance(value, bool):
            raise self._wrong(self._at(key), value, "`true` or `false`")
        return value

    def below(self, key: str, *, default: Mapping[str, Json] | None = None) -> "Fields":
        """The fields of the mapping under the key."""
        return Fields(self.document, self._get(key, default), self._at(key))

    def items(self, key: str) -> Sequence[Json]:
        """A list; an absent one is empty."""
        value = self._get(key, [])
        if isinstance(value, str) or not isinstance(value, Sequence):
            raise self._wrong(self._at(key), value, "a list")
        return value

    def each(self, key: str) -> list["Fields"]:
        """The fields of every mapping in a list; an absent list is empty."""
        items = enumerate(self.items(key))
        return [Fields(self.document, item, f"{self._at(key)}[{index}]") for index, item in items]

    def texts(self, key: str, *, allow_empty: bool = False) -> tuple[str, ...]:
        """A list of texts, non-empty ones unless `allow_empty`; an absent list is empty."""
        result = []
        for index, item in enumerate(self.items(key)):
            if not isinstance(item, str) or not (item or allow_empty):
                raise self._wrong(f"{self._at(key)}[{index}]", item, "a text")
            result.append(item)
        return tuple(result)

    def table(self, key: str) -> dict[str, str]:
        """A mapping from text to text; an absent one is empty."""
        fields = self.below(key, default={})
        return {name: fields.text(name) for name in fields.names()}

    def remarks(self, key: str) -> dict[str, str]:
        """A mapping from text to text that may be empty; an absent one is empty."""
        fields = self.below(key, default={})
        return {name: fields.remark(name) for name in fields.names()}

    def scalars(self, key: str) -> dict[str, Json]:
        """A mapping to texts, numbers, truth values and lists of them; an absent one is empty."""
        fields = self.below(key, default={})
        return {name: fields.scalar(name) for name in fields.names()}

    def scalar(self, key: str) -> Json:
        """A text, number, truth value or a list of such; nothing deeper."""
        value = self._get(key, None)
        items = value if isinstance(value, list) else [value]
        for item in items:
            if item is None or not isinstance(item, str | int):
                raise self._wrong(self._at(key), item, "a text, a number, `true` or `false`")
        return value

    def finish(self) -> None:
        """Refuses what nobody asked for, with the nearest known key."""
        for key in self.values:
            if key not in self._known:
                near = difflib.get_close_matches(key, sorted(self._known), n=1)
                known = _listed(sorted(self._known))
                hint = f"did you mean `{near[0]}`?" if near else f"known here: {known}"
                raise self.error(key, "this key is not known here", hint)

    def error(self, key: str, message: str, hint: str | None = None) -> InputError:
        """An InputError that names the file, the line and the field."""
        return self._located(self._at(key), message, hint)

    def item_error(self, key: str, index: int, message: str, hint: str | None = None) -> InputError:
        """An InputError that names the file, the line and the place in the list under the key."""
        return self._located(f"{self._at(key)}[{index}]", message, hint)

    def _get(self, key: str, default: Json) -> Json:
        self._known.add(key)
        value = self.values.get(key)
        if value is None:
            if default is None:
                absent = "is missing" if key not in self.values else "has no value"
                raise self.error(key, absent)
            return default
        return value

    def _at(self, key: str) -> str:
        return child_address(self.address, key)

    def _wrong(self, address: str, value: Json, wanted: str) -> InputError:
        return self._located(address, f"must be {wanted}, not {_shown(value)}", None)

    def _located(self, address: str, message: str, hint: str | None) -> InputError:
        return InputError(message, hint=hint, file=self.document.place(address), field=one_line(address) or None)


def _listed(words: Sequence[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


def _shown(value: Json) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, int):
        return f"the number {value}"
    if isinstance(value, str):
        return f'the text "{one_line(value, limit=60)}"' if value else "an empty text"
    return "a list"
