"""The `infra` section of a run lock: the Terraform root, its providers, its identity variables."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rdlc.core.canonical import Json, canonical_bytes
from rdlc.core.document import child_address
from rdlc.core.fields import Fields
from rdlc.core.infra.providers import LockedProvider, read_providers
from rdlc.core.infra.request import InfraRequest, read_infra_request, read_values
from rdlc.core.infra.tree import FILE_COUNT_LIMIT, PROVIDER_LOCK, describe_refused, is_hashed, tree_hash
from rdlc.core.infra.variables import sorted_set
from rdlc.core.infra.versions import find_version_problems
from rdlc.core.text import one_line

_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, kw_only=True, slots=True)
class InfraSection:
    """What Terraform is given: files by path with sha256 in hex, providers, and every identity variable.

    `variables` are canonical, with defaults resolved; a binding is never among them.
    """

    requested: InfraRequest
    required_version: str
    providers: Mapping[str, LockedProvider]
    files: Mapping[str, str]
    variables: Mapping[str, Json]

    @property
    def tree(self) -> str:
        """The hash of the root's files in Go's `h1` form."""
        return tree_hash(self.files)

    def payload(self) -> Mapping[str, Json]:
        """Version 1."""
        providers: dict[str, Json] = {
            address: provider.payload() for address, provider in sorted(self.providers.items())
        }
        return {
            "requested": self.requested.payload(),
            "resolved": {
                "required_version": self.required_version,
                "providers": providers,
                "variables": dict(sorted(self.variables.items())),
                "tree": self.tree,
                "files": dict(sorted(self.files.items())),
            },
        }


def read_infra_section(section: Fields) -> InfraSection:
    """The section of a lock; raises InputError with the address of a bad field."""
    resolved = section.below("resolved")
    infra = InfraSection(
        requested=read_infra_request(section.below("requested")),
        required_version=resolved.text("required_version"),
        providers=read_providers(resolved.below("providers", default={})),
        variables=read_values(resolved, "variables"),
        files=_read_files(resolved.below("files")),
    )
    # Computed again from the files; the canonical form of the lock shows a wrong line.
    resolved.text("tree")
    resolved.finish()
    section.finish()
    return infra


def find_infra_contradictions(section: InfraSection) -> Iterator[tuple[str, str]]:
    """Address and message of all in the section that does not follow from what was asked for."""
    for name, value in sorted(section.requested.variables.items()):
        address = child_address("infra.resolved.variables", name)
        if name not in section.variables:
            yield address, "is missing: it was asked for"
        elif not _is_same(section.variables[name], value):
            yield address, "is not the value that was asked for"
    if section.providers and PROVIDER_LOCK not in section.files:
        yield "infra.resolved.files", f"`{PROVIDER_LOCK}` is missing: the providers stand in it"
    for name, problem in find_version_problems(section.variables):
        yield child_address("infra.resolved.variables", name), problem


def _is_same(found: Json, wanted: Json) -> bool:
    if isinstance(found, list) and isinstance(wanted, list):
        # A set is sorted and loses doubles; whether a variable is one, only the root says.
        return any(_is_equal(found, form) for form in (wanted, sorted_set(wanted)))
    if isinstance(found, Mapping) and isinstance(wanted, Mapping):
        # More add-ons may be resolved than were asked for by version.
        return all(name in found and _is_equal(found[name], wanted[name]) for name in wanted)
    return _is_equal(found, wanted)


def _is_equal(found: Json, wanted: Json) -> bool:
    # 1 and true are equal in Python, and two values here.
    return canonical_bytes(found) == canonical_bytes(wanted)


def _read_files(fields: Fields) -> dict[str, str]:
    files = {}
    for path in fields.names():
        parts = path.split("/")
        if path.startswith("/") or "\\" in path or ".." in parts or "" in parts or "." in parts:
            raise fields.error(path, "must be a path below the root, with `/`")
        if problem := describe_refused(path):
            raise fields.error(path, problem)
        if not is_hashed(path):
            raise fields.error(path, "is no file that belongs to the tree of a root")
        files[path] = fields.text(path)
        if not _SHA256.fullmatch(files[path]):
            raise fields.error(path, f"must be 64 hex digits, not `{one_line(files[path], limit=80)}`")
    if len(files) > FILE_COUNT_LIMIT:
        raise fields.error("", f"holds {len(files)} files, and at most {FILE_COUNT_LIMIT} are read")
    return files
