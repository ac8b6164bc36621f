"""What came out of pods: pieces of growing files, and archives of a run's record."""

import hashlib
import json
import tarfile
from pathlib import Path, PurePosixPath

from rdlc.core.text import one_line
from rdlc.errors import RdlcError

_LISTING = ".listing.json"
_LISTING_LIMIT_BYTES = 64 << 20
_FILE_LIMIT_BYTES = 16 << 30
_CHUNK_BYTES = 1 << 20
# What is written by rdlc itself: no pod may bring one of these.
_OURS = ("record.json", "lock.yaml", "config.json", "shipped.tar", "cluster-run.json", "cluster", "pods", ".running")


def append(path: Path, data: bytes, *, offset: int) -> None:
    """Adds bytes to a file that has `offset` of them; makes it if that is 0."""
    with path.open("ab") as file:
        assert file.tell() == offset
        file.write(data)


def size(path: Path) -> int:
    """How many bytes a file has; 0 if there is none."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


class Parcels:
    """The archives of one collection; it knows which file came from which pod already."""

    def __init__(self) -> None:
        self._held: dict[str, str] = {}

    def open_parcel(self, path: Path) -> "Parcel":
        """A new file for an archive."""
        return Parcel(path, self._held)


class Parcel:
    """One pod's archive."""

    def __init__(self, path: Path, held: dict[str, str]) -> None:
        self._path = path
        self._held = held
        self._file = path.open("wb")

    def write(self, data: bytes) -> object:
        """Adds bytes."""
        return self._file.write(data)

    def close(self) -> None:
        """Takes the archive away."""
        self._file.close()
        self._path.unlink(missing_ok=True)

    def unpack(self, into: Path, *, other: Path) -> tuple[str, ...]:
        """Puts its files below a folder, comparing each with the archive's listing; gives their names."""
        self._file.close()
        names = []
        try:
            with tarfile.open(self._path, "r|") as archive:
                listing = self._read_listing(archive)
                # Iterating would begin with the listing again.
                while (member := archive.next()) is not None:
                    self._take(archive, member, listing, into, other)
                    names.append(member.name)
        except (tarfile.TarError, EOFError) as error:
            raise RdlcError(f"its files came as an archive that is cut or damaged: {error}") from error
        if missing := sorted(set(listing) - set(names)):
            raise RdlcError(f"its archive lacks `{one_line(missing[0])}`")
        return tuple(names)

    def _read_listing(self, archive: tarfile.TarFile) -> dict[str, str]:
        first = archive.next()
        file = archive.extractfile(first) if first and first.isreg() and first.name == _LISTING else None
        if file is None or first is None or first.size > _LISTING_LIMIT_BYTES:
            raise RdlcError("its files came without their listing")
        try:
            listing = json.loads(file.read())
        except (ValueError, RecursionError) as error:
            raise RdlcError("the listing of its files is not JSON") from error
        if not isinstance(listing, dict) or not all(isinstance(value, str) for value in listing.values()):
            raise RdlcError("the listing of its files is no listing")
        return listing

    def _take(
        self, archive: tarfile.TarFile, member: tarfile.TarInfo, listing: dict[str, str], into: Path, other: Path
    ) -> None:
        name, path = member.name, PurePosixPath(member.name)
        is_fine = member.isreg() and name.isprintable() and "\\" not in name and not path.is_absolute()
        if not is_fine or ".." in path.parts or path.parts[0] in _OURS or member.size > _FILE_LIMIT_BYTES:
            raise RdlcError(f"it brought a file that is none of a record: `{one_line(name)}`")
        if name not in listing:
            raise RdlcError(f"it brought `{one_line(name)}`, which it does not list")
        if self._held.get(name) == listing[name]:
            return
        target = (other if name in self._held else into) / path
        self._write(archive, member, target, listing[name])
        self._held.setdefault(name, listing[name])

    def _write(self, archive: tarfile.TarFile, member: tarfile.TarInfo, target: Path, due: str) -> None:
        source = archive.extractfile(member)
        assert source is not None
        target.parent.mkdir(parents=True, exist_ok=True)
        new = target.with_name(f"{target.name}.new")
        digest = hashlib.sha256()
        with new.open("wb") as file:
            while data := source.read(_CHUNK_BYTES):
                digest.update(data)
                file.write(data)
        if digest.hexdigest() != due:
            new.unlink()
            raise RdlcError(f"`{one_line(member.name)}` did not come as it lay in the pod")
        new.replace(target)
