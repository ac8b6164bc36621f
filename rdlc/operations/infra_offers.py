"""Whether AWS still offers what a lock holds, for `apply` and `outdated`."""

from collections.abc import Iterator, Mapping

from rdlc.core.canonical import Json
from rdlc.core.infra.offers import (
    AddonQuery,
    OfferCheck,
    nearest_release,
    nearest_version,
    newest_version,
    release_query,
)
from rdlc.core.infra.versions import ADDONS, KUBERNETES, RELEASES
from rdlc.operations.infra_ports import Offers

# An AMI of one's own takes the place of the release.
_OWN_AMI = {"gpu_release_version": "gpu_ami_id"}


def check_offers(variables: Mapping[str, Json], offers: Offers) -> tuple[OfferCheck, ...]:
    """Every AMI release and add-on version among locked variables, and what is offered in its place.

    Raises OutsideError if AWS does not answer: then nothing is known, and nothing is said.
    """
    return (*_check_releases(variables, offers), *_check_addons(variables, offers))


def _check_releases(variables: Mapping[str, Json], offers: Offers) -> Iterator[OfferCheck]:
    for name in RELEASES:
        locked, query = variables.get(name), release_query(name, variables)
        if not isinstance(locked, str) or query is None or variables.get(_OWN_AMI.get(name, "")):
            continue
        offered = offers.releases(query)
        yield OfferCheck(
            address=name,
            locked=locked,
            is_offered=locked in offered,
            nearest=nearest_release(locked, offered),
            recommended=offers.recommended_release(query),
        )


def _check_addons(variables: Mapping[str, Json], offers: Offers) -> Iterator[OfferCheck]:
    held, region, kubernetes = variables.get(ADDONS), variables.get("region"), variables.get(KUBERNETES)
    if not (isinstance(held, Mapping) and isinstance(region, str) and isinstance(kubernetes, str)):
        return
    for addon, locked in sorted(held.items()):
        found = offers.addon_versions(AddonQuery(region=region, kubernetes=kubernetes, addon=addon))
        versions = [offer.version for offer in found]
        yield OfferCheck(
            address=f"{ADDONS}.{addon}",
            locked=str(locked),
            is_offered=locked in versions,
            nearest=nearest_version(str(locked), versions),
            recommended=newest_version(found),
        )
