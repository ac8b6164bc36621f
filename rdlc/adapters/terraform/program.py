"""The Terraform program of this machine, and its argument lists."""

import shutil
from collections.abc import Mapping
from pathlib import Path

# Of python-terraform only the building of argument lists is used: started by it, Terraform outlives a Ctrl-C,
# tells nothing until it has ended, and gets the whole environment.
from python_terraform import IsFlagged, IsNotFlagged, Terraform

from rdlc.errors import RdlcError

BIN_VARIABLE = "RDLC_TERRAFORM"
_HINT = f"install Terraform 1.11 or newer, or name it with `--terraform-bin PATH` or `{BIN_VARIABLE}`"


def find_program(given: Path | None, shell: Mapping[str, str]) -> Path:
    """The absolute path of the program: the given one, else `RDLC_TERRAFORM`, else that on the PATH."""
    named = str(given) if given else shell.get(BIN_VARIABLE, "")
    if named:
        found = shutil.which(named, path=shell.get("PATH", ""))
        if found is None:
            raise RdlcError(f"`{named}` is no program that can be started", hint=_HINT)
    else:
        found = shutil.which("terraform", path=shell.get("PATH", ""))
        if found is None:
            raise RdlcError("there is no `terraform` on this machine", hint=_HINT)
    return Path(found).absolute()


def build_arguments(
    program: Path, command: str, *operands: str, flags: Mapping[str, bool], settings: Mapping[str, str]
) -> tuple[str, ...]:
    """The whole argument list of one call; `flags` are switches that are on or off."""
    switches = {name: IsFlagged if is_on else IsNotFlagged for name, is_on in flags.items()}
    # It would read the state of the working folder, and fail on a half-written one: it gets the name of none.
    builder = Terraform(terraform_bin_path=str(program), state="no-state")
    return tuple(builder.generate_cmd_string(command, *operands, **switches, **settings))
