"""The base as a resolver can take it: what is wrong in the base alone is no conflict of the extras."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from rdlc.core.packages.base import Base, BaseDistribution, holds, is_version, marker_environment
from rdlc.errors import InputError


@dataclass(frozen=True, kw_only=True, slots=True)
class MendedBase:
    """The base without what no resolver could meet, and what was left out, in words."""

    base: Base
    unmet: tuple[str, ...]


def mend_base(base: Base) -> MendedBase:
    """The base in which each distribution asks for no more than the base has.

    Installed environments are often not consistent in themselves. Requirements under an `extra` stay:
    they count once that extra is asked for.
    """
    environment, versions = marker_environment(base), base.versions
    mended, unmet = [], []
    for item in base.distributions:
        if not is_version(item.version):
            unmet.append(f"{item.name} has the version `{item.version}`, which cannot be compared")
            continue
        kept = tuple(line for line in item.requires if _is_met(line, versions, environment))
        unmet += [f"{item.name} {item.version} wants {line}" for line in item.requires if line not in kept]
        mended.append(BaseDistribution(name=item.name, version=item.version, requires=kept))
    return MendedBase(base=replace(base, distributions=tuple(mended)), unmet=tuple(unmet))


def find_broken(base: Base, replaced: Mapping[str, str]) -> tuple[str, ...]:
    """What others in the base require, and no longer get once these distributions have these versions, in words."""
    changed = [
        BaseDistribution(name=item.name, version=replaced[item.name], requires=()) if item.name in replaced else item
        for item in base.distributions
    ]
    before = set(mend_base(base).unmet)
    after = mend_base(replace(base, distributions=tuple(changed))).unmet
    return tuple(text for text in after if text not in before)


def _is_met(line: str, versions: Mapping[str, str], environment: Mapping[str, str]) -> bool:
    try:
        requirement = Requirement(line)
        if "extra" in str(requirement.marker) or not holds(requirement, environment):
            return True
    except (InvalidRequirement, InputError):
        return False
    version = versions.get(canonicalize_name(requirement.name), "")
    return is_version(version) and requirement.specifier.contains(version, prereleases=True)
