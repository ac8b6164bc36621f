"""The `packages` section of a run lock: the extra packages, each with the one file that is installed."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from rdlc.core.canonical import Json
from rdlc.core.fields import Fields
from rdlc.core.packages.request import PackagesRequest, read_request_fields


@dataclass(frozen=True, kw_only=True, slots=True)
class LockedPackage:
    """One extra package: its normalised name, version, and the name, size and digest of its file."""

    name: str
    version: str
    file: str
    size: int
    sha256: str

    @property
    def is_sdist(self) -> bool:
        """Whether it is built from source on each node."""
        return not self.file.endswith(".whl")

    @property
    def pip_line(self) -> str:
        """The requirement that takes this file and no other."""
        return f"{self.name}=={self.version} --hash={self.sha256}"


@dataclass(frozen=True, kw_only=True, slots=True)
class PackagesSection:
    """Extra packages, sorted by name, and the base that they were resolved for.

    `python` is the base's full version, `platform` the one that files were chosen for. `left_out` maps
    a requirement that adds nothing to the reason.
    """

    requested: PackagesRequest
    python: str
    platform: str
    constraints_digest: str
    evidence: str
    extras: tuple[LockedPackage, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)

    @property
    def pip_lines(self) -> tuple[str, ...]:
        """One line for each extra, as pip takes them with required hashes."""
        return tuple(extra.pip_line for extra in self.extras)

    def payload(self) -> Mapping[str, Json]:
        """Version 1."""
        extras: dict[str, Json] = {
            extra.name: {
                "version": extra.version,
                "file": extra.file,
                "size": extra.size,
                "sha256": extra.sha256,
            }
            for extra in sorted(self.extras, key=lambda extra: extra.name)
        }
        return {
            "requested": self.requested.payload(),
            "resolved": {
                "python": self.python,
                "platform": self.platform,
                "constraints_digest": self.constraints_digest,
                "evidence": self.evidence,
                "extras": extras,
                "left_out": dict(sorted(self.left_out.items())),
            },
        }


def read_packages_section(section: Fields) -> PackagesSection:
    """The section of a lock; raises InputError with the address of a bad field."""
    resolved = section.below("resolved")
    packages = PackagesSection(
        requested=read_request_fields(section.below("requested")),
        python=resolved.text("python"),
        platform=resolved.text("platform"),
        constraints_digest=resolved.digest("constraints_digest"),
        evidence=resolved.text("evidence"),
        extras=_read_extras(resolved.below("extras")),
        left_out=resolved.table("left_out"),
    )
    resolved.finish()
    section.finish()
    return packages


def _read_extras(table: Fields) -> tuple[LockedPackage, ...]:
    extras = []
    for name in table.names():
        extra = table.below(name)
        extras.append(
            LockedPackage(
                name=name,
                version=extra.text("version"),
                file=extra.text("file"),
                size=extra.count("size", least=1),
                sha256=extra.digest("sha256"),
            )
        )
        extra.finish()
    return tuple(sorted(extras, key=lambda extra: extra.name))
