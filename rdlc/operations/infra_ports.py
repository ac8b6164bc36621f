"""What locking infrastructure needs from outside."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from rdlc.core.infra.offers import AddonOffer, AddonQuery, ReleaseQuery
from rdlc.core.infra.offline import MissingPlan, OfflinePlan


class InfraFiles(Protocol):
    """Terraform roots on this machine."""

    def read_tree(self, root: Path) -> Mapping[str, bytes]:
        """The files that make a root, by path below it."""
        ...

    def read_profile(self, root: Path, name: str) -> tuple[str, bytes]:
        """The place of a profile, for messages, and its bytes."""
        ...

    def read_placeholders(self, root: Path) -> tuple[str, bytes] | None:
        """The place of the stand-ins for bindings, and their bytes; None if the root has none."""
        ...

    def read_bindings(self, path: Path) -> tuple[str, bytes]:
        """The place of a `--bind` file, and its bytes."""
        ...


class Offers(Protocol):
    """What AWS offers now."""

    def describe_missing(self) -> str | None:
        """Why AWS cannot be asked from here; None if it can."""
        ...

    def source(self) -> str:
        """What answers, for provenance."""
        ...

    def recommended_release(self, query: ReleaseQuery) -> str | None:
        """The AMI release that AWS recommends now."""
        ...

    def releases(self, query: ReleaseQuery) -> tuple[str, ...]:
        """All AMI releases that are still published."""
        ...

    def addon_versions(self, query: AddonQuery) -> tuple[AddonOffer, ...]:
        """The versions of an add-on that EKS offers."""
        ...


class OfflinePlanner(Protocol):
    """Terraform without an account."""

    def plan(
        self, files: Mapping[str, bytes], variables: bytes, *, configured: tuple[str, ...]
    ) -> OfflinePlan | MissingPlan:
        """The plan that makes everything, or why there is none here."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class InfraTools:
    """Everything outside that locking infrastructure needs."""

    files: InfraFiles
    offers: Offers
    planner: OfflinePlanner
