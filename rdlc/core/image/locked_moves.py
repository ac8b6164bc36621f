"""What two locks tell, by themselves, of how one image became the other.

Digests decide what they can. Lists of packages are known only where layers were read on this machine
before; otherwise there are the components that a lock's provenance names. What neither tells is not
known: nothing here asks a registry.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from rdlc.core.contents.inventory import EVIDENCE_LEVELS, Component, Evidence, Inventory
from rdlc.core.image.moves import ImageMoves, compare_images, kind_by_digest
from rdlc.core.image.oci_platform import LINUX_AMD64
from rdlc.core.image.reference import ImageReference, parse_reference
from rdlc.core.image.section import ImageSection
from rdlc.core.provenance import ImageOrigin
from rdlc.errors import InputError

Basis = Literal["digests", "layers", "components", "hints", "environment"]

BASIS_WORDS: Mapping[Basis, str] = {
    "digests": "the digests in both",
    "layers": "every layer of both, as read here before",
    "components": "the components that both had when they were locked; their packages are not known here",
    "hints": "what both configs said when they were locked; components and packages are not known here",
    "environment": "the environment of both; one was not looked into as the other was, so components are not compared",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class HeldImage:
    """The image of a lock: what is locked, and what was known of it then; None where that is not said."""

    section: ImageSection
    origin: ImageOrigin | None


@dataclass(frozen=True, kw_only=True, slots=True)
class LockedMoves:
    """What moved from one locked image to another, and on which evidence.

    `evidence` is how each image was looked into, "" where digests decide. `command` reads what is not
    known here; "" where nothing is missing, or no command can. `notes` say what could not be read.
    """

    moves: ImageMoves
    basis: Basis
    evidence: tuple[str, str]
    command: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class LockedDescription:
    """What a lock says of its image in the image's own words; its history is not locked."""

    env: Mapping[str, str]
    labels: Mapping[str, str]
    history: tuple[str, ...] = ()


def describe_locked(section: ImageSection) -> LockedDescription:
    """The environment and labels of a locked image, by which its layers are understood."""
    return LockedDescription(env=section.env, labels=section.labels)


def stated_evidence(origin: ImageOrigin | None) -> Evidence:
    """How the image was looked into when it was locked, as far as its provenance says."""
    if origin is None:
        return "config-only"
    # A word that no rdlc writes proves nothing.
    return next((level for level in EVIDENCE_LEVELS if level == origin.evidence), "config-only")


def is_decided_by_digests(old: HeldImage, new: HeldImage) -> bool:
    """Whether the kind of rebuild is known without looking into either image."""
    return kind_by_digest(old.section, new.section) is not None


def compare_locked(
    old: HeldImage, new: HeldImage, *, before: Inventory | None = None, after: Inventory | None = None
) -> LockedMoves:
    """What moved, from the best evidence at hand; `before` and `after` are layers read earlier, if all were."""
    if kind := kind_by_digest(old.section, new.section):
        return LockedMoves(moves=ImageMoves(kind=kind, moves=()), basis="digests", evidence=("", ""), command="")
    has_packages = before is not None and after is not None
    one, other = _inventory(old, before), _inventory(new, after)
    basis = "layers" if has_packages else _basis(one, other)
    if basis == "hints":
        one, other = _common(one, other), _common(other, one)
    if basis == "environment":
        one, other = replace(one, components=()), replace(other, components=())
    if not has_packages:
        one, other = _components_only(one), _components_only(other)
    return LockedMoves(
        moves=compare_images(old.section, new.section, one, other, has_packages=has_packages),
        basis=basis,
        evidence=(one.evidence, other.evidence),
        command="" if has_packages else reading_command(old, new),
        notes=tuple(dict.fromkeys((*one.notes, *other.notes))),
    )


def reading_command(old: HeldImage, new: HeldImage) -> str:
    """The command that reads both images; "" if they are for two platforms, or provenance names no place."""
    platform = old.section.requested.platform
    places = [place for image in (old, new) if (place := _reference(image))]
    if platform != new.section.requested.platform or len(places) < 2:
        return ""
    option = [] if platform == str(LINUX_AMD64) else ["--platform", platform]
    return " ".join(("rdlc", "image", *option, *map(str, places)))


def _reference(image: HeldImage) -> ImageReference | None:
    if image.origin is None:
        return None
    try:
        # The digest decides. The tag stays beside it because tables of contents are found by it.
        return replace(parse_reference(image.origin.reference), digest=image.section.digest)
    except InputError:
        return None


def _inventory(image: HeldImage, read: Inventory | None) -> Inventory:
    """What was read, else what the lock remembers; the hints of the config are in provenance alone."""
    level = stated_evidence(image.origin)
    if read is None:
        components = _components(image.origin, level)
        return Inventory(
            evidence=level,
            components=components,
            distributions=(),
            os_packages=(),
            nccl_conf=None,
            environment=image.section.env,
        )
    found = {item.name for item in read.components}
    hints = (item for item in _components(image.origin, "config-only") if item.name not in found)
    return replace(read, components=(*read.components, *hints))


def _components(origin: ImageOrigin | None, level: Evidence) -> tuple[Component, ...]:
    if origin is None:
        return ()
    return tuple(
        Component(name=name, version=version, source="provenance", evidence=level)
        for name, version in origin.components.items()
    )


def _basis(one: Inventory, other: Inventory) -> Basis:
    if one.complete != other.complete:
        return "environment"
    return "components" if one.complete else "hints"


def _common(one: Inventory, other: Inventory) -> Inventory:
    """Without the components that only one config mentions: it may have them, and the other too."""
    names = {item.name for item in other.components}
    return replace(one, components=tuple(item for item in one.components if item.name in names))


def _components_only(inventory: Inventory) -> Inventory:
    return replace(inventory, distributions=(), os_packages=(), nccl_conf=None)
