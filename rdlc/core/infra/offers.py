"""What AWS still offers, and what lies nearest to something that it does not offer any more."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date

from rdlc.core.canonical import Json
from rdlc.core.infra.versions import KUBERNETES, Release, parse_addon_version, parse_release
from rdlc.core.text import one_line

# AMI type of a node group to the path of its releases below a Kubernetes version.
_AMI_PATHS: Mapping[str, str] = {
    "AL2023_x86_64_STANDARD": "amazon-linux-2023/x86_64/standard",
    "AL2023_ARM_64_STANDARD": "amazon-linux-2023/arm64/standard",
    "AL2023_x86_64_NVIDIA": "amazon-linux-2023/x86_64/nvidia",
    "AL2023_ARM_64_NVIDIA": "amazon-linux-2023/arm64/nvidia",
    "AL2023_x86_64_NEURON": "amazon-linux-2023/x86_64/neuron",
}

_SYSTEM_AMI = "AL2023_x86_64_STANDARD"


@dataclass(frozen=True, kw_only=True, slots=True)
class ReleaseQuery:
    """Whose AMI releases are asked for: a region, a Kubernetes version, an AMI type."""

    region: str
    kubernetes: str
    ami_type: str

    @property
    def path(self) -> str | None:
        """The path of the releases in AWS's public parameters; None for a type that has none."""
        below = _AMI_PATHS.get(self.ami_type)
        return f"/aws/service/eks/optimized-ami/{self.kubernetes}/{below}" if below else None


@dataclass(frozen=True, kw_only=True, slots=True)
class AddonQuery:
    """Whose versions are asked for: an add-on in a region, for a Kubernetes version."""

    region: str
    kubernetes: str
    addon: str


@dataclass(frozen=True, kw_only=True, slots=True)
class AddonOffer:
    """A version of an add-on; `is_default` for the one that AWS takes for that Kubernetes version."""

    version: str
    is_default: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class OfferCheck:
    """A locked version, whether it is still offered, and what is: the nearest and the one that AWS names now.

    `address` is where it stands among the variables, as `addon_versions.vpc-cni`. `nearest` is the
    version itself while it is offered, and None if nothing like it is.
    """

    address: str
    locked: str
    is_offered: bool
    nearest: str | None
    recommended: str | None

    @property
    def message(self) -> str:
        """What to tell a person of one that is not offered."""
        instead = f"the nearest that is offered is `{one_line(self.nearest)}`" if self.nearest else "nor is any like it"
        return f"`{self.address}`: `{one_line(self.locked)}` is not offered any more; {instead}"

    @property
    def way_on(self) -> str:
        """The option that takes the nearest in its place."""
        return f"`--substitute infra.{self.address}={self.nearest} --reason ...`"


def release_query(name: str, values: Mapping[str, Json]) -> ReleaseQuery | None:
    """The question for the release that a variable holds; None if nothing can be asked for it."""
    region, kubernetes = values.get("region"), values.get(KUBERNETES)
    ami_type = values.get("gpu_ami_type") if name.startswith("gpu_") else _SYSTEM_AMI
    if not (isinstance(region, str) and isinstance(kubernetes, str) and isinstance(ami_type, str)):
        return None
    query = ReleaseQuery(region=region, kubernetes=kubernetes, ami_type=ami_type)
    return query if query.path is not None else None


def nearest_release(wanted: str, offered: Iterable[str]) -> str | None:
    """The offered release of the same Kubernetes version that lies nearest in time; the newer of two.

    None if there is none for that Kubernetes version. What is no release is passed over.
    """
    release = parse_release(wanted)
    if release is None:
        return None
    day = _day(release)
    found = (parse_release(text) for text in offered)
    near = [other for other in found if other is not None and other.minor == release.minor]
    ranked = sorted(near, key=lambda other: (abs(_day(other) - day), -_day(other), -other.patch))
    return str(ranked[0]) if ranked else None


def nearest_version(wanted: str, offered: Iterable[str]) -> str | None:
    """The offered add-on version that shares the most leading numbers; then the nearest, the newer of two."""
    numbers = parse_addon_version(wanted)
    if numbers is None:
        return None
    found = [(version, parsed) for version in offered if (parsed := parse_addon_version(version)) is not None]
    ranked = sorted(found, key=lambda item: _distance(numbers, item[1]))
    return ranked[0][0] if ranked else None


def newest_version(offers: Iterable[AddonOffer]) -> str | None:
    """The version that AWS takes by default; the newest if it names none."""
    usable = [(parsed, offer) for offer in offers if (parsed := parse_addon_version(offer.version)) is not None]
    defaults = [item for item in usable if item[1].is_default]
    ranked = sorted(defaults or usable, key=lambda item: item[0])
    return ranked[-1][1].version if ranked else None


def _day(release: Release) -> int:
    """The number of the day; a date that no calendar has is taken as its month's first."""
    year, month, day = int(release.date[:4]), int(release.date[4:6]), int(release.date[6:])
    try:
        return date(max(year, 1), month, day).toordinal()
    except ValueError:
        return date(max(year, 1), min(max(month, 1), 12), 1).toordinal()


def _distance(wanted: tuple[int, ...], other: tuple[int, ...]) -> tuple[tuple[int, bool], ...]:
    # Number by number: the first that differs decides, of two as far away the newer comes first, and
    # what stands behind it is the newer the better.
    ranks: list[tuple[int, bool]] = []
    has_left = False
    for mine, theirs in zip(wanted, other, strict=True):
        ranks.append((-theirs, False) if has_left else (abs(mine - theirs), theirs < mine))
        has_left |= mine != theirs
    return tuple(ranks)
