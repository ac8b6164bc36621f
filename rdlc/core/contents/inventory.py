"""What is in an image, each part with the evidence for it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, Protocol, get_args

Evidence = Literal["config-only", "soci-toc", "soci-verified", "streamed"]

# From a hint to a proof: the image's own words, a table of contents that came over TLS, one whose
# digest was checked, and the layer itself with its digest checked.
EVIDENCE_LEVELS: tuple[Evidence, ...] = get_args(Evidence)


def evidence_rank(evidence: Evidence) -> int:
    """The position of an evidence level, higher when it proves more."""
    return EVIDENCE_LEVELS.index(evidence)


def weakest(levels: Iterable[Evidence]) -> Evidence:
    """The level that holds for all of them together; of none it is `config-only`."""
    return min(levels, key=evidence_rank, default="config-only")


class SelfDescription(Protocol):
    """What an image says about itself; a resolved image and an image's config both are one."""

    @property
    def env(self) -> Mapping[str, str]:
        """The environment that its programs start with."""

    @property
    def labels(self) -> Mapping[str, str]:
        """The labels it was given."""

    @property
    def history(self) -> tuple[str, ...]:
        """The commands that built it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Component:
    """A named part of the stack, and the file, package or hint that its version was read from."""

    name: str
    version: str
    source: str
    evidence: Evidence


@dataclass(frozen=True, kw_only=True, slots=True)
class Distribution:
    """An installed Python distribution; `path` is the folder or file of its metadata, from the root."""

    name: str
    version: str
    path: str
    evidence: Evidence

    @property
    def site(self) -> str:
        """The `site-packages` or `dist-packages` folder that holds it."""
        marker = "-packages/"
        return self.path[: self.path.index(marker) + len(marker) - 1]


@dataclass(frozen=True, kw_only=True, slots=True)
class OsPackage:
    """An installed package of the operating system; the version has epoch and release in it."""

    kind: Literal["rpm", "dpkg"]
    name: str
    version: str
    architecture: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Inventory:
    """All that is known of an image's contents.

    `evidence` holds for the lists as a whole: the weakest level of any layer. `complete` is False
    when only the config was read, so that an empty list does not mean that nothing is installed.
    `nccl_conf` is the text of `/etc/nccl.conf`, None where there is none or none was read. `notes`
    say what could not be read as it should; `is_os_read` is False where that is a package database.
    """

    evidence: Evidence
    components: tuple[Component, ...]
    distributions: tuple[Distribution, ...]
    os_packages: tuple[OsPackage, ...]
    nccl_conf: str | None
    environment: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    notes: tuple[str, ...] = ()
    is_os_read: bool = True

    @property
    def complete(self) -> bool:
        """Whether the layers were looked at."""
        return self.evidence != "config-only"

    def component(self, name: str) -> Component | None:
        """The copy of a component that is found first at run time."""
        return next((item for item in self.components if item.name == name), None)
