"""Turning the bytes of a wanted file into what is known of it."""

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from rdlc.adapters.image_contents.rpm_database import read_rpm_database
from rdlc.core.contents.dpkg_status import read_dpkg_status
from rdlc.core.contents.inventory import OsPackage
from rdlc.core.contents.layer_facts import FileFact
from rdlc.core.contents.python_distributions import summarise_metadata
from rdlc.core.contents.wanted_files import FileKind


def read_fact(fact: FileFact, kind: FileKind, pieces: Iterator[bytes]) -> FileFact:
    """The same file with its text, or with the packages that it lists."""
    text = b"".join(pieces).decode("utf-8", "backslashreplace")
    if kind == "dpkg":
        return replace(fact, packages=read_dpkg_status(text))
    return replace(fact, content=summarise_metadata(text) if kind == "metadata" else text)


class RpmFolder:
    """A scratch folder for RPM databases with their logs, which are read from files."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="rdlc-rpm-")
        self._databases: dict[str, Path] = {}

    @property
    def databases(self) -> tuple[str, ...]:
        """The paths of all databases of which the file or the log was stored."""
        return tuple(self._databases)

    def store(self, path: str, pieces: Iterator[bytes]) -> None:
        """Writes a database, or the `-wal` log of one, for `packages` to read."""
        database = path.removesuffix("-wal")
        place = Path(self._folder.name) / str(len(self._databases))
        place = self._databases.setdefault(database, place)
        place.mkdir(exist_ok=True)
        name = "rpmdb.sqlite" if path == database else "rpmdb.sqlite-wal"
        with (place / name).open("wb") as file:
            for piece in pieces:
                file.write(piece)

    def packages(self, database: str) -> tuple[OsPackage, ...]:
        """What a stored database lists; InputError when it cannot be read."""
        return read_rpm_database(self._databases[database] / "rpmdb.sqlite")

    def close(self) -> None:
        """Takes the folder away."""
        self._folder.cleanup()
