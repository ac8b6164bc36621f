"""What the names of Deep Learning Containers promise, and which names mean the same image.

Tags: `train-ml-cuda` may become anything, `-v1` gets features, `-v1.1` gets security rebuilds about
weekly, and only `-v1.1.0` stays. The public and the private repository hold the same images.
"""

import re
from dataclasses import dataclass, replace
from typing import Literal

from rdlc.core.image.reference import ImageReference

TagKind = Literal["digest", "fixed", "moving-minor", "moving-major", "unversioned", "other"]

PUBLIC_REGISTRY = "public.ecr.aws"
DLC_NAMESPACE = "deep-learning-containers"

# Source: the region table of the Deep Learning Containers' documentation; all others: DLC_ACCOUNT.
DLC_ACCOUNT = "763104351884"
DLC_ACCOUNTS = {
    "af-south-1": "626614931356",
    "ap-east-1": "871362719292",
    "ap-east-2": "975050140332",
    "ap-northeast-3": "364406365360",
    "ap-south-2": "772153158452",
    "ap-southeast-3": "907027046896",
    "ap-southeast-4": "457447274322",
    "ap-southeast-5": "550225433462",
    "ap-southeast-6": "633930458069",
    "ap-southeast-7": "590183813437",
    "ca-west-1": "204538143572",
    "cn-north-1": "727897471807",
    "cn-northwest-1": "727897471807",
    "eu-central-2": "380420809688",
    "eu-south-1": "692866216735",
    "eu-south-2": "503227376785",
    "il-central-1": "780543022126",
    "me-central-1": "914824155844",
    "me-south-1": "217643126080",
    "mx-central-1": "637423239942",
    "us-gov-east-1": "446045086412",
    "us-gov-west-1": "442386744353",
}

_ECR = re.compile(
    r"(?P<account>[0-9]{12})\."
    r"(?:dkr\.ecr(?:-fips)?\.(?P<region>[a-z0-9-]+)\.amazonaws\.com(?:\.cn)?"
    r"|dkr-ecr(?:-fips)?\.(?P<dual_region>[a-z0-9-]+)"
    r"\.(?:on\.aws|on\.amazonwebservices\.com\.cn))"
)
_VERSION = re.compile(r"-v[0-9]+(?P<minor>\.[0-9]+)?(?P<patch>\.[0-9]+)?(?P<soci>-soci)?$")


@dataclass(frozen=True, kw_only=True, slots=True)
class EcrRegistry:
    """The account and region of a private ECR registry."""

    account: str
    region: str


def parse_ecr_registry(registry: str) -> EcrRegistry | None:
    """Account and region if the host is a private ECR registry, in any of its spellings."""
    match = _ECR.fullmatch(registry)
    if match is None:
        return None
    return EcrRegistry(account=match["account"], region=match["region"] or match["dual_region"])


def neutral_repository(reference: ImageReference) -> str:
    """The repository without its host; all names of one Deep Learning Container give the same."""
    return f"{DLC_NAMESPACE}/{name}" if (name := _dlc_name(reference)) else reference.repository


def neutral_text(reference: ImageReference) -> str:
    """The reference without its host: the same for all names of one Deep Learning Container."""
    tag = f":{reference.tag}" if reference.tag else ""
    digest = f"@{reference.digest}" if reference.digest else ""
    return f"{neutral_repository(reference)}{tag}{digest}"


def is_dlc(reference: ImageReference) -> bool:
    """Whether it names a Deep Learning Container: public, private, or mirrored under its name."""
    return _dlc_name(reference) is not None


def tag_kind(reference: ImageReference) -> TagKind:
    """How firm a reference is; `other` for images whose tags promise nothing that we know.

    A `-soci` tag of a fixed version counts as moving: it is another index, and can be made anew.
    """
    if reference.digest:
        return "digest"
    if not is_dlc(reference):
        return "other"
    version = _VERSION.search(reference.tag or "")
    if version is None:
        return "unversioned"
    if version["patch"] and not version["soci"]:
        return "fixed"
    return "moving-minor" if version["minor"] else "moving-major"


def public_name(reference: ImageReference) -> ImageReference | None:
    """The same tag and digest in the public gallery; None if it is no Deep Learning Container."""
    name = _dlc_name(reference)
    if name is None:
        return None
    return replace(reference, registry=PUBLIC_REGISTRY, repository=f"{DLC_NAMESPACE}/{name}")


def private_name(reference: ImageReference, *, region: str) -> ImageReference | None:
    """The same tag and digest in a region's private ECR; None if it is no Deep Learning Container."""
    name = _dlc_name(reference)
    if name is None:
        return None
    account = DLC_ACCOUNTS.get(region, DLC_ACCOUNT)
    domain = "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"
    return replace(reference, registry=f"{account}.dkr.ecr.{region}.{domain}", repository=name)


def _dlc_name(reference: ImageReference) -> str | None:
    """`ray` in each of the forms that name it; a mirror keeps `deep-learning-containers/ray`."""
    namespace, _, name = reference.repository.rpartition("/")
    if namespace == DLC_NAMESPACE or namespace.endswith(f"/{DLC_NAMESPACE}"):
        return name
    ecr = parse_ecr_registry(reference.registry)
    if ecr is None or ecr.account != DLC_ACCOUNTS.get(ecr.region, DLC_ACCOUNT):
        return None
    return reference.repository
