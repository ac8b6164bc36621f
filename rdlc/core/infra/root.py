"""What a Terraform root says of itself, read from its files without Terraform."""

from collections.abc import Mapping
from dataclasses import dataclass

from rdlc.core.infra.hcl import Block, parse_hcl
from rdlc.core.infra.providers import LockedProvider, check_required, read_provider_lock, read_required
from rdlc.core.infra.tree import PROVIDER_LOCK
from rdlc.core.infra.variables import Variable, read_variables
from rdlc.errors import InputError


@dataclass(frozen=True, kw_only=True, slots=True)
class TerraformRoot:
    """Variables by name, the constraint on Terraform's version, the locked providers.

    `configured` are the providers that the root has a `provider` block without alias for.
    """

    variables: Mapping[str, Variable]
    required_version: str
    providers: Mapping[str, LockedProvider]
    configured: tuple[str, ...]


def read_root(files: Mapping[str, bytes], *, name: str) -> TerraformRoot:
    """The root whose files are given by path; raises InputError with file and line.

    `name` is the folder, for messages.
    """
    bodies = [parse_hcl(files[path], name=f"{name}/{path}") for path in _configuration(files, name)]
    blocks = [block for body in bodies for block in body.blocks]
    required_version, required = read_required(_of_type(blocks, "terraform"))
    if not required_version:
        raise InputError("no `required_version` says which Terraform this root is for", file=name)
    lock = files.get(PROVIDER_LOCK)
    providers = read_provider_lock(lock, name=f"{name}/{PROVIDER_LOCK}") if lock is not None else {}
    check_required(required, providers, root=name)
    configured = {block.labels[0] for block in _of_type(blocks, "provider") if "alias" not in block.attributes}
    return TerraformRoot(
        variables=read_variables(iter(_of_type(blocks, "variable"))),
        required_version=required_version,
        providers=providers,
        configured=tuple(sorted(configured)),
    )


def _of_type(blocks: list[Block], type_: str) -> tuple[Block, ...]:
    found = tuple(block for block in blocks if block.type == type_)
    for block in found:
        if type_ != "terraform" and len(block.labels) != 1:
            raise block.error(f"`{type_}` takes one name")
    return found


def _configuration(files: Mapping[str, bytes], name: str) -> list[str]:
    at_root = sorted(path for path in files if "/" not in path)
    for path in at_root:
        if path.endswith(".tf.json"):
            raise InputError("configuration in JSON is not read: write it as `.tf`", file=f"{name}/{path}")
    found = [path for path in at_root if path.endswith(".tf")]
    if not found:
        raise InputError("holds no `.tf` file: this is no Terraform root", file=name)
    return found
