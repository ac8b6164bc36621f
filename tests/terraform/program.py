"""Terraform and the AWS provider on this machine: found when a test runs, and missed loudly."""

import os
import platform
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from rdlc.core.infra.providers import read_provider_lock

_NOT_SEARCHED = frozenset(("dev", "proc", "run", "sys", "tmp"))
_PROVIDER = "hashicorp/aws"
_LOCK = Path(__file__).parents[2] / "terraform/.terraform.lock.hcl"
_VERSION = read_provider_lock(_LOCK.read_bytes(), name=_LOCK.name)[_PROVIDER].version


def terraform_program() -> Path:
    """The Terraform program; without one the test is skipped, and in CI it fails."""
    program = shutil.which("terraform")
    if program is None:
        _lack("the program `terraform`")
    assert program is not None
    return Path(program)


def provider_folder() -> Path:
    """A folder of providers, laid out as Terraform's own mirrors are; `RDLC_TERRAFORM_MIRROR` names another one."""
    given = os.environ.get("RDLC_TERRAFORM_MIRROR")
    found = Path(given) if given else _find_folder()
    if found is None or not found.is_dir():
        _lack(f"a folder of providers with {_PROVIDER} {_VERSION}; `RDLC_TERRAFORM_MIRROR` names one")
    assert found is not None
    return found


def command_line_configuration(folder: Path) -> Path:
    """A configuration of Terraform's command line in the folder, by which providers come from this machine alone."""
    path = folder / "terraformrc"
    mirror = provider_folder()
    path.write_text(f'provider_installation {{\n  filesystem_mirror {{\n    path = "{mirror}"\n  }}\n}}\n')
    return path


@cache
def _find_folder() -> Path | None:
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    build = f"{_PROVIDER}/{_VERSION}/linux_{machine}"
    for root in _roots():
        # <mirror>/<host>/hashicorp/aws/...
        for pattern in (f"*/{build}", f"*/*/{build}", f"*/*/*/{build}"):
            for path in sorted(root.glob(pattern)):
                return path.parents[4]
    return None


def _roots() -> Iterator[Path]:
    for path in sorted(Path("/").iterdir()):
        if path.is_dir() and not path.is_symlink() and path.name not in _NOT_SEARCHED:
            yield path


def _lack(what: str) -> None:
    message = f"lacks {what}"
    if os.environ.get("CI"):
        pytest.fail(message)
    pytest.skip(message)
