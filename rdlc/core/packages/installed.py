"""What the workers have of the extra packages, by their own reports, held against the lock."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from packaging.version import InvalidVersion, Version

from rdlc.core.fields import Fields
from rdlc.core.lines import Decimal, read_json_file
from rdlc.core.packages.section import LockedPackage, PackagesSection
from rdlc.core.text import one_line

NODE_LIMIT_BYTES = 4 << 20
SETUP = "package set-up"
_OURSELVES = "rdlc"
_SHOWN = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class InstalledFile:
    """The file of one package as pip reported it."""

    version: str
    sha256: str
    is_yanked: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Installed:
    """What one worker has: every distribution, and the files that pip installed; None where not reported."""

    distributions: Mapping[str, str] | None
    files: Mapping[str, InstalledFile] | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """One thing that was locked, and what each worker has in its place; None where one did not say."""

    name: str
    locked: str
    found: tuple[str | None, ...]


def read_installed(fields: Fields) -> Installed:
    """The part of a worker's report about packages; raises InputError naming the field."""
    has_files = fields.has("installed") and fields.values["installed"] is not None
    return Installed(
        distributions=fields.table("distributions") if fields.has("distributions") else None,
        files=_read_files(fields.below("installed")) if has_files else None,
    )


def _read_files(table: Fields) -> dict[str, InstalledFile]:
    found = {}
    for name in table.names():
        entry = table.below(name)
        found[name] = InstalledFile(
            version=entry.text("version"), sha256=entry.digest("sha256"), is_yanked=entry.flag("is_yanked")
        )
    return found


def package_questions(
    section: PackagesSection, base: Mapping[str, str] | None, workers: Sequence[Installed]
) -> Iterator[Question]:
    """One for the version and one for the file of each extra, and one for all that is not an extra.

    `base` maps the distributions of the environment that the lock holds to their versions; None for an
    image, whose digest says what else is in it.
    """
    names = {extra.name for extra in section.extras}
    for extra in section.extras:
        versions = tuple(_version(worker, extra) for worker in workers)
        yield Question(name=f"package {extra.name}", locked=extra.version, found=versions)
        files = tuple(_digest(worker, extra.name) for worker in workers)
        yield Question(name=f"file of {extra.name}", locked=extra.sha256, found=files)
    if base is None:
        return
    kept = {name: version for name, version in base.items() if name not in names}
    yield Question(
        name="other packages",
        locked=f"the {len(kept)} of the environment",
        found=tuple(_others(worker, kept, names) for worker in workers),
    )


def find_yanked(workers: Sequence[Installed]) -> tuple[str, ...]:
    """The packages that the index called yanked when they were installed, by name."""
    files = [worker.files for worker in workers if worker.files is not None]
    return tuple(sorted({one_line(name) for held in files for name, file in held.items() if file.is_yanked}))


def describe_setup(reports: Sequence[bytes]) -> str:
    """What setting the packages up took on each node, in words; raises InputError for a bad report."""
    words = []
    for number, data in enumerate(reports):
        fields = read_json_file(data, name=f"packages/{number}.json", limit_bytes=NODE_LIMIT_BYTES)
        seconds = fields.values["seconds"] if fields.has("seconds") else None
        took = f"{float(seconds):.1f} s" if isinstance(seconds, int | Decimal) else "time not measured"
        size = fields.count("bytes") / (1 << 20)
        words.append(f"{took}, {size:.1f} MiB on {one_line(fields.text('host'))}")
    return "; ".join(words) or "not measured"


def _version(worker: Installed, extra: LockedPackage) -> str | None:
    if worker.distributions is None:
        return None
    found = worker.distributions.get(extra.name, "none")
    try:
        # `2026.01` in a package's metadata and `2026.1` in a lock are one version.
        return extra.version if Version(found) == Version(extra.version) else found
    except InvalidVersion:
        return found


def _digest(worker: Installed, name: str) -> str | None:
    if worker.files is None:
        return None
    return worker.files[name].sha256 if name in worker.files else "none"


def _others(worker: Installed, kept: Mapping[str, str], extras: set[str]) -> str | None:
    if worker.distributions is None:
        return None
    found = {n: v for n, v in worker.distributions.items() if n not in extras and n != _OURSELVES}
    changed = sorted(name for name in kept.keys() | found.keys() if kept.get(name) != found.get(name))
    if not changed:
        return f"the {len(kept)} of the environment"
    shown = [one_line(f"{name} {found.get(name, 'none')} (locked {kept.get(name, 'none')})") for name in changed]
    more = f" and {len(shown) - _SHOWN} more" if len(shown) > _SHOWN else ""
    return ", ".join(shown[:_SHOWN]) + more
