"""The identity variables of a lock: from the spec, the profile, the defaults, and what floats."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rdlc.core.canonical import Json
from rdlc.core.infra.offers import AddonQuery, ReleaseQuery, release_query
from rdlc.core.infra.variables import Variable, canonical_value, nearest_name
from rdlc.core.infra.versions import ADDONS, KUBERNETES, RELEASES, find_version_problems
from rdlc.core.text import one_line
from rdlc.errors import InputError

SPEC_FIELD = "infra.variables"

_NODE_ADDONS = ("coredns", "kube-proxy", "vpc-cni")
_STORAGE_ADDONS = {"efs": "aws-efs-csi-driver", "fsx": "aws-fsx-csi-driver"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Identity:
    """The values so far, where each came from (`spec`, `profile` or `default`), and what is still to be found.

    `releases` maps a variable to the question for its value, `addons` an add-on to the question for
    its version.
    """

    values: Mapping[str, Json]
    origins: Mapping[str, str]
    releases: Mapping[str, ReleaseQuery]
    addons: Mapping[str, AddonQuery]


def gather_identity(
    variables: Mapping[str, Variable], *, spec: Mapping[str, Json], profile: Mapping[str, Json]
) -> Identity:
    """The identity variables as far as files say them; raises InputError naming what is missing or does not fit."""
    asked = _read_asked(variables, spec)
    values: dict[str, Json] = {}
    origins: dict[str, str] = {}
    for name, variable in _identity(variables):
        for origin, held in (("spec", asked), ("profile", profile)):
            if name in held:
                values[name], origins[name] = held[name], origin
                break
        else:
            if variable.has_default:
                values[name], origins[name] = variable.default, "default"
    releases, addons = _floating(variables, values)
    known = {*values, *releases, *((ADDONS,) if addons else ())}
    if missing := [name for name, _ in _identity(variables) if name not in known]:
        raise InputError(
            f"neither spec, profile nor default gives a value to {', '.join(f'`{name}`' for name in missing)}",
            field=f"{SPEC_FIELD}.{missing[0]}",
            hint=f"`infra: {{variables: {{{missing[0]}: VALUE}}}}` in the run spec",
        )
    _refuse_inexact(values)
    return Identity(values=values, origins=origins, releases=releases, addons=addons)


def complete_identity(
    identity: Identity, variables: Mapping[str, Variable], *, releases: Mapping[str, str], addons: Mapping[str, str]
) -> dict[str, Json]:
    """All identity variables, canonical and sorted, with what was found for those that float."""
    values = {**identity.values, **releases}
    if addons:
        held = values.get(ADDONS)
        values[ADDONS] = {**addons, **(held if isinstance(held, Mapping) else {})}
    _refuse_inexact(values)
    return {name: canonical_value(variables[name], value) for name, value in sorted(values.items())}


def _identity(variables: Mapping[str, Variable]) -> Iterator[tuple[str, Variable]]:
    return ((name, variable) for name, variable in variables.items() if not variable.is_binding)


def _read_asked(variables: Mapping[str, Variable], spec: Mapping[str, Json]) -> dict[str, Json]:
    asked = {}
    for name, value in spec.items():
        field = f"{SPEC_FIELD}.{one_line(name)}"
        variable = variables.get(name)
        if variable is None:
            raise InputError("is no variable of this root", field=field, hint=nearest_name(name, variables))
        if variable.is_binding:
            raise InputError(
                "places the run and does not identify it: it has no place in a spec",
                field=field,
                hint=f"write `{name}` into a file and give it with `--bind FILE`",
            )
        try:
            asked[name] = canonical_value(variable, value)
        except ValueError as error:
            raise InputError(str(error), field=field) from error
    return asked


def _floating(
    variables: Mapping[str, Variable], values: Mapping[str, Json]
) -> tuple[dict[str, ReleaseQuery], dict[str, AddonQuery]]:
    region, kubernetes = values.get("region"), values.get(KUBERNETES)
    if not isinstance(region, str) or not isinstance(kubernetes, str):
        return {}, {}
    releases: dict[str, ReleaseQuery] = {}
    for name in RELEASES:
        is_asked = name in variables and not variables[name].is_binding and name not in values
        if is_asked and (query := release_query(name, values)):
            releases[name] = query
    addons = {
        addon: AddonQuery(region=region, kubernetes=kubernetes, addon=addon)
        for addon in _missing_addons(variables, values)
    }
    return releases, addons


def _missing_addons(variables: Mapping[str, Variable], values: Mapping[str, Json]) -> Iterator[str]:
    """The add-ons that every cluster of this kind needs and that have no version yet."""
    if ADDONS not in variables or variables[ADDONS].is_binding:
        return
    held = values.get(ADDONS)
    given = held if isinstance(held, Mapping) else {}
    storage = _STORAGE_ADDONS.get(str(values.get("storage_kind")))
    for addon in (*_NODE_ADDONS, *((storage,) if storage else ())):
        if addon not in given:
            yield addon


def _refuse_inexact(values: Mapping[str, Json]) -> None:
    for name, problem in find_version_problems(values):
        raise InputError(problem, field=f"{SPEC_FIELD}.{name}")
