"""What floats: the AMI releases and add-on versions that neither spec nor profile gives."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from rdlc.core.infra.identity import Identity
from rdlc.core.infra.offers import AddonQuery, ReleaseQuery, newest_version
from rdlc.core.infra.origin import InfraOrigin
from rdlc.core.infra.section import InfraSection
from rdlc.core.infra.versions import ADDONS, KUBERNETES
from rdlc.core.text import one_line
from rdlc.errors import InputError, RdlcError
from rdlc.operations.infra_ports import Offers
from rdlc.operations.reporting import Reporter


@dataclass(frozen=True, kw_only=True, slots=True)
class InfraAsked:
    """The project, the `--bind` file if any, what an earlier lock held, and whether that may be moved."""

    project: Path
    bind: Path | None = None
    previous: InfraSection | None = None
    previous_origin: InfraOrigin | None = None
    is_upgrade: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """What floated: variable to release, add-on to version, and who said so."""

    releases: Mapping[str, str]
    addons: Mapping[str, str]
    origins: Mapping[str, str]


def find_floating(identity: Identity, asked: InfraAsked, *, offers: Offers, reporter: Reporter) -> Found:
    """The versions that no file gives: kept from the earlier lock for the same questions, else asked of AWS.

    Raises InputError if AWS cannot be asked, OutsideError if it does not answer, RdlcError if it
    offers nothing.
    """
    kept = _kept(identity, asked)
    _say_if_moved(identity, kept, offers, reporter)
    wanted_releases = {name: query for name, query in identity.releases.items() if name not in kept.releases}
    wanted_addons = {addon: query for addon, query in identity.addons.items() if addon not in kept.addons}
    if not wanted_releases and not wanted_addons:
        return kept
    _refuse_unanswered(wanted_releases, wanted_addons, offers)
    releases = {name: _find_release(name, query, offers) for name, query in wanted_releases.items()}
    addons = {addon: _find_addon(query, offers) for addon, query in wanted_addons.items()}
    for name, value in {**releases, **addons}.items():
        reporter.note(f"`{name}` is `{one_line(value)}`: what {offers.source()} gives now")
    origins = dict.fromkeys(wanted_releases, offers.source())
    if addons:
        origins[ADDONS] = offers.source()
    return Found(
        releases={**kept.releases, **releases},
        addons={**kept.addons, **addons},
        origins={**kept.origins, **origins},
    )


def _kept(identity: Identity, asked: InfraAsked) -> Found:
    """What the earlier lock already found for the same questions."""
    before = asked.previous.variables if asked.previous is not None and not asked.is_upgrade else {}
    same = [before.get(name) == identity.values.get(name) for name in ("region", KUBERNETES, "gpu_ami_type")]
    if not before or not all(same):
        return Found(releases={}, addons={}, origins={})
    releases = {name: value for name in identity.releases if isinstance(value := before.get(name), str)}
    held = before.get(ADDONS)
    given = held if isinstance(held, Mapping) else {}
    addons = {addon: value for addon in identity.addons if isinstance(value := given.get(addon), str)}
    said = asked.previous_origin.values if asked.previous_origin is not None else {}
    names = [*releases, *((ADDONS,) if addons else ())]
    return Found(releases=releases, addons=addons, origins={name: said.get(name, "the earlier lock") for name in names})


def _say_if_moved(identity: Identity, kept: Found, offers: Offers, reporter: Reporter) -> None:
    locked = {**kept.releases, **{f"{ADDONS}.{addon}": version for addon, version in kept.addons.items()}}
    if not locked:
        return
    try:
        now = _ask_again(identity, kept, offers)
    except RdlcError as error:
        reporter.warn(f"whether {_listed(locked)} moved was not checked: {error.message}")
        return
    if now is None:
        reporter.note(f"whether {_listed(locked)} moved was not checked: {offers.describe_missing()}")
    for name, version in (now or {}).items():
        if version is not None and version != locked[name]:
            reporter.note(
                f"`{name}` has moved: {offers.source()} gives `{one_line(version)}` now; "
                f"the lock keeps `{one_line(locked[name])}`; `--upgrade infra` takes the new one"
            )


def _ask_again(identity: Identity, kept: Found, offers: Offers) -> dict[str, str | None] | None:
    """What AWS gives now for everything that is kept; None if it cannot be asked."""
    if offers.describe_missing() is not None:
        return None
    now = {name: offers.recommended_release(identity.releases[name]) for name in kept.releases}
    for addon in kept.addons:
        now[f"{ADDONS}.{addon}"] = newest_version(offers.addon_versions(identity.addons[addon]))
    return now


def _refuse_unanswered(releases: Mapping[str, ReleaseQuery], addons: Mapping[str, AddonQuery], offers: Offers) -> None:
    missing = offers.describe_missing()
    if missing is None:
        return
    first = next(iter(releases), ADDONS)
    names = _listed([*releases, *(f"{ADDONS}.{addon}" for addon in addons)])
    raise InputError(
        f"{names}: not given, and AWS cannot be asked: {missing}",
        field=f"infra.variables.{first}",
        hint="give exact versions under `infra.variables` in the run spec, or lock where AWS credentials are",
    )


def _find_release(name: str, query: ReleaseQuery, offers: Offers) -> str:
    release = offers.recommended_release(query)
    if release is None:
        raise RdlcError(
            f"{offers.source()} has no AMI of the type `{one_line(query.ami_type)}` "
            f"for Kubernetes {one_line(query.kubernetes)} in `{one_line(query.region)}`",
            field=f"infra.variables.{name}",
            hint="choose another `kubernetes_version`",
        )
    return release


def _find_addon(query: AddonQuery, offers: Offers) -> str:
    version = newest_version(offers.addon_versions(query))
    if version is None:
        raise RdlcError(
            f"{offers.source()} offers no version of the add-on `{one_line(query.addon)}` "
            f"for Kubernetes {one_line(query.kubernetes)} in `{one_line(query.region)}`",
            field=f"infra.variables.{ADDONS}",
            hint="choose another `kubernetes_version`",
        )
    return version


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{one_line(name)}`" for name in names)
