"""Terraform and the AWS provider on this machine: found when a test runs, and missed loudly."""

import os
import platform
import re
import shutil
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import chain
from pathlib import Path

import pytest

from rdlc.core.infra.providers import read_provider_lock

_NOT_SEARCHED = frozenset(("dev", "proc", "run", "sys", "tmp"))
_PROVIDER = "hashicorp/aws"
_LOCK = Path(__file__).parents[2] / "terraform/.terraform.lock.hcl"
_FOLDER = re.compile(r'^\s*(?:path|plugin_cache_dir)\s*=\s*"([^"]+)"', re.MULTILINE)
_VERSION = read_provider_lock(_LOCK.read_bytes(), name=_LOCK.name)[_PROVIDER].version


def terraform_program() -> Path:
    """The Terraform program; without one the test is skipped, and in CI it fails."""
    program = shutil.which("terraform")
    if program is None:
        _lack("the program `terraform`")
    assert program is not None
    return Path(program)


def provider_folder() -> Path:
    """A folder of providers, laid out as Terraform's own mirrors are.

    `RDLC_TERRAFORM_MIRROR` names one; else it is where Terraform's settings point, or anywhere on the machine.
    """
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
    named = (folder for folder in _named_folders() if folder.is_dir())
    return next(chain.from_iterable(map(_mirrors_at, named)), None) or next(
        chain.from_iterable(_mirrors_below(root) for root in _roots()), None
    )


def _named_folders() -> Iterator[Path]:
    """Where Terraform itself would look: what its settings name, and the places that need no name."""
    if cache_folder := os.environ.get("TF_PLUGIN_CACHE_DIR"):
        yield Path(cache_folder)
    yield from configured_folders(os.environ)
    yield Path.home() / ".terraform.d/plugins"
    yield Path("/usr/local/share/terraform/plugins")
    yield Path("/usr/share/terraform/plugins")


def configured_folders(environment: Mapping[str, str]) -> Iterator[Path]:
    """The mirrors and the cache that the configuration of Terraform's command line names, if there is one."""
    named = environment.get("TF_CLI_CONFIG_FILE")
    path = Path(named) if named else Path(environment.get("HOME", "/")) / ".terraformrc"
    if path.is_file():
        text = path.read_text(encoding="utf-8", errors="replace")
        lines = "\n".join(line.partition("#")[0] for line in text.splitlines())
        yield from (Path(found).expanduser() for found in _FOLDER.findall(lines))


def _mirrors_at(folder: Path) -> Iterator[Path]:
    """The folder, if it is a mirror with the provider: `<host>/hashicorp/aws/...` in it, unpacked or as a zip file."""
    for build in _builds():
        yield from (folder for _ in folder.glob(f"*/{build}"))


def _mirrors_below(root: Path) -> Iterator[Path]:
    for build in _builds():
        for depth in range(3):
            for path in sorted(root.glob("/".join(["*"] * depth + ["*", build]))):
                yield path.parents[build.count("/") + 1]


def _builds() -> tuple[str, str]:
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    place = f"{platform.system().lower()}_{machine}"
    name = _PROVIDER.rpartition("/")[2]
    return (f"{_PROVIDER}/{_VERSION}/{place}", f"{_PROVIDER}/terraform-provider-{name}_{_VERSION}_{place}.zip")


def _roots() -> Iterator[Path]:
    for path in sorted(Path("/").iterdir()):
        if path.is_dir() and not path.is_symlink() and path.name not in _NOT_SEARCHED:
            yield path


def _lack(what: str) -> None:
    message = f"lacks {what}"
    if os.environ.get("CI") == "true":
        pytest.fail(message)
    pytest.skip(message)
