"""One package of an RPM database: the header blob, as `rpm` stores it in SQLite.

Big-endian: the number of entries, the length of the data, 16 bytes for each entry (tag, type, offset
into the data, count), the data.
"""

import struct

from rdlc.core.contents.inventory import OsPackage
from rdlc.errors import InputError

HEADER_LIMIT_BYTES = 64 << 20

_NAME, _VERSION, _RELEASE, _EPOCH, _ARCHITECTURE = 1000, 1001, 1002, 1003, 1022
_INT32, _STRING = 4, 6
_TEXT_LIMIT = 4096
_ENTRY = struct.Struct(">IIII")


def read_rpm_header(blob: bytes) -> OsPackage:
    """The package that a header describes; InputError when it is cut or holds no name and version."""
    if len(blob) < 8:
        raise InputError(f"an RPM header has at least 8 bytes, not {len(blob)}")
    entries, data_length = struct.unpack_from(">II", blob)
    start = 8 + entries * _ENTRY.size
    if start + data_length > len(blob):
        raise InputError(f"an RPM header states {start + data_length} bytes, and has {len(blob)}")
    values: dict[int, str] = {}
    for tag, kind, offset, _ in _ENTRY.iter_unpack(blob[8:start]):
        if tag in (_NAME, _VERSION, _RELEASE, _ARCHITECTURE) and kind == _STRING:
            values.setdefault(tag, _text(blob, start + offset, tag))
        elif tag == _EPOCH and kind == _INT32:
            values.setdefault(tag, _number(blob, start + offset, tag))
    return _package(values)


def _package(values: dict[int, str]) -> OsPackage:
    for tag, word in ((_NAME, "name"), (_VERSION, "version")):
        if not values.get(tag):
            raise InputError(f"an RPM header holds no {word}")
    epoch = f"{values[_EPOCH]}:" if _EPOCH in values else ""
    release = f"-{values[_RELEASE]}" if values.get(_RELEASE) else ""
    return OsPackage(
        kind="rpm",
        name=values[_NAME],
        version=f"{epoch}{values[_VERSION]}{release}",
        architecture=values.get(_ARCHITECTURE, ""),
    )


def _text(blob: bytes, start: int, tag: int) -> str:
    end = blob.find(b"\0", start, start + _TEXT_LIMIT)
    if end < 0:
        raise InputError(f"the text of tag {tag} of an RPM header has no end")
    return blob[start:end].decode("utf-8", "backslashreplace")


def _number(blob: bytes, start: int, tag: int) -> str:
    if start + 4 > len(blob):
        raise InputError(f"the number of tag {tag} of an RPM header lies behind its end")
    (number,) = struct.unpack_from(">I", blob, start)
    return str(number)
