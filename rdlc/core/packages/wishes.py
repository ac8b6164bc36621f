"""What is asked for, held against the base: what counts there, what adds nothing, who wants what."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from rdlc.core.packages.base import Base, holds, is_version, marker_environment
from rdlc.core.packages.refusals import is_protected
from rdlc.core.packages.resolution import Pin
from rdlc.core.text import one_line
from rdlc.errors import RdlcError

_LOOK_INSIDE = "`rdlc lock SPEC --contents auto` looks into the image"


@dataclass(frozen=True, kw_only=True, slots=True)
class Wish:
    """One requirement of a request: its text, the normalised name, and the parsed form."""

    text: str
    name: str
    requirement: Requirement

    @property
    def is_exact(self) -> bool:
        """Whether it names one version, so that a yanked one is meant."""
        return any(
            part.operator == "===" or (part.operator == "==" and not part.version.endswith(".*"))
            for part in self.requirement.specifier
        )

    def accepts(self, version: str) -> bool:
        """Whether a version is one that was asked for."""
        return is_version(version) and self.requirement.specifier.contains(version, prereleases=True)


@dataclass(frozen=True, kw_only=True, slots=True)
class Wishes:
    """The requirements that count on the base, and why each of the others does not."""

    active: tuple[Wish, ...]
    left_out: Mapping[str, str]


def sort_wishes(requires: Iterable[str], base: Base) -> Wishes:
    """Which requirements count on the base; one whose marker is false there is left out."""
    environment = marker_environment(base)
    wishes = [_wish(text) for text in requires]
    active = tuple(wish for wish in wishes if holds(wish.requirement, environment))
    reason = marker_reason(base)
    return Wishes(active=active, left_out={wish.text: reason for wish in wishes if wish not in active})


def marker_reason(base: Base) -> str:
    """Why a requirement with a false marker is left out."""
    return f"its marker is false on the base: Python {base.python}, {base.machine}"


def base_reason(name: str, version: str) -> str:
    """Why a requirement that the base meets is left out."""
    return f"already in the base: {name} {version}"


def find_met(wishes: Iterable[Wish], base: Base, extras: Iterable[str]) -> dict[str, str]:
    """The requirements that no extra is for, because the base has what they ask for, with the reason."""
    versions, resolved = base.versions, set(extras)
    return {
        wish.text: base_reason(wish.name, versions[wish.name])
        for wish in wishes
        if wish.name not in resolved and wish.name in versions
    }


def is_all_met(wishes: Iterable[Wish], base: Base, *, replace: frozenset[str]) -> bool:
    """Whether the base meets everything as it is; what an `[extra]` asks for is not looked at."""
    versions = base.versions
    return all(
        wish.name not in replace
        and not wish.requirement.extras
        and wish.name in versions
        and wish.accepts(versions[wish.name])
        for wish in wishes
    )


def refuse_replacing(wishes: Iterable[Wish], base: Base, *, replace: frozenset[str]) -> None:
    """Raises RdlcError for a requirement that the base could only meet with another version."""
    versions = base.versions
    for wish in wishes:
        if wish.name in replace:
            continue
        held = versions.get(wish.name)
        if held is not None and not wish.accepts(held):
            raise RdlcError(
                f"`{one_line(wish.text)}` would replace `{wish.name} {one_line(held)}` of the base",
                field="packages",
                hint=_way_out(wish.name, "ask for what the base has"),
            )
        if is_protected(wish.name) and not base.is_complete:
            raise RdlcError(
                f"`{one_line(wish.text)}` may replace what the image has, and what it has is not known",
                field="packages",
                hint=_LOOK_INSIDE,
            )


def refuse_extra(pin: Pin, base: Base, *, wanted_by: tuple[str, ...] = ()) -> RdlcError | None:
    """Why a pin cannot be added to the base, saying who wants it; None if it can."""
    name, version = pin.name, pin.version
    held = base.versions.get(name)
    who = f"; wanted by {' and '.join(wanted_by)}" if wanted_by else ""
    if held is not None:
        message = f"`{one_line(name)} {one_line(version)}` would replace `{name} {one_line(held)}` of the base{who}"
        first = "ask for versions that take what the base has"
    elif is_protected(name):
        first = "take a base that has it"
        where = "the base does not have it" if base.is_complete else "what the image has of it is not known"
        message = (
            f"`{one_line(name)} {one_line(version)}` belongs to the stack that training stands on, and {where}{who}"
        )
    else:
        return None
    return RdlcError(message, field="packages", hint=_way_out(name, first))


def who_wants(name: str, wishes: Iterable[Wish], requires: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Who asks for a package: the spec, or extras, which `requires` maps to what they require."""
    asked = [f"the spec (`{one_line(wish.text)}`)" for wish in wishes if wish.name == name]
    return (*asked, *(f"`{extra}` (`{line}`)" for extra, line in _lines_for(name, requires)))


def _lines_for(name: str, requires: Mapping[str, tuple[str, ...]]) -> Iterator[tuple[str, str]]:
    for extra, lines in sorted(requires.items()):
        for line in lines:
            try:
                if canonicalize_name(Requirement(line).name) == name:
                    yield one_line(extra), one_line(line)
            except InvalidRequirement:
                continue


def _way_out(name: str, first: str) -> str:
    if name == "ray":
        return f"{first}: `ray` cannot be replaced"
    return f"{first}, or say why it may be: `--allow-replace {name}=REASON`"


def _wish(text: str) -> Wish:
    requirement = Requirement(text)
    return Wish(text=text, name=canonicalize_name(requirement.name), requirement=requirement)
