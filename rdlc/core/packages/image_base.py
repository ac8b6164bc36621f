"""The base that an image gives: the Python that its `PATH` finds first, and what is installed for it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from rdlc.core.contents.inventory import Distribution, Inventory
from rdlc.core.image.oci_platform import Platform
from rdlc.core.packages.base import NOT_KNOWN, Base, BaseDistribution
from rdlc.core.text import one_line
from rdlc.errors import RdlcError

MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}
_SITE = re.compile(r"(?P<prefix>.*?)(?:/local)?/lib(?:64)?/python(?P<version>3(?:\.[0-9]+)?)/(?:site|dist)-packages")
_GLIBC = re.compile(r"(?:[0-9]+:)?(?P<major>[0-9]+)\.(?P<minor>[0-9]+)")
_GLIBC_PACKAGES = {("rpm", "glibc"), ("dpkg", "libc6")}
_VERSION = re.compile(r"3\.[0-9]{1,2}(\.[0-9]+[0-9A-Za-z+.]*)?")


@dataclass(frozen=True, kw_only=True, slots=True)
class ImagePython:
    """The Python of an image: its version, its folders of packages, and the distributions in them.

    `sites` is empty where the image was not looked into, or has none.
    """

    version: str
    sites: tuple[str, ...]
    distributions: tuple[Distribution, ...]


def find_python(inventory: Inventory) -> ImagePython:
    """The Python that the image's `VIRTUAL_ENV` or `PATH` finds first; raises RdlcError where none is known."""
    component = inventory.component("python")
    stated = component.version if component is not None else ""
    found = {item.site: match for item in inventory.distributions if (match := _SITE.fullmatch(item.site))}
    prefix = next((place for place in _prefixes(inventory) if any(m["prefix"] == place for m in found.values())), None)
    sites = {site: match["version"] for site, match in found.items() if match["prefix"] == prefix}
    version = _version(stated, set(sites.values()))
    minor = ".".join(version.split(".")[:2])
    used = tuple(sorted(site for site, of in sites.items() if of in {minor, "3"}))
    held = sorted((item for item in inventory.distributions if item.site in used), key=lambda item: item.path)
    first = {item.name: item for item in reversed(held)}
    return ImagePython(version=version, sites=used, distributions=tuple(first[name] for name in sorted(first)))


def image_base(
    inventory: Inventory, python: ImagePython, *, platform: Platform, requires: Mapping[str, tuple[str, ...]]
) -> Base:
    """The base of an image; `requires` maps the path of a distribution to what it requires."""
    machine = MACHINES.get(platform.architecture)
    if machine is None:
        raise RdlcError(f"extra packages are not resolved for the platform `{platform}`")
    is_known = inventory.complete
    return Base(
        python=python.version,
        implementation="CPython",
        machine=machine,
        glibc=_glibc(inventory),
        distributions=tuple(
            BaseDistribution(name=item.name, version=item.version, requires=requires[item.path])
            for item in (python.distributions if is_known else ())
        ),
        evidence=inventory.evidence if is_known else NOT_KNOWN,
    )


def _prefixes(inventory: Inventory) -> list[str]:
    environment = inventory.environment
    folders = environment.get("PATH", "").split(":")
    by_path = [folder.rstrip("/").removesuffix("/bin") for folder in folders if folder.rstrip("/").endswith("/bin")]
    return [place for place in (environment.get("VIRTUAL_ENV", "").rstrip("/"), *by_path) if place]


def _version(stated: str, in_sites: set[str]) -> str:
    """What the image states of its Python, unless its folders are of another one."""
    minors = {version for version in in_sites if version != "3"}
    minor = ".".join(stated.split(".")[:2])
    if _VERSION.fullmatch(stated) and (not minors or minor in minors):
        return stated
    if len(minors) == 1:
        return minors.pop()
    known = f"`{one_line(stated)}`" if stated else "nothing"
    raise RdlcError(
        f"which Python the image has is not known: it states {known}",
        hint="`rdlc lock SPEC --contents auto` looks into its layers",
    )


def _glibc(inventory: Inventory) -> tuple[int, int] | None:
    for package in inventory.os_packages:
        if (package.kind, package.name) in _GLIBC_PACKAGES and (found := _GLIBC.match(package.version)):
            return int(found["major"]), int(found["minor"])
    return None
