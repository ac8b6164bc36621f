"""What moved between the extra packages of two locks."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rdlc.core.packages.section import LockedPackage


@dataclass(frozen=True, kw_only=True, slots=True)
class PackageMove:
    """One extra package that is not the same; None where a side does not have it."""

    name: str
    old: LockedPackage | None
    new: LockedPackage | None

    @property
    def words(self) -> str:
        """The move on one line."""
        if self.old is None:
            return f"{self.name}  added {self.new.version if self.new else ''}"
        if self.new is None:
            return f"{self.name}  removed (was {self.old.version})"
        if self.old.version != self.new.version:
            return f"{self.name}  {self.old.version} -> {self.new.version}"
        if self.old.file != self.new.file:
            return f"{self.name}  {self.new.version}: another file, {self.old.file} -> {self.new.file}"
        return f"{self.name}  {self.new.version}: other bytes in {self.new.file}"


def find_moves(old: Iterable[LockedPackage], new: Iterable[LockedPackage]) -> Iterator[PackageMove]:
    """Every extra that was added, removed, or has another version or file, by name."""
    before, after = ({extra.name: extra for extra in extras} for extras in (old, new))
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) != after.get(name):
            yield PackageMove(name=name, old=before.get(name), new=after.get(name))
