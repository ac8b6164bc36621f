"""The versions in a lock that AWS may take back: AMI releases and add-ons, against what it offers now."""

from dataclasses import dataclass

from rdlc.core.infra.offers import OfferCheck
from rdlc.core.infra.section import InfraSection
from rdlc.errors import RdlcError
from rdlc.operations.infra_offers import check_offers
from rdlc.operations.infra_ports import Offers


@dataclass(frozen=True, kw_only=True, slots=True)
class VersionState:
    """One locked version against AWS.

    `state` is `current`, `newer` (than the locked one, which is still offered), `gone` (`now` is the
    nearest that is offered) or `not-checked`. `now` is "" where it is not known.
    """

    address: str
    locked: str
    state: str
    now: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class InfraState:
    """The locked versions against AWS; `trouble` says why none of them could be looked at."""

    versions: tuple[VersionState, ...] = ()
    trouble: str = ""

    @property
    def states(self) -> frozenset[str]:
        """The states that occur; `not-checked` where AWS could not be asked."""
        return frozenset(("not-checked",)) if self.trouble else frozenset(item.state for item in self.versions)


def look_at_infra(section: InfraSection, offers: Offers) -> InfraState:
    """How each AMI release and add-on version stands; AWS that cannot be asked gives a trouble."""
    if missing := offers.describe_missing():
        return InfraState(trouble=missing)
    try:
        checks = check_offers(section.variables, offers)
    except RdlcError as error:
        return InfraState(trouble=error.message)
    return InfraState(versions=tuple(_state_of(check) for check in checks))


def _state_of(check: OfferCheck) -> VersionState:
    known = VersionState(address=check.address, locked=check.locked, state="not-checked")
    if check.is_offered:
        is_newest = check.recommended in {None, check.locked}
        return VersionState(
            address=check.address,
            locked=check.locked,
            state="current" if is_newest else "newer",
            now=check.recommended or check.locked,
        )
    if check.nearest is None:
        # AWS lists nothing like it, which is how it answers for what it does not know, too.
        return known
    return VersionState(address=check.address, locked=check.locked, state="gone", now=check.nearest)
