"""The parts of `terraform/README.md` that are generated from the files of the root."""

import json
from collections.abc import Iterable
from pathlib import Path

from rdlc.adapters.terraform_tree import read_tree
from rdlc.core.canonical import Json
from rdlc.core.infra.hcl import parse_hcl
from rdlc.core.infra.root import read_root
from rdlc.core.infra.variables import Variable

ROOT = Path(__file__).parents[1] / "terraform"


def profile_table() -> str:
    """What each profile sets, side by side."""
    profiles = {path.name.partition(".")[0]: json.loads(path.read_bytes()) for path in _profiles()}
    names = sorted({name for values in profiles.values() for name in values})
    head = ("variable", *profiles)
    return _table(head, ((f"`{name}`", *(_value(profiles[key][name]) for key in profiles)) for name in names))


def variable_table(role: str) -> str:
    """The variables of a role, `identity` or `binding`: those without a default first."""
    variables = [variable for variable in _variables() if variable.role == role]
    ordered = sorted(variables, key=lambda variable: (variable.has_default, variable.name))
    rows = ((f"`{each.name}`", str(each.type), _default(each), each.description) for each in ordered)
    return _table(("variable", "type", "default", "what it is"), rows)


def output_table() -> str:
    """The outputs, sorted."""
    blocks = parse_hcl((ROOT / "outputs.tf").read_bytes(), name="terraform/outputs.tf").below("output")
    ordered = sorted(blocks, key=lambda block: block.labels[0])
    rows = ((f"`{block.labels[0]}`", str(block.attributes["description"].literal())) for block in ordered)
    return _table(("output", "what it is"), rows)


def instance_table() -> str:
    """The instance types that GPU nodes may be of, with what the root knows of them."""
    types = json.loads((ROOT / "instance_types.json").read_bytes())
    rows = (
        (f"`{name}`", f"{known['gpus']} {known['gpu']}", str(known["efa"]), ", ".join(known["capacity"]))
        for name, known in types.items()
    )
    return _table(("type", "GPUs", "EFA interfaces", "sold as"), rows)


def _profiles() -> list[Path]:
    return sorted(ROOT.glob("profiles/*.tfvars.json"))


def _variables() -> Iterable[Variable]:
    return read_root(read_tree(ROOT), name="terraform").variables.values()


def _default(variable: Variable) -> str:
    return _value(variable.default) if variable.has_default else "required"


def _value(value: Json) -> str:
    return f"`{json.dumps(value)}`"


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [f"| {' | '.join(row)} |" for row in (tuple(head), *rows)]
    columns = lines[0].count(" | ") + 1
    return "\n".join([lines[0], f"|{'---|' * columns}", *lines[1:]])
