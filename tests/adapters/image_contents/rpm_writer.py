"""RPM databases for tests: real SQLite files in WAL mode, with header blobs as `rpm` writes them."""

import sqlite3
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True, slots=True)
class Rpm:
    """A package; an empty architecture is left out, as for `gpg-pubkey`."""

    name: str
    version: str
    release: str
    epoch: int | None = None
    architecture: str = "x86_64"


@dataclass(frozen=True, kw_only=True, slots=True)
class RpmDatabase:
    """The bytes of `rpmdb.sqlite` and of the log beside it, empty when all was written back."""

    main: bytes
    log: bytes


def header_blob(package: Rpm) -> bytes:
    """Entries sorted by tag, texts with a NUL behind them, numbers aligned to four bytes."""
    texts = {1000: package.name, 1001: package.version, 1002: package.release}
    if package.architecture:
        texts[1022] = package.architecture
    entries: list[tuple[int, int, int, int]] = [(100, 8, 0, 1)]
    data = b"C\0"
    for tag, text in texts.items():
        entries.append((tag, 6, len(data), 1))
        data += text.encode() + b"\0"
    if package.epoch is not None:
        data += bytes(-len(data) % 4)
        entries.append((1003, 4, len(data), 1))
        data += struct.pack(">I", package.epoch)
    index = b"".join(struct.pack(">IIII", *entry) for entry in sorted(entries))
    return struct.pack(">II", len(entries), len(data)) + index + data


def make_database(folder: Path, packages: Sequence[Rpm], *, in_log: Sequence[Rpm] = ()) -> RpmDatabase:
    """A database whose last packages may stand in its log alone."""
    path = folder / "rpmdb.sqlite"
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA wal_autocheckpoint = 0")
    connection.execute("CREATE TABLE 'Packages' (hnum INTEGER PRIMARY KEY AUTOINCREMENT, blob BLOB NOT NULL)")
    _insert(connection, packages)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    _insert(connection, in_log)
    log = path.with_name("rpmdb.sqlite-wal")
    # Read while it is open: closing writes the log back.
    database = RpmDatabase(main=path.read_bytes(), log=log.read_bytes() if log.exists() else b"")
    connection.close()
    for file in folder.iterdir():
        file.unlink()
    return database


def _insert(connection: sqlite3.Connection, packages: Sequence[Rpm]) -> None:
    for package in packages:
        connection.execute("INSERT INTO Packages (blob) VALUES (?)", (header_blob(package),))
