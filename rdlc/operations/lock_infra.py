"""The infrastructure of a lock: what Terraform will be given, and a fingerprint of what it would make."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rdlc.core.canonical import Json
from rdlc.core.infra.bindings import read_bindings, read_profile
from rdlc.core.infra.fingerprint import (
    find_misread,
    missing_placeholders,
    plan_fingerprint,
    read_placeholders,
    variables_file,
)
from rdlc.core.infra.identity import complete_identity, gather_identity
from rdlc.core.infra.offline import MissingPlan
from rdlc.core.infra.origin import InfraOrigin
from rdlc.core.infra.request import InfraRequest
from rdlc.core.infra.root import TerraformRoot, read_root
from rdlc.core.infra.section import InfraSection
from rdlc.core.infra.tree import file_hashes
from rdlc.core.infra.variables import canonical_value
from rdlc.core.secrets import find_secret
from rdlc.errors import RdlcError
from rdlc.operations.infra_floating import InfraAsked, find_floating
from rdlc.operations.infra_ports import InfraTools
from rdlc.operations.reporting import Reporter


@dataclass(frozen=True, kw_only=True, slots=True)
class LockedInfra:
    """The section, where it came from, and which variables an upgrade moved: name to old and new value."""

    section: InfraSection
    origin: InfraOrigin
    moved: Mapping[str, tuple[Json, Json]]


def resolve_infra(request: InfraRequest, asked: InfraAsked, *, tools: InfraTools, reporter: Reporter) -> LockedInfra:
    """What a request for infrastructure resolves to here and now.

    Files are always read again. What floats is kept from the earlier lock while region, Kubernetes
    version and AMI type stay, and asked of AWS otherwise. Raises InputError for a value that is
    missing, unknown or does not fit, OutsideError if AWS does not answer, RdlcError if Terraform
    refuses the variables. Without Terraform, the origin says why there is no fingerprint.
    """
    folder = asked.project / request.root
    files = tools.files.read_tree(folder)
    _refuse_secrets(files, folder)
    root = read_root(files, name=str(folder))
    identity = gather_identity(
        root.variables, spec=request.variables, profile=_read_profile(request, root, folder, tools)
    )
    found = find_floating(identity, asked, offers=tools.offers, reporter=reporter)
    section = InfraSection(
        requested=request,
        required_version=root.required_version,
        providers=root.providers,
        files=file_hashes(files),
        variables=complete_identity(identity, root.variables, releases=found.releases, addons=found.addons),
    )
    plan, missing = _fingerprint(section, root, files, folder=folder, asked=asked, tools=tools)
    if missing:
        reporter.warn(f"the lock has no plan fingerprint: {missing}")
    origin = InfraOrigin(
        plan=plan,
        plan_missing=missing,
        values={**identity.origins, **found.origins},
        bindings=_read_bindings(asked, root, tools),
    )
    return LockedInfra(section=section, origin=origin, moved=_moved(section, asked))


def _read_profile(request: InfraRequest, root: TerraformRoot, folder: Path, tools: InfraTools) -> dict[str, Json]:
    if not request.profile:
        return {}
    name, data = tools.files.read_profile(folder, request.profile)
    return read_profile(data, name=name, variables=root.variables)


def _read_bindings(asked: InfraAsked, root: TerraformRoot, tools: InfraTools) -> dict[str, Json]:
    if asked.bind is None:
        return _kept_bindings(asked.previous_origin, root)
    name, data = tools.files.read_bindings(asked.bind)
    if secret := find_secret(data.decode("utf-8", "replace")):
        raise RdlcError(
            f"holds what looks like {secret.kind}", file=f"{name}:{secret.line}", hint="bindings go into records"
        )
    return read_bindings(data, name=name, variables=root.variables)


def _kept_bindings(origin: InfraOrigin | None, root: TerraformRoot) -> dict[str, Json]:
    """Those of the earlier lock that the root still knows: a lock is made again without its `--bind` too."""
    kept = {}
    for name, value in (origin.bindings if origin else {}).items():
        variable = root.variables.get(name)
        if variable is None or not variable.is_binding:
            continue
        try:
            kept[name] = canonical_value(variable, value)
        except ValueError:
            continue
    return kept


def _fingerprint(
    section: InfraSection,
    root: TerraformRoot,
    files: Mapping[str, bytes],
    *,
    folder: Path,
    asked: InfraAsked,
    tools: InfraTools,
) -> tuple[str, str]:
    """The fingerprint and why it is missing; one of the two is ""."""
    before, origin = asked.previous, asked.previous_origin
    if before is not None and origin is not None and origin.plan and before.payload() == section.payload():
        return origin.plan, ""
    stand_ins: dict[str, Json] = {}
    if held := tools.files.read_placeholders(folder):
        stand_ins = read_placeholders(held[1], name=held[0], variables=root.variables, identity=section.variables)
    if missing := missing_placeholders(root.variables, stand_ins):
        names = ", ".join(f"`{name}`" for name in missing)
        return "", f"no value stands in for {names} in `{folder / 'placeholders.json'}`"
    values = variables_file(section.variables, stand_ins)
    planned = tools.planner.plan(files, values, configured=root.configured)
    if isinstance(planned, MissingPlan):
        return "", planned.reason
    if misread := find_misread(planned.shown, root.variables, section.variables):
        raise RdlcError(
            f"Terraform reads another value of `{misread}` than the lock holds", field=f"infra.variables.{misread}"
        )
    return plan_fingerprint(planned.shown), ""


def _moved(section: InfraSection, asked: InfraAsked) -> dict[str, tuple[Json, Json]]:
    if asked.previous is None or not asked.is_upgrade:
        return {}
    before = asked.previous.variables
    names = sorted(before.keys() | section.variables.keys())
    pairs = {name: (before.get(name), section.variables.get(name)) for name in names}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def _refuse_secrets(files: Mapping[str, bytes], folder: Path) -> None:
    for path, data in files.items():
        if b"\0" not in data and (secret := find_secret(data.decode("utf-8", "replace"))):
            raise RdlcError(
                f"holds what looks like {secret.kind}",
                file=f"{folder / path}:{secret.line}",
                hint="take it out: the files of the root are copied and shown",
            )
