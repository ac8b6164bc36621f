"""What a lock's `packages` section says, held against its own request and base: nothing in a lock is believed."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from packaging.utils import canonicalize_name

from rdlc.core.contents.inventory import EVIDENCE_LEVELS
from rdlc.core.document import child_address
from rdlc.core.level import reaches
from rdlc.core.packages.base import LOCAL, NOT_KNOWN, PLATFORMS, Base, BaseDistribution
from rdlc.core.packages.choice import Site, why_unfit
from rdlc.core.packages.image_base import MACHINES
from rdlc.core.packages.refusals import is_protected
from rdlc.core.packages.section import LockedPackage, PackagesSection
from rdlc.core.packages.wishes import Wish, base_reason, sort_wishes
from rdlc.core.sections import EnvironmentSection, Sections
from rdlc.core.text import one_line
from rdlc.errors import InputError

_GLIBC = re.compile(r"glibc ([0-9]{1,3})\.([0-9]{1,3})(\..*)?")
# What stands behind `==` in a line for pip: no blanks, no markers, no options.
_VERSION = re.compile(r"[A-Za-z0-9.!+]+")
LOWERED_CLAIM = "infrastructure"
_EXTRAS = "packages.resolved.extras"
_LEFT_OUT = "packages.resolved.left_out"

Wrong = tuple[str, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Surroundings:
    """What the other sections say of the base; of an image's, only the machine."""

    base: Base
    is_local: bool
    claim: str


def find_wrong_packages(sections: Sections) -> Iterator[Wrong]:
    """What in the `packages` of a lock does not follow from its requests and its base: address and what is wrong."""
    section, environment, image = sections.packages, sections.environment, sections.image
    if section is None:
        return
    if environment is not None:
        base = local_base(environment)
    else:
        platform = image.requested.platform if image is not None else ""
        base = _unknown_base(platform)
    around = Surroundings(base=base, is_local=environment is not None, claim=sections.run.requested.claim)
    yield from _find_wrong(section, around)


def local_base(environment: EnvironmentSection) -> Base:
    """The base that a lock's `environment` tells of; what its distributions require is not in it."""
    found = _GLIBC.fullmatch(environment.libc)
    return Base(
        python=environment.python,
        implementation=environment.implementation,
        machine=environment.machine,
        glibc=(int(found[1]), int(found[2])) if found else None,
        distributions=tuple(
            BaseDistribution(name=name, version=version) for name, version in sorted(environment.distributions.items())
        ),
        evidence=LOCAL,
    )


def _unknown_base(platform: str) -> Base:
    machine = MACHINES.get(platform.partition("/")[2].partition("/")[0], "")
    return Base(python="", implementation="CPython", machine=machine, glibc=None, distributions=(), evidence=NOT_KNOWN)


def _find_wrong(section: PackagesSection, around: Surroundings) -> Iterator[Wrong]:
    yield from _check_base(section, around)
    yield from _check_replacements(section)
    names = [extra.name for extra in section.extras]
    try:
        wishes = sort_wishes(section.requested.requires, _base_of(section, around))
    except InputError as error:
        yield "packages.requested.requires", error.message
        return
    for extra in section.extras:
        yield from _check_extra(extra, section, around)
        asked = [wish for wish in wishes.active if wish.name == extra.name and not wish.accepts(extra.version)]
        for wish in asked:
            yield child_address(_EXTRAS, extra.name), f"is not what `{one_line(wish.text)}` asks for"
    for text in sorted(section.left_out.keys() - set(section.requested.requires)):
        yield child_address(_LEFT_OUT, text), "was not asked for"
    for text, reason in wishes.left_out.items():
        if section.left_out.get(text) != reason:
            yield child_address(_LEFT_OUT, text), f"must be `{reason}`"
    for wish in wishes.active:
        yield from _check_wish(wish, section, around, names)


def _base_of(section: PackagesSection, around: Surroundings) -> Base:
    """The base as far as the section tells of it; the version of an image's Python stands nowhere else."""
    base = around.base
    python = base.python if around.is_local else section.python
    return Base(
        python=python,
        implementation=base.implementation,
        machine=base.machine,
        glibc=base.glibc,
        distributions=base.distributions,
        evidence=section.evidence,
    )


def _check_base(section: PackagesSection, around: Surroundings) -> Iterator[Wrong]:
    base = around.base
    if around.is_local and section.python != base.python:
        yield "packages.resolved.python", f"must be `{one_line(base.python)}`, as in `environment`"
    if section.platform not in PLATFORMS or not section.platform.startswith(f"{base.machine}-"):
        yield "packages.resolved.platform", f"is no platform of a base on `{one_line(base.machine)}`"
    elif around.is_local and section.platform != base.uv_platform:
        yield "packages.resolved.platform", f"must be `{base.uv_platform}`, as `environment` says of its libc"
    levels = (LOCAL,) if around.is_local else EVIDENCE_LEVELS
    if section.evidence not in levels:
        words = ", ".join(f"`{level}`" for level in levels)
        yield "packages.resolved.evidence", f"must be one of {words}, not `{one_line(section.evidence)}`"
    if section.evidence == NOT_KNOWN and not reaches(LOWERED_CLAIM, around.claim):
        yield (
            "packages.resolved.evidence",
            f"a claim of `{around.claim}` takes more than `{NOT_KNOWN}`: what the image holds was not known",
        )


def _check_replacements(section: PackagesSection) -> Iterator[Wrong]:
    for extra in section.extras:
        if is_protected(extra.name) and extra.name not in section.requested.allow_replace:
            yield (
                child_address(_EXTRAS, extra.name),
                "belongs to the stack that training stands on, and `allow_replace` gives no reason for it",
            )


def _check_extra(extra: LockedPackage, section: PackagesSection, around: Surroundings) -> Iterator[Wrong]:
    address = child_address(_EXTRAS, extra.name)
    if extra.name != canonicalize_name(extra.name):
        yield address, "is no normalised name of a package"
        return
    if not _VERSION.fullmatch(extra.version):
        yield f"{address}.version", f"is no version that can be asked for: `{one_line(extra.version, limit=60)}`"
    site = Site(python=section.python, platform=section.platform)
    if unfit := why_unfit(extra.file, name=extra.name, version=extra.version, site=site):
        yield f"{address}.file", f"`{one_line(extra.file)}` {unfit}"
    if extra.is_sdist and extra.name not in section.requested.allow_sdist:
        yield f"{address}.file", f"`{one_line(extra.file)}` is built from source, which `allow_sdist` does not allow"
    held = around.base.versions.get(extra.name)
    if held is not None and extra.name not in section.requested.allow_replace:
        yield address, f"would replace `{extra.name} {one_line(held)}` of the base"


def _check_wish(wish: Wish, section: PackagesSection, around: Surroundings, names: list[str]) -> Iterator[Wrong]:
    """A requirement that counts is met by an extra or by the base, and never by both."""
    reason = section.left_out.get(wish.text)
    if wish.name in names:
        if reason is not None:
            yield child_address(_LEFT_OUT, wish.text), f"there is an extra `{wish.name}` for it"
        return
    version = (reason or "").removeprefix(base_reason(wish.name, ""))
    if reason != base_reason(wish.name, version) or not wish.accepts(version):
        yield child_address(_LEFT_OUT, wish.text), "no extra is for it, and the base does not have it"
    elif around.is_local and around.base.versions.get(wish.name) != version:
        yield child_address(_LEFT_OUT, wish.text), f"the base has no `{wish.name} {one_line(version)}`"
    elif section.evidence == NOT_KNOWN:
        yield child_address(_LEFT_OUT, wish.text), f"with `{NOT_KNOWN}`, what the base has is not known"
