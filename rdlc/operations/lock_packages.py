"""The extra packages of a lock: kept while request and base are unchanged, resolved anew when asked."""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from rdlc.core.lockfile import RunLock
from rdlc.core.packages.base import NOT_KNOWN, Base
from rdlc.core.packages.choice import Site, choose_file, why_unfit
from rdlc.core.packages.mending import find_broken, mend_base
from rdlc.core.packages.moves import PackageMove, find_moves
from rdlc.core.packages.refusals import find_shadows
from rdlc.core.packages.request import PackagesRequest, normalise_package_name
from rdlc.core.packages.resolution import FetchedFile, IndexFile, Pin, ResolutionQuestion
from rdlc.core.packages.section import LockedPackage, PackagesSection
from rdlc.core.packages.wishes import (
    Wishes,
    find_met,
    is_all_met,
    refuse_extra,
    refuse_replacing,
    sort_wishes,
    who_wants,
)
from rdlc.core.provenance import PackagesOrigin
from rdlc.core.text import one_line
from rdlc.errors import InputError, RdlcError
from rdlc.operations.package_base import BaseSource
from rdlc.operations.package_source import PackageSource
from rdlc.operations.reporting import Reporter

_SHOWN = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class LockedPackages:
    """The section, where it came from, and what moved if it took the place of an earlier one.

    `files` maps the name of a file to where the index has it; it is empty where the section was kept.
    """

    section: PackagesSection
    origin: PackagesOrigin
    moves: tuple[PackageMove, ...] = ()
    files: Mapping[str, IndexFile] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Chosen:
    """The file of one pin as it was chosen, and as it came."""

    pin: Pin
    file: IndexFile
    fetched: FetchedFile

    @property
    def locked(self) -> LockedPackage:
        return LockedPackage(
            name=self.pin.name,
            version=self.pin.version,
            file=self.file.name,
            size=self.fetched.size,
            sha256=self.fetched.sha256,
        )


def lock_packages(
    request: PackagesRequest,
    *,
    base: BaseSource,
    previous: RunLock | None,
    upgrades: frozenset[str],
    source: PackageSource,
    reporter: Reporter,
) -> LockedPackages:
    """The packages that the request adds to the base; an earlier lock's while neither has changed.

    To keep them, the index is not asked. Otherwise earlier versions stay where they fit and `upgrades`
    does not name them.
    """
    kept = previous.sections.packages if previous is not None else None
    moving = _read_upgrades(upgrades, kept)
    if kept is not None and previous is not None and moving == frozenset() and kept.requested == request:
        if evidence := base.known_as(kept):
            origin = previous.provenance.packages or PackagesOrigin(index=request.index, yanked={})
            locked = LockedPackages(section=replace(kept, evidence=evidence), origin=origin)
            _warn(locked, reporter)
            return locked
        reporter.note("the base has changed: its extra packages are resolved again, and stay where they fit")
    elif kept is not None and kept.requested != request:
        reporter.note("other extra packages are asked for: they are resolved again, and stay where they fit")
    _refuse_knowing_less(base.base, kept)
    locked = _resolve(request, base, kept=kept, moving=moving, source=source, reporter=reporter)
    _warn(locked, reporter)
    return locked


def _read_upgrades(upgrades: frozenset[str], kept: PackagesSection | None) -> frozenset[str] | None:
    """The names of the extras that may move; None for all."""
    if upgrades & {"packages", "all"}:
        return None
    names = [name.removeprefix("packages:") for name in upgrades if name.startswith("packages:")]
    moving = frozenset(normalise_package_name(name) for name in names)
    locked = sorted(extra.name for extra in kept.extras) if kept is not None else []
    for name in sorted(moving - set(locked)):
        near = difflib.get_close_matches(name, locked, n=1)
        known = ", ".join(f"`{extra}`" for extra in locked[:_SHOWN]) or "none"
        hint = f"did you mean `{near[0]}`?" if near else f"locked are: {known}"
        raise InputError(f"`--upgrade packages:{name}`: no extra package of that name is locked", hint=hint)
    return moving


def _refuse_knowing_less(base: Base, kept: PackagesSection | None) -> None:
    if kept is not None and kept.evidence != NOT_KNOWN and not base.is_complete:
        raise RdlcError(
            "the extra packages were locked against what the image holds, and it was not looked into now",
            field="packages",
            hint="`rdlc lock SPEC --contents auto` looks into it",
        )


def _resolve(
    request: PackagesRequest,
    source_of_base: BaseSource,
    *,
    kept: PackagesSection | None,
    moving: frozenset[str] | None,
    source: PackageSource,
    reporter: Reporter,
) -> LockedPackages:
    base, allowed = source_of_base.base, frozenset(request.allow_replace)
    wishes = sort_wishes(request.requires, base)
    refuse_replacing(wishes.active, base, replace=allowed)
    earlier = {extra.name: extra.version for extra in kept.extras} if kept is not None else {}
    chosen = []
    if not is_all_met(wishes.active, base, replace=allowed):
        mended = mend_base(base)
        _say_unmet(mended.unmet, reporter)
        question = ResolutionQuestion(
            requires=tuple(wish.text for wish in wishes.active),
            base=mended.base,
            index=request.index,
            exclude_newer=request.exclude_newer,
            allow_sdist=request.allow_sdist,
            replace=allowed,
            preferred=earlier,
            upgrade=moving,
            is_deep=base.is_complete,
        )
        chosen = _choose(source.resolve(question), question, wishes, staying=_staying(kept, moving), source=source)
    _refuse_shadows(chosen, source_of_base, allowed, reporter)
    _say_replaced(chosen, base, request.allow_replace, reporter)
    extras = tuple(sorted((item.locked for item in chosen), key=lambda extra: extra.name))
    section = PackagesSection(
        requested=request,
        python=base.python,
        platform=base.uv_platform,
        constraints_digest=base.constraints_digest,
        evidence=base.evidence,
        extras=extras,
        left_out=_left_out(wishes, base, extras),
    )
    yanked = {item.file.name: item.file.yanked for item in chosen if item.file.yanked is not None}
    return LockedPackages(
        section=section,
        origin=PackagesOrigin(index=source.index_url(request.index), yanked=yanked),
        moves=tuple(find_moves(kept.extras, extras)) if kept is not None else (),
        files={item.file.name: item.file for item in chosen},
    )


def _staying(kept: PackagesSection | None, moving: frozenset[str] | None) -> dict[str, LockedPackage]:
    """The locked extras that nobody asked to move, by name."""
    if kept is None or moving is None:
        return {}
    return {extra.name: extra for extra in kept.extras if extra.name not in moving}


def _choose(
    pins: Sequence[Pin],
    question: ResolutionQuestion,
    wishes: Wishes,
    *,
    staying: Mapping[str, LockedPackage],
    source: PackageSource,
) -> list[_Chosen]:
    """The one file of each pin, fetched; raises RdlcError for a pin that may not be added."""
    base = question.base
    # These may be large, and are not fetched to be refused.
    refused = [pin for pin in pins if pin.name not in question.replace and refuse_extra(pin, base)]
    added = [pin for pin in pins if pin not in refused]
    files = [_file_of(pin, question, wishes, staying.get(pin.name)) for pin in added]
    found = zip(added, files, source.fetch_all(files), strict=True)
    chosen = [_Chosen(pin=pin, file=file, fetched=fetched) for pin, file, fetched in found]
    requires = {f"{item.pin.name} {item.pin.version}": item.fetched.requires for item in chosen}
    for pin in refused:
        if error := refuse_extra(pin, base, wanted_by=who_wants(pin.name, wishes.active, requires)):
            raise error
    return chosen


def _file_of(pin: Pin, question: ResolutionQuestion, wishes: Wishes, stays: LockedPackage | None) -> IndexFile:
    """The file that was locked for this version, else the best one: what is uploaded later moves nothing."""
    site = Site(python=question.base.python, platform=question.base.uv_platform)
    locked = stays if stays is not None and stays.version == pin.version else None
    if locked is not None:
        file = next((file for file in pin.files if file.name == locked.file), None)
        if file is not None and file.sha256 not in (None, locked.sha256):
            raise RdlcError(
                f"the index has other bytes under `{one_line(file.name)}` than are locked",
                field="packages",
                hint=f"`rdlc lock SPEC --upgrade packages:{pin.name}` takes them",
            )
        if file is not None and not why_unfit(file.name, name=pin.name, version=pin.version, site=site):
            return replace(file, sha256=locked.sha256)
    is_exact = any(wish.name == pin.name and wish.is_exact for wish in wishes.active)
    return choose_file(
        pin, site, may_be_yanked=is_exact or locked is not None, allow_sdist=pin.name in question.allow_sdist
    )


def _refuse_shadows(
    chosen: Sequence[_Chosen], source_of_base: BaseSource, allowed: frozenset[str], reporter: Reporter
) -> None:
    names = set(source_of_base.base.versions) - allowed
    files = source_of_base.files if chosen else {}
    if chosen and not files and source_of_base.base.is_complete:
        reporter.note("which files the image's packages own is not known: extras were compared by module names")
    for item in chosen:
        if item.locked.is_sdist:
            reporter.warn(f"`{item.pin.name}` is built from source on each node: what it installs was not checked")
            continue
        for shadow in find_shadows(item.pin.name, item.fetched.members, names=names, files=files):
            raise RdlcError(
                shadow.message,
                field="packages",
                hint=f"leave it out, or say why it may be: `--allow-replace {shadow.distribution}=REASON`",
            )


def _left_out(wishes: Wishes, base: Base, extras: Sequence[LockedPackage]) -> Mapping[str, str]:
    names = {extra.name for extra in extras}
    left_out = {**wishes.left_out, **find_met(wishes.active, base, names)}
    for wish in wishes.active:
        if wish.name not in names and wish.text not in left_out:
            raise RdlcError(f"the resolution has nothing for `{wish.text}`", field="packages")
    return left_out


def _say_unmet(unmet: Sequence[str], reporter: Reporter) -> None:
    if unmet:
        more = f" and {len(unmet) - _SHOWN} more" if len(unmet) > _SHOWN else ""
        shown = "; ".join(one_line(text) for text in unmet[:_SHOWN])
        reporter.note(f"the base does not meet its own requirements, which is left to it: {shown}{more}")


def _say_replaced(chosen: Sequence[_Chosen], base: Base, reasons: Mapping[str, str], reporter: Reporter) -> None:
    for item in chosen:
        held = base.versions.get(item.pin.name)
        if held is not None and item.pin.name in reasons:
            change = f"`{item.pin.name} {held}` of the base is replaced by {item.pin.version}"
            reporter.warn(f"{change}: {one_line(reasons[item.pin.name])}")
    replaced = {item.pin.name: item.pin.version for item in chosen if item.pin.name in reasons}
    for text in find_broken(base, replaced):
        reporter.warn(f"what is replaced no longer fits the base: {one_line(text)}")


def _warn(locked: LockedPackages, reporter: Reporter) -> None:
    section = locked.section
    for file, reason in sorted(locked.origin.yanked.items()):
        words = f": {one_line(reason)}" if reason else ""
        reporter.warn(f"`{one_line(file)}` was yanked from the index{words}; it is locked, and installs")
    if section.evidence == NOT_KNOWN:
        names = ", ".join(f"`{extra.name}`" for extra in section.extras)
        reporter.warn(
            "what the image holds is not known: it was not checked whether it has what "
            f"{names or 'nothing'} requires, nor whether that replaces or shadows anything in it; "
            "`rdlc lock SPEC --contents auto` checks both"
        )
