"""The `infra` part of a run spec: which Terraform root, which profile, which values over it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from rdlc.core.canonical import Json
from rdlc.core.fields import Fields
from rdlc.core.relative_path import read_relative_path

PROFILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")


@dataclass(frozen=True, kw_only=True, slots=True)
class InfraRequest:
    """The folder of the root below the project, the profile in it or "", and variables that win over the profile."""

    root: str
    profile: str
    variables: Mapping[str, Json]

    def payload(self) -> Mapping[str, Json]:
        """The mapping that is written, version 1."""
        return {"root": self.root, "profile": self.profile, "variables": dict(sorted(self.variables.items()))}


def read_infra_request(fields: Fields) -> InfraRequest:
    """The `infra` part of a spec or of a lock's request; raises InputError with the address of a bad field."""
    if fields.text("kind", default="terraform", choices=("terraform", "existing")) == "existing":
        raise fields.error(
            "kind",
            "an existing cluster cannot be locked yet",
            "name a Terraform root instead: `infra: {root: terraform, profile: g6-12xlarge-x2}`",
        )
    profile = fields.remark("profile")
    if profile and not PROFILE.fullmatch(profile):
        raise fields.error("profile", f"must be a name of letters, digits, `.`, `_`, `-`, not `{profile}`")
    request = InfraRequest(
        root=read_relative_path(fields, "root"), profile=profile, variables=read_values(fields, "variables")
    )
    fields.finish()
    return request


def read_values(fields: Fields, key: str) -> dict[str, Json]:
    """A mapping from variable to value: single values, nothing, lists and mappings of single values."""
    below = fields.below(key, default={})
    return {name: read_value(below, name) for name in below.names()}


def read_value(fields: Fields, name: str) -> Json:
    """The value of one variable; raises InputError with its address if it is nested deeper."""
    # `has` marks the name as known; nothing is a value of its own here.
    if not fields.has(name):
        return None
    value = fields.values[name]
    if not isinstance(value, Mapping):
        return fields.scalar(name)
    below = fields.below(name)
    entries: dict[str, Json] = {}
    for entry in below.names():
        entries[entry] = below.scalar(entry)
        if isinstance(entries[entry], list):
            raise below.error(entry, "must be a single value")
    return entries
