"""The packages in an RPM database of SQLite, untrusted."""

import sqlite3
from pathlib import Path

from rdlc.core.contents.inventory import OsPackage
from rdlc.core.contents.rpm_header import HEADER_LIMIT_BYTES, read_rpm_header
from rdlc.core.text import one_line
from rdlc.errors import InputError

# A sound database of thousands of packages needs a few hundred thousand steps of SQLite.
_STEPS_PER_CALL = 1_000_000
_CALLS_LIMIT = 50
_PACKAGES_LIMIT = 100_000


def read_rpm_database(database: Path) -> tuple[OsPackage, ...]:
    """The packages, sorted; InputError for a file that is no sound database.

    `rpm` writes in WAL mode, so the last changes may stand in `<database>-wal`, and SQLite wants to
    write beside the file: it must lie in a folder of its own.
    """
    connection = sqlite3.connect(database)
    try:
        _restrict(connection)
        rows = connection.execute(
            "SELECT CASE WHEN length(blob) <= ? THEN blob END FROM Packages LIMIT ?",
            (HEADER_LIMIT_BYTES, _PACKAGES_LIMIT + 1),
        )
        packages = [_package(blob) for (blob,) in rows]
    except (sqlite3.Error, sqlite3.Warning) as error:
        raise InputError(f"the RPM database cannot be read: {one_line(str(error))}") from error
    finally:
        connection.close()
    if len(packages) > _PACKAGES_LIMIT:
        raise InputError(f"the RPM database lists more than {_PACKAGES_LIMIT} packages")
    return tuple(sorted(packages, key=lambda item: (item.name, item.version, item.architecture)))


def _restrict(connection: sqlite3.Connection) -> None:
    calls = iter(range(_CALLS_LIMIT))
    connection.set_progress_handler(lambda: next(calls, None) is None, _STEPS_PER_CALL)
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")


def _package(blob: object) -> OsPackage:
    if not isinstance(blob, bytes):
        raise InputError("the RPM database holds something else than a header")
    return read_rpm_header(blob)
