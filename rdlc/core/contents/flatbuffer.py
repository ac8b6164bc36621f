"""Reading FlatBuffers from a window of a file, every offset checked.

A table starts with the distance back to its vtable; that lists, for each field, where the value lies
from the start of the table, 0 for an absent one. All numbers are little-endian.
"""

import struct
from dataclasses import dataclass, field

from rdlc.errors import InputError

_U8, _U16, _U32 = struct.Struct("<B"), struct.Struct("<H"), struct.Struct("<I")
_I32, _I64 = struct.Struct("<i"), struct.Struct("<q")
TEXT_LIMIT_BYTES = 16 << 10


class OutsideWindowError(InputError):
    """A position lies in the file, but not in the part of it that was read."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Window:
    """The bytes of a file of `size` bytes from the position `start` on."""

    data: bytes = field(repr=False)
    start: int
    size: int

    def number(self, shape: struct.Struct, position: int) -> int:
        """The number at a position of the file."""
        self._check(position, shape.size)
        value: int = shape.unpack_from(self.data, position - self.start)[0]
        return value

    def part(self, position: int, length: int) -> bytes:
        """The bytes from a position of the file on."""
        self._check(position, length)
        return self.data[position - self.start : position - self.start + length]

    def _check(self, position: int, length: int) -> None:
        if position < 0 or position + length > self.size:
            raise InputError(f"a position of {position} + {length} lies outside of {self.size} bytes")
        if position < self.start or position + length > self.start + len(self.data):
            raise OutsideWindowError(f"position {position} + {length} was not read")


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a file. Fields are numbered from 0, as the schema lists them."""

    window: Window = field(repr=False)
    position: int

    def field_position(self, number: int) -> int | None:
        """Where the value of a field lies, None when the table leaves it out."""
        vtable = self.position - self.window.number(_I32, self.position)
        entry = 4 + 2 * number
        if entry + 2 > self.window.number(_U16, vtable):
            return None
        distance = self.window.number(_U16, vtable + entry)
        return self.position + distance if distance else None

    def int8(self, number: int, default: int) -> int:
        """A number of one byte."""
        position = self.field_position(number)
        return default if position is None else self.window.number(_U8, position)

    def int32(self, number: int) -> int:
        """A signed number of four bytes, 0 by default."""
        position = self.field_position(number)
        return 0 if position is None else self.window.number(_I32, position)

    def int64(self, number: int) -> int:
        """A signed number of eight bytes, 0 by default."""
        position = self.field_position(number)
        return 0 if position is None else self.window.number(_I64, position)

    def target(self, number: int) -> int | None:
        """The position that a field points to."""
        position = self.field_position(number)
        return None if position is None else position + self.window.number(_U32, position)

    def table(self, number: int) -> "Table | None":
        """The table that a field points to."""
        target = self.target(number)
        return None if target is None else Table(self.window, target)

    def vector(self, number: int, *, item_bytes: int) -> tuple[int, int]:
        """Position of the first item and number of items; the items need not be in the window."""
        target = self.target(number)
        if target is None:
            return 0, 0
        length = self.window.number(_U32, target)
        if target + 4 + length * item_bytes > self.window.size:
            raise InputError(f"a list of {length} items lies outside of {self.window.size} bytes")
        return target + 4, length

    def text(self, number: int) -> str:
        """A text of at most 16 KiB, empty by default."""
        target = self.target(number)
        return "" if target is None else text_at(self.window, target)


def root_table(window: Window) -> Table:
    """The table that a file starts with."""
    return Table(window, window.number(_U32, 0))


def pointed_to(window: Window, position: int) -> int:
    """Where the offset at a position points to."""
    return position + window.number(_U32, position)


def text_at(window: Window, position: int) -> str:
    """The text whose length stands at a position."""
    length = window.number(_U32, position)
    if length > TEXT_LIMIT_BYTES:
        raise InputError(f"a text has {length} bytes, and at most {TEXT_LIMIT_BYTES} are read")
    return window.part(position + 4, length).decode("utf-8", "backslashreplace")
