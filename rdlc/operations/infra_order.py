"""From a lock to an order: the locked files as they are here, the locked values, and the bindings."""

from collections.abc import Mapping
from pathlib import Path

from rdlc.core.canonical import Json, digest
from rdlc.core.infra.bindings import complete_bindings, read_bindings
from rdlc.core.infra.order import InfraOrder
from rdlc.core.infra.root import read_root
from rdlc.core.infra.section import InfraSection
from rdlc.core.infra.tree import describe_tree_changes, file_hashes
from rdlc.errors import InputError, RdlcError
from rdlc.operations.infra_ports import InfraFiles

_SHOWN = 10


def read_infra_order(
    section: InfraSection,
    *,
    lock_id: str,
    root: Path,
    kept: Mapping[str, Json],
    bind: Path | None,
    files: InfraFiles,
) -> InfraOrder:
    """The order of a lock; `kept` are the bindings in its provenance, which a `--bind` file replaces.

    Raises RdlcError if the files below `root` are not the locked ones, InputError for a binding that is
    missing or unknown.
    """
    tree = files.read_tree(root)
    changes = describe_tree_changes(section.files, file_hashes(tree))
    if changes:
        more = f"; and {len(changes) - _SHOWN} more" if len(changes) > _SHOWN else ""
        raise RdlcError(
            f"the Terraform root is not what was locked: {'; '.join(changes[:_SHOWN])}{more}",
            file=str(root),
            field="infra",
            hint="go back with `git checkout`, or `rdlc lock SPEC` takes the files as they are",
        )
    variables = read_root(tree, name=str(root)).variables
    given: Mapping[str, Json] = kept
    if bind is not None:
        name, data = files.read_bindings(bind)
        given = read_bindings(data, name=name, variables=variables)
    values = {**section.variables, **complete_bindings(variables, given)}
    return InfraOrder(
        name=_text(values, "name"),
        region=_text(values, "region"),
        lock_id=lock_id,
        infra_digest=digest(section.payload()),
        files=tree,
        variables=dict(sorted(values.items())),
    )


def _text(values: Mapping[str, Json], name: str) -> str:
    value = values.get(name)
    if not isinstance(value, str) or not value:
        raise InputError(f"the variable `{name}` must be a text: a stack is known by it", field=f"infra.{name}")
    return value
