"""Where the `infra` section of a lock came from: kept for people, never hashed or compared."""

from collections.abc import Mapping
from dataclasses import dataclass

from rdlc.core.canonical import Json
from rdlc.core.fields import Fields
from rdlc.core.infra.request import read_values


@dataclass(frozen=True, kw_only=True, slots=True)
class InfraOrigin:
    """The fingerprint of the offline plan, or why it is missing; one of the two is "".

    `values` says of each identity variable where it came from: `spec`, `profile`, `default`, or who
    was asked. `bindings` are those given when locking; others may be given later.
    """

    plan: str
    plan_missing: str
    values: Mapping[str, str]
    bindings: Mapping[str, Json]

    def payload(self) -> Mapping[str, Json]:
        """The mapping that is written."""
        return {
            "plan": self.plan,
            "plan_missing": self.plan_missing,
            "values": dict(sorted(self.values.items())),
            "bindings": dict(sorted(self.bindings.items())),
        }


def read_infra_origin(fields: Fields) -> InfraOrigin:
    """The origin of a lock's infra section; raises InputError with the address of a bad field."""
    origin = InfraOrigin(
        plan=fields.digest("plan") if fields.remark("plan") else "",
        plan_missing=fields.remark("plan_missing"),
        values=fields.table("values"),
        bindings=read_values(fields, "bindings"),
    )
    fields.finish()
    return origin
