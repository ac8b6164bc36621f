"""JSON from registries, read within bounds: whatever it holds, the only error is OutsideError."""

import json
import re
from collections.abc import Mapping

from rdlc.core.canonical import Json
from rdlc.core.image.reference import is_digest
from rdlc.core.text import one_line
from rdlc.errors import OutsideError

# The limit that registries themselves put on manifests.
JSON_LIMIT_BYTES = 4 << 20
SIZE_LIMIT = 1 << 53
DEPTH_LIMIT = 32

# Made once: making it takes as long as reading a manifest with it.
_DECODER = json.JSONDecoder(parse_float=str, parse_constant=str)
_MEDIA_TYPE = re.compile(r"[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]*/[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]*")


class JsonObject:
    """One object of a JSON document; each getter knows the address of what it reads.

    A member that is absent and one that is `null` are the same, as in Go, where images come from.
    """

    __slots__ = ("address", "values", "what")

    def __init__(self, value: object, *, what: str, address: str = "") -> None:
        self.what = what
        self.address = address
        if not isinstance(value, dict):
            raise self._wrong(address, "is not an object")
        self.values: dict[str, Json] = value

    @classmethod
    def parse(cls, data: bytes, *, what: str) -> "JsonObject":
        """The object that the bytes spell; `what` names the document in messages."""
        if len(data) > JSON_LIMIT_BYTES:
            raise OutsideError(f"the {what} is larger than {JSON_LIMIT_BYTES >> 20} MiB")
        try:
            value = _DECODER.decode(data.decode("utf-8"))
            if b"\\u" in data:  # half a surrogate pair is JSON, but no text that could be hashed
                json.dumps(value, ensure_ascii=False).encode("utf-8")
        except (ValueError, RecursionError) as error:
            start = one_line(data[:60].decode("utf-8", errors="replace"), limit=60)
            raise OutsideError(
                f"the {what} is not JSON, it starts with `{start}`",
                hint="a proxy or a login page may answer instead of the registry",
            ) from error
        return cls(value, what=what)

    def has(self, key: str) -> bool:
        """Whether the member is there and not `null`."""
        return self.values.get(key) is not None

    def text(self, key: str, *, default: str | None = None) -> str:
        """A text; without a default it must be there."""
        value = self.values.get(key)
        if value is None and default is not None:
            return default
        if not isinstance(value, str):
            raise self._wrong(self._at(key), "is missing" if value is None else "is not a text")
        return value

    def whole(self, key: str, *, most: int = SIZE_LIMIT) -> int:
        """A whole number from 0 on."""
        value = self.values.get(key)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
            raise self._wrong(self._at(key), f"is not a whole number from 0 to {most}")
        return value

    def digest(self, key: str) -> str:
        """A digest `sha256:...` or `sha512:...`."""
        value = self.text(key)
        if not is_digest(value):
            raise self._wrong(self._at(key), f"is no digest: `{one_line(value, limit=80)}`")
        return value

    def media_type(self, key: str, *, default: str | None = None) -> str:
        """A media type such as `application/json`; an empty one counts as absent."""
        value = self.text(key, default=default)
        if value == "" and default is not None:
            return default
        if value and not _MEDIA_TYPE.fullmatch(value):
            raise self._wrong(self._at(key), f"is no media type: `{one_line(value, limit=80)}`")
        return value

    def tree(self, key: str) -> Json:
        """Whatever is there, as far as it can be hashed; None if nothing is."""
        value = self.values.get(key)
        if not _is_shallow(value):
            raise self._wrong(self._at(key), f"nests deeper than {DEPTH_LIMIT} levels")
        return value

    def below(self, key: str) -> "JsonObject":
        """The object under the key; an absent one is empty."""
        value = self.values.get(key)
        return JsonObject({} if value is None else value, what=self.what, address=self._at(key))

    def objects(self, key: str, *, most: int) -> "list[JsonObject]":
        """A list of objects; an absent one is empty."""
        return [
            JsonObject(item, what=self.what, address=f"{self._at(key)}[{index}]")
            for index, item in enumerate(self._items(key, most=most))
        ]

    def texts(self, key: str, *, most: int) -> tuple[str, ...]:
        """A list of texts; an absent one is empty."""
        result = []
        for index, item in enumerate(self._items(key, most=most)):
            if not isinstance(item, str):
                raise self._wrong(f"{self._at(key)}[{index}]", "is not a text")
            result.append(item)
        return tuple(result)

    def digests(self, key: str, *, most: int) -> tuple[str, ...]:
        """A list of digests; an absent one is empty."""
        values = self.texts(key, most=most)
        for index, value in enumerate(values):
            if not is_digest(value):
                raise self._wrong(f"{self._at(key)}[{index}]", f"is no digest: `{one_line(value)}`")
        return values

    def table(self, key: str) -> Mapping[str, str]:
        """A mapping from text to text, sorted; an absent one is empty."""
        if not self.has(key):
            return {}
        fields = self.below(key)
        return {name: fields.text(name) for name in sorted(fields.values)}

    def wrong(self, key: str, problem: str) -> OutsideError:
        """The error that names the document and the member."""
        return self._wrong(self._at(key), problem)

    def _items(self, key: str, *, most: int) -> list[Json]:
        value = self.values.get(key)
        if value is None:
            return []
        if not isinstance(value, list):
            raise self._wrong(self._at(key), "is not a list")
        if len(value) > most:
            raise self._wrong(self._at(key), f"has {len(value)} entries, more than {most}")
        return value

    def _at(self, key: str) -> str:
        return f"{self.address}.{key}" if self.address else key

    def _wrong(self, address: str, problem: str) -> OutsideError:
        where = f"`{one_line(address)}` of the {self.what}" if address else f"the {self.what}"
        return OutsideError(f"{where} {problem}")


def _is_shallow(value: object) -> bool:
    level = [value]
    for _ in range(DEPTH_LIMIT):
        level = [
            child
            for item in level
            if isinstance(item, dict | list)
            for child in (item.values() if isinstance(item, dict) else item)
        ]
        if not level:
            return True
    return False
