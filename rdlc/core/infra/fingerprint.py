"""The offline plan fingerprint: one digest over all that a plan from nothing would make.

It is planned without an account and with the same stand-ins for bindings everywhere, so that only
what identifies the run moves it.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import replace

from rdlc.core.canonical import Json, canonical_bytes, digest
from rdlc.core.document import parse_document
from rdlc.core.fields import Fields
from rdlc.core.infra.bindings import read_variable_fields
from rdlc.core.infra.variables import Variable, canonical_value
from rdlc.core.text import one_line
from rdlc.errors import InputError, RdlcError

SHOW_LIMIT_BYTES = 64 << 20
FORMAT_MAJOR = "1"

_STAND_IN = re.compile(r"\{([a-z_]+)\}")


def read_placeholders(
    data: bytes, *, name: str, variables: Mapping[str, Variable], identity: Mapping[str, Json]
) -> dict[str, Json]:
    """The values that stand in for bindings; `{region}` in a text is that identity variable."""
    document = parse_document(data, name=name)
    filled = replace(document, value=_fill(document.value, identity, name))
    return read_variable_fields(Fields.of(filled), variables=variables, is_binding=True)


def missing_placeholders(variables: Mapping[str, Variable], placeholders: Mapping[str, Json]) -> tuple[str, ...]:
    """The required bindings that nothing stands in for."""
    return tuple(
        name
        for name, variable in variables.items()
        if variable.is_binding and not variable.has_default and name not in placeholders
    )


def variables_file(*values: Mapping[str, Json]) -> bytes:
    """The bytes of a `.tfvars.json` with all the values; the same values give the same bytes."""
    merged: dict[str, Json] = {}
    for held in values:
        merged |= held
    return canonical_bytes(merged) + b"\n"


def plan_fingerprint(shown: bytes, *, name: str = "the offline plan") -> str:
    """The digest over what `terraform show -json` says of a plan from nothing; raises RdlcError if it cannot be read.

    It covers each resource with its planned values, which of them are known after apply only, and
    the planned outputs. The version of Terraform and the order of resources do not move it.
    """
    plan = _parse(shown, name)
    planned = _mapping(plan, "planned_values", name)
    changes = plan.get("resource_changes", [])
    if not isinstance(changes, list):
        raise _unreadable(name, "`resource_changes` is no list")
    resources = dict(_resource(change, name) for change in changes)
    payload: dict[str, Json] = {
        "version": 1,
        "outputs": planned.get("outputs", {}),
        "resources": [resources[address] for address in sorted(resources)],
    }
    try:
        return digest(payload)
    except UnicodeEncodeError as error:
        raise _unreadable(name, "it holds half of a surrogate pair") from error


def find_misread(shown: bytes, variables: Mapping[str, Variable], values: Mapping[str, Json]) -> str | None:
    """The first variable that Terraform read otherwise than it is locked; None if none, or none is echoed.

    A root echoes its variables in the output `inputs`.
    """
    outputs = _mapping(_parse(shown, "the offline plan"), "planned_values", "the offline plan").get("outputs")
    inputs = outputs.get("inputs") if isinstance(outputs, Mapping) else None
    echoed = inputs.get("value") if isinstance(inputs, Mapping) else None
    if not isinstance(echoed, Mapping):
        return None
    for name, value in values.items():
        if name in echoed and not _is_same(variables[name], echoed[name], value):
            return name
    return None


def _is_same(variable: Variable, echoed: Json, value: Json) -> bool:
    try:
        read = canonical_value(variable, echoed)
    except ValueError:
        return False
    if variable.type.element == "number" and not variable.type.collection and None not in (read, value):
        # Terraform may spell 0.50 as 0.5.
        return float(str(read)) == float(str(value))
    return canonical_bytes(read) == canonical_bytes(value)


def _resource(change: Json, name: str) -> tuple[str, Json]:
    address = change.get("address") if isinstance(change, Mapping) else None
    if not isinstance(change, Mapping) or not isinstance(address, str):
        raise _unreadable(name, "a resource change has no address")
    what = _mapping(change, "change", name)
    if what.get("actions") != ["create"]:
        raise _unreadable(
            name,
            f"`{one_line(address)}` would not be created but `{one_line(str(what.get('actions')))}`: "
            "data sources have no place in a locked root",
        )
    held = {
        "address": address,
        "type": change.get("type"),
        "values": what.get("after"),
        "unknown": what.get("after_unknown"),
    }
    return address, held


def _parse(shown: bytes, name: str) -> Mapping[str, Json]:
    if len(shown) > SHOW_LIMIT_BYTES:
        raise _unreadable(name, f"it is larger than {SHOW_LIMIT_BYTES} bytes")
    try:
        plan = json.loads(shown, parse_float=str, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise _unreadable(name, one_line(str(error))) from error
    if not isinstance(plan, Mapping):
        raise _unreadable(name, "it is no mapping")
    version = str(plan.get("format_version"))
    if version.partition(".")[0] != FORMAT_MAJOR:
        raise _unreadable(name, f"it has the format {one_line(version, limit=20)}, and {FORMAT_MAJOR} is read")
    return plan


def _refuse_constant(text: str) -> Json:
    raise ValueError(f"{text} is no JSON")


def _mapping(plan: Mapping[str, Json], key: str, name: str) -> Mapping[str, Json]:
    value = plan.get(key, {})
    if not isinstance(value, Mapping):
        raise _unreadable(name, f"`{key}` is no mapping")
    return value


def _unreadable(name: str, why: str) -> RdlcError:
    return RdlcError(f"{name} cannot be read: {why}")


def _fill(value: Json, identity: Mapping[str, Json], name: str) -> Json:
    if isinstance(value, Mapping):
        return {key: _fill(item, identity, name) for key, item in value.items()}
    if isinstance(value, list):
        return [_fill(item, identity, name) for item in value]
    if not isinstance(value, str):
        return value

    def stand_in(match: re.Match[str]) -> str:
        held = identity.get(match[1])
        if not isinstance(held, str):
            raise InputError(f"`{{{match[1]}}}` is no text among the identity variables", file=name)
        return held

    return _STAND_IN.sub(stand_in, value)
