"""The versions that a cluster is made of, by the names of the variables that hold them.

They must be exact: nothing that a lock holds may mean another thing next week.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rdlc.core.canonical import Json
from rdlc.core.text import one_line

KUBERNETES = "kubernetes_version"
ADDONS = "addon_versions"
RELEASES = ("gpu_release_version", "system_release_version")

_KUBERNETES = re.compile(r"[0-9]{1,3}\.[0-9]{1,3}")
_RELEASE = re.compile(r"([0-9]{1,3}\.[0-9]{1,3})\.([0-9]{1,3})-([0-9]{8})")
_ADDON = re.compile(r"v([0-9]{1,5})\.([0-9]{1,5})\.([0-9]{1,5})-eksbuild\.([0-9]{1,5})")


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
class Release:
    """A release of an EKS AMI, as `1.34.2-20261120`: ordered by Kubernetes, then by date."""

    minor: tuple[int, int]
    date: str
    patch: int

    def __str__(self) -> str:
        return f"{self.minor[0]}.{self.minor[1]}.{self.patch}-{self.date}"


def parse_release(text: str) -> Release | None:
    """The release that the text names; None if it names none."""
    match = _RELEASE.fullmatch(text)
    if match is None:
        return None
    major, minor = match[1].split(".")
    return Release(minor=(int(major), int(minor)), date=match[3], patch=int(match[2]))


def parse_addon_version(text: str) -> tuple[int, ...] | None:
    """The numbers of an add-on's version such as `v1.20.4-eksbuild.2`; None if it is none."""
    match = _ADDON.fullmatch(text)
    return tuple(int(number) for number in match.groups()) if match else None


def find_version_problems(variables: Mapping[str, Json]) -> Iterator[tuple[str, str]]:
    """Name and problem of each version among the variables that is not exact, or does not fit the others."""
    kubernetes = variables.get(KUBERNETES)
    if KUBERNETES in variables and not (isinstance(kubernetes, str) and _KUBERNETES.fullmatch(kubernetes)):
        yield KUBERNETES, f"must be a Kubernetes version such as `1.34`, not {_shown(kubernetes)}"
    for name in RELEASES:
        if name in variables:
            yield from _check_release(name, variables[name], kubernetes)
    addons = variables.get(ADDONS)
    for addon, version in sorted(addons.items()) if isinstance(addons, Mapping) else ():
        if not isinstance(version, str) or parse_addon_version(version) is None:
            shown = f"`{one_line(addon, limit=60)}` must have an exact version"
            yield ADDONS, f"{shown} such as `v1.20.4-eksbuild.2`, not {_shown(version)}"


def _check_release(name: str, value: Json, kubernetes: Json) -> Iterator[tuple[str, str]]:
    release = parse_release(value) if isinstance(value, str) else None
    if release is None:
        yield name, f"must be an AMI release such as `1.34.2-20261120`, not {_shown(value)}"
    elif isinstance(kubernetes, str) and not str(release).startswith(f"{kubernetes}."):
        yield name, f"must be a release for Kubernetes {one_line(kubernetes, limit=20)}, not {_shown(value)}"


def _shown(value: Json) -> str:
    return f"`{one_line(str(value), limit=60)}`"
