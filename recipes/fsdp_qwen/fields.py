"""Typed access to one JSON object, with the address of the field in every error."""

import math
import re
from collections.abc import Mapping

from fsdp_qwen.failures import ConfigError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_DECIMAL = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?", re.ASCII)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


class Fields:
    """A reader over one object: each method takes a field out, `finish` refuses what nobody took."""

    def __init__(self, document: object, address: str) -> None:
        if not isinstance(document, dict):
            where = address or "the config"
            raise ConfigError(f"{where}: must be an object, found {_shown(document)}")
        self._left: dict[str, object] = dict(document)
        self._address = address

    def section(self, name: str) -> "Fields":
        """A reader over the object in this field."""
        return Fields(self._take(name), self._at(name))

    def optional_section(self, name: str) -> "Fields | None":
        """A reader over the object in this field, or None if the field is missing."""
        return self.section(name) if name in self._left else None

    def whole(self, name: str, *, at_least: int, at_most: int | None = None, default: int | None = None) -> int:
        """A whole number in a range; the default stands in for a missing field."""
        if default is not None and name not in self._left:
            return default
        value = self._take(name)
        limit = f" to {at_most}" if at_most is not None else " up"
        is_whole = isinstance(value, int) and not isinstance(value, bool)
        if not is_whole or value < at_least or (at_most is not None and value > at_most):  # type: ignore[operator]
            self._refuse(name, f"must be a whole number from {at_least}{limit}", value)
        assert isinstance(value, int)
        return value

    def number(self, name: str, *, above: float | None = None, default: float | None = None) -> float:
        """A decimal number given as text, above a limit or else from 0 up."""
        if default is not None and name not in self._left:
            return default
        return self._number(name, self._take(name), above=above)

    def pair(self, name: str, *, below: float) -> tuple[float, float]:
        """Two decimal numbers given as text, each from 0 up to below the limit."""
        value = self._take(name)
        if not isinstance(value, list) or len(value) != 2:
            self._refuse(name, "must be a list of two decimal numbers as text", value)
        assert isinstance(value, list)
        first, second = (self._number(f"{name}[{i}]", item, below=below) for i, item in enumerate(value))
        return first, second

    def choice(self, name: str, allowed: tuple[str, ...], *, default: str | None = None) -> str:
        """One of a closed list of words."""
        if default is not None and name not in self._left:
            return default
        value = self._take(name)
        if value not in allowed:
            self._refuse(name, "must be one of " + ", ".join(f"`{word}`" for word in allowed), value)
        assert isinstance(value, str)
        return value

    def flag(self, name: str, *, default: bool) -> bool:
        """True or false; the default stands in for a missing field."""
        if name not in self._left:
            return default
        value = self._take(name)
        if not isinstance(value, bool):
            self._refuse(name, "must be true or false", value)
        assert isinstance(value, bool)
        return value

    def name(self, name: str) -> str:
        """A name that is safe as a folder's name."""
        value = self._take(name)
        if not isinstance(value, str) or not _NAME.fullmatch(value):
            self._refuse(name, "must be 1 to 100 letters, digits, `.`, `_` or `-`", value)
        assert isinstance(value, str)
        return value

    def optional_text(self, name: str) -> str | None:
        """Text, or None for null."""
        value = self._take(name)
        if value is not None and not (isinstance(value, str) and value):
            self._refuse(name, "must be text or null", value)
        return value if isinstance(value, str) else None

    def matching(self, name: str, pattern: re.Pattern[str], rule: str) -> tuple[str, ...]:
        """A list of texts, each of which is wholly of the pattern; `rule` says so in words."""
        value = self._take(name)
        if not isinstance(value, list):
            self._refuse(name, "must be a list", value)
        assert isinstance(value, list)
        for index, item in enumerate(value):
            if not isinstance(item, str) or not pattern.fullmatch(item):
                self._refuse(f"{name}[{index}]", f"must be {rule}", item)
        return tuple(value)

    def texts(self, name: str) -> Mapping[str, str]:
        """A mapping of environment variable names to text, sorted by name."""
        value = self._take(name)
        if not isinstance(value, dict):
            self._refuse(name, "must be an object", value)
        assert isinstance(value, dict)
        for key, item in value.items():
            if not _VARIABLE.fullmatch(key):
                raise ConfigError(f"{self._at(name)}: `{key}` is not the name of an environment variable")
            if not isinstance(item, str) or "\0" in item:
                self._refuse(f"{name}.{key}", "must be text", item)
        return dict(sorted(value.items()))

    def finish(self) -> None:
        """Refuses the first field, in name order, that was not asked for."""
        for name in sorted(self._left):
            raise ConfigError(f"{self._at(name)}: is not a known field")

    def _take(self, name: str) -> object:
        if name not in self._left:
            raise ConfigError(f"{self._at(name)}: is missing")
        return self._left.pop(name)

    def _at(self, name: str) -> str:
        return f"{self._address}.{name}" if self._address else name

    def _refuse(self, name: str, rule: str, value: object) -> None:
        raise ConfigError(f"{self._at(name)}: {rule}, found {_shown(value)}")

    def _number(self, name: str, value: object, *, above: float | None = None, below: float = math.inf) -> float:
        rule = f"above {above:g}" if above is not None else "from 0 up"
        limit = f" and below {below:g}" if below != math.inf else ""
        number = float(value) if isinstance(value, str) and _DECIMAL.fullmatch(value) else math.nan
        # A comparison with nan is false, so text that is no number falls through to the refusal.
        is_inside = number > above if above is not None else number >= 0.0
        if not (is_inside and number < below):
            self._refuse(name, f"must be a decimal number as text, {rule}{limit}", value)
        return number


def _shown(value: object) -> str:
    """A value for a message: kind and text, short and printable."""
    if isinstance(value, str):
        text = "".join(c if c.isprintable() else "?" for c in value)
        return f"the text `{text[:60]}`"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return f"the number {value}"
    return "an object" if isinstance(value, dict) else "a list"
