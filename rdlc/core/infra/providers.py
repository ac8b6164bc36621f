"""The providers of a Terraform root: what it requires, and what its dependency lock file pins."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from rdlc.core.canonical import Json
from rdlc.core.fields import Fields
from rdlc.core.infra.hcl import Block, Expression, parse_hcl
from rdlc.core.text import one_line
from rdlc.errors import InputError

_ADDRESS = re.compile(r"(?:[A-Za-z0-9.-]+(?::[0-9]+)?/)?([A-Za-z0-9_-]+/[A-Za-z0-9_-]+)")
_VERSION = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?")
_HASH = re.compile(r"h1:[A-Za-z0-9+/]{43}=|zh:[0-9a-f]{64}")


@dataclass(frozen=True, kw_only=True, slots=True)
class LockedProvider:
    """One provider: exact version, the constraints it was chosen by, and the hashes of all platforms."""

    version: str
    constraints: str
    hashes: tuple[str, ...]

    def payload(self) -> Mapping[str, Json]:
        """The mapping that is written."""
        return {"version": self.version, "constraints": self.constraints, "hashes": list(self.hashes)}


def provider_address(source: str) -> str | None:
    """Namespace and type of a source such as `hashicorp/aws`, without host; None if it is none.

    The hashes say what a provider is, whichever host it comes from.
    """
    match = _ADDRESS.fullmatch(source)
    return match[1].lower() if match else None


def read_provider_lock(data: bytes, *, name: str) -> dict[str, LockedProvider]:
    """The providers of a `.terraform.lock.hcl` by address, sorted; raises InputError with file and line."""
    found: dict[str, LockedProvider] = {}
    for block in parse_hcl(data, name=name).blocks:
        address = provider_address(block.labels[0]) if len(block.labels) == 1 else None
        if block.type != "provider" or address is None:
            raise block.error(f'a block `provider "ADDRESS"` is due here, not `{one_line(block.type, limit=60)}`')
        if address in found:
            raise block.error(f"the provider `{address}` stands here twice")
        found[address] = _read_locked(block)
    return dict(sorted(found.items()))


def read_providers(fields: Fields) -> dict[str, LockedProvider]:
    """The providers of a lock's section."""
    found = {}
    for address in fields.names():
        if provider_address(address) != address:
            raise fields.error(address, "must be namespace and type of a provider, as `hashicorp/aws`")
        below = fields.below(address)
        found[address] = LockedProvider(
            version=below.text("version"), constraints=below.remark("constraints"), hashes=below.texts("hashes")
        )
        below.finish()
        if problem := describe_problem(found[address]):
            raise fields.error(address, problem)
    return found


def describe_problem(provider: LockedProvider) -> str | None:
    """What is wrong with a provider's version or hashes; None if nothing is."""
    if not _VERSION.fullmatch(provider.version):
        return f"the version must be exact, as `5.100.0`, not `{one_line(provider.version, limit=60)}`"
    if not provider.hashes:
        return "has no hashes: nothing would prove that a download is the locked one"
    for hash_ in provider.hashes:
        if not _HASH.fullmatch(hash_):
            return f"`{one_line(hash_, limit=80)}` is no provider hash: `h1:` or `zh:` is due"
    return None


def read_required(terraform: tuple[Block, ...]) -> tuple[str, tuple[str, ...]]:
    """The version constraint of Terraform and the required providers' addresses, from `terraform` blocks."""
    constraints, addresses = [], []
    for block in terraform:
        if expression := block.attributes.get("required_version"):
            constraints.append(_text(expression))
        for providers in block.below("required_providers"):
            addresses += [_required_address(expression) for expression in providers.attributes.values()]
    return ", ".join(constraints), tuple(sorted(set(addresses)))


def _required_address(expression: Expression) -> str:
    value = expression.literal()
    source = value.get("source") if isinstance(value, Mapping) else None
    address = provider_address(source) if isinstance(source, str) else None
    if address is None:
        raise expression.error('must say where the provider comes from, as `source = "hashicorp/aws"`')
    return address


def _read_locked(block: Block) -> LockedProvider:
    missing = [key for key in ("version", "hashes") if key not in block.attributes]
    if missing:
        raise block.error(f"`{missing[0]}` is missing")
    constraints = block.attributes.get("constraints")
    hashes = block.attributes["hashes"].literal()
    if not isinstance(hashes, list) or not all(isinstance(item, str) for item in hashes):
        raise block.attributes["hashes"].error("must be a list of texts")
    provider = LockedProvider(
        version=_text(block.attributes["version"]),
        constraints=_text(constraints) if constraints else "",
        hashes=tuple(sorted({str(item) for item in hashes})),
    )
    if problem := describe_problem(provider):
        raise block.error(problem)
    return provider


def _text(expression: Expression) -> str:
    value = expression.literal()
    if not isinstance(value, str) or not value:
        raise expression.error("must be a text")
    return value


def check_required(required: tuple[str, ...], locked: Mapping[str, LockedProvider], *, root: str) -> None:
    """Raises InputError if a required provider is not in the dependency lock file."""
    for address in required:
        if address not in locked:
            raise InputError(
                f"the required provider `{address}` is not in `.terraform.lock.hcl`",
                file=root,
                hint="`terraform providers lock -platform=linux_amd64` in that folder, and commit the file",
            )
