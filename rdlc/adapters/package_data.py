"""The recipes that come with rdlc: beside the package in a checkout, inside it in a wheel."""

from pathlib import Path

import rdlc
from rdlc.errors import RdlcError


def recipes_folder() -> Path:
    """The folder that holds `fsdp_qwen/`."""
    package = Path(rdlc.__file__).parent
    for folder in (package / "_data" / "recipes", package.parent / "recipes"):
        if (folder / "fsdp_qwen").is_dir():
            return folder
    raise RdlcError("this installation of rdlc carries no recipes", hint="`pip install --force-reinstall rdlc`")


def terraform_folder() -> Path:
    """The Terraform root that comes with rdlc."""
    package = Path(rdlc.__file__).parent
    for folder in (package / "_data" / "terraform", package.parent / "terraform"):
        if (folder / "variables.tf").is_file():
            return folder
    raise RdlcError("this installation of rdlc carries no Terraform root", hint="`pip install --force-reinstall rdlc`")


def known_issues_file() -> Path:
    """The table of known issues."""
    return Path(rdlc.__file__).parent / "known-issues.yaml"
