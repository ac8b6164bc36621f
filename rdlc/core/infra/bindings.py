"""Bindings: the values that place a run in an account, in zones, in a reservation, and do not identify it."""

from collections.abc import Mapping

from rdlc.core.canonical import Json
from rdlc.core.document import parse_document
from rdlc.core.fields import Fields
from rdlc.core.infra.request import read_value
from rdlc.core.infra.variables import Variable, canonical_value, nearest_name
from rdlc.core.text import one_line
from rdlc.errors import InputError


def read_bindings(data: bytes, *, name: str, variables: Mapping[str, Variable]) -> dict[str, Json]:
    """The values of a `--bind` file, YAML or `.tfvars.json`, canonical and sorted.

    Raises InputError with file and line for an unknown variable, one that identifies the run, or a
    value that does not fit.
    """
    return read_variable_fields(Fields.of(parse_document(data, name=name)), variables=variables, is_binding=True)


def read_profile(data: bytes, *, name: str, variables: Mapping[str, Variable]) -> dict[str, Json]:
    """The values of a profile, canonical and sorted; all of them identify the run."""
    return read_variable_fields(Fields.of(parse_document(data, name=name)), variables=variables, is_binding=False)


def read_variable_fields(fields: Fields, *, variables: Mapping[str, Variable], is_binding: bool) -> dict[str, Json]:
    """The values of a document that holds variables of one role only."""
    found: dict[str, Json] = {}
    for key in sorted(fields.names()):
        variable = variables.get(key)
        if variable is None:
            raise fields.error(key, "is no variable of this root", nearest_name(key, variables))
        if variable.is_binding != is_binding:
            raise fields.error(key, *_wrong_role(variable))
        try:
            found[key] = canonical_value(variable, read_value(fields, key))
        except ValueError as error:
            raise fields.error(key, str(error)) from error
    return found


def complete_bindings(variables: Mapping[str, Variable], given: Mapping[str, Json]) -> dict[str, Json]:
    """All binding variables with their values, canonical: what was given, else the default.

    Raises InputError naming every one that has neither, or the first that does not fit.
    """
    bindings = {name: variable for name, variable in variables.items() if variable.is_binding}
    missing = [name for name, variable in bindings.items() if name not in given and not variable.has_default]
    if missing:
        names = ", ".join(f"`{name}`" for name in missing)
        raise InputError(
            f"{names}: without a value; they place the run and are not in the lock",
            field=missing[0],
            hint=f"`--bind FILE`, with lines such as `{missing[0]}: VALUE`",
        )
    completed = {}
    for name, variable in bindings.items():
        try:
            completed[name] = canonical_value(variable, given[name]) if name in given else variable.default
        except ValueError as error:
            raise InputError(
                str(error), field=name, hint="`--bind FILE` takes the place of bindings in a lock"
            ) from error
    return completed


def _wrong_role(variable: Variable) -> tuple[str, str]:
    name = one_line(variable.name)
    if variable.is_binding:
        return (
            "places the run and does not identify it: it has no place in a profile or a spec",
            f"write `{name}` into a file and give it with `--bind FILE`",
        )
    hint = f"`rdlc lock` with `--set infra.variables.{name}=VALUE`"
    return "identifies the run: it is locked, and cannot be bound", hint
