"""The committed Terraform root: in its form, valid with its locked provider, and right for every profile.

Terraform starts a provider anew for every run of a test, and AWS's takes a second for that. So the one that
`init` has checked is started once here, and Terraform is told where it listens.
"""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rdlc.adapters.terraform_tree import read_tree
from rdlc.core.infra.root import read_root
from tests.registry.processes import running
from tests.terraform.program import command_line_configuration, terraform_program

ROOT = Path(__file__).parents[2] / "terraform"
# What may be left out of a profile: it is asked of AWS, given in the spec, or has a default that nobody changes.
_BESIDE_PROFILES = {
    "addon_versions",
    "gpu_ami_id",
    "gpu_release_version",
    "partition",
    "region",
    "system_release_version",
}
_LISTENS = re.compile(r"TF_REATTACH_PROVIDERS='(.*)'")
_FLOATING = (r'^\s*data\s+"', r"most_recent", r'"\$?Latest"', r'"latest"')


class Terraform:
    """Terraform in a copy of the root, with providers of this machine and no account."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "root"
        shutil.copytree(ROOT, self.folder, ignore=shutil.ignore_patterns(".terraform"))
        self._environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "TF_CLI_CONFIG_FILE": str(command_line_configuration(folder)),
            "TF_IN_AUTOMATION": "1",
            "CHECKPOINT_DISABLE": "1",
            # Memory is no matter here: a fifth less time.
            "GOGC": "400",
        }

    def __call__(self, *arguments: str) -> tuple[int, str]:
        done = subprocess.run(
            (str(terraform_program()), *arguments),
            cwd=self.folder, env=self._environment, capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
        return done.returncode, done.stdout + done.stderr

    @contextmanager
    def started_provider(self) -> Iterator[None]:
        """The provider that `init` took, running until the end."""
        program = next((self.folder / ".terraform/providers").glob("*/*/*/*/*/terraform-provider-aws*"))
        log = self.folder.parent / "provider.log"

        def is_ready() -> bool:
            found = _LISTENS.search(log.read_text(encoding="utf-8"))
            self._environment |= {"TF_REATTACH_PROVIDERS": found[1]} if found else {}
            return found is not None

        with running((str(program), "-debug"), log=log, is_ready=is_ready, environment=self._environment):
            yield


@pytest.fixture(scope="module")
def terraform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terraform]:
    made = Terraform(tmp_path_factory.mktemp("terraform"))
    code, said = made("init", "-input=false", "-no-color", "-lockfile=readonly", "-backend=false")
    assert code == 0, said
    with made.started_provider():
        yield made


@pytest.mark.terraform
@pytest.mark.late
def test_every_file_is_formatted(terraform: Terraform) -> None:
    assert terraform("fmt", "-check", "-recursive", "-no-color") == (0, "")


@pytest.mark.terraform
@pytest.mark.late
def test_the_root_is_valid_with_the_provider_that_its_lock_file_names(terraform: Terraform) -> None:
    code, said = terraform("validate", "-json")

    answer = json.loads(said)
    assert (code, answer["valid"], answer["diagnostics"]) == (0, True, [])


@pytest.mark.terraform
@pytest.mark.late
def test_every_profile_and_every_refused_combination_is_as_the_tests_of_the_root_say(terraform: Terraform) -> None:
    num_runs = sum(
        len(re.findall(r'^run "', path.read_text(), re.MULTILINE)) for path in ROOT.glob("tests/*.tftest.hcl")
    )

    code, said = terraform("test", "-no-color")

    assert (code, re.findall(r"^Success! (.*)$", said, re.MULTILINE)) == (0, [f"{num_runs} passed, 0 failed."]), said


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.tf")), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_nothing_floats(path: Path) -> None:
    text = "\n".join(line.partition("#")[0] for line in path.read_text().splitlines())

    assert [form for form in _FLOATING if re.search(form, text, re.MULTILINE)] == []


@pytest.mark.parametrize("path", sorted(ROOT.glob("profiles/*.json")), ids=lambda path: path.stem)
def test_a_profile_sets_every_identity_variable_and_no_binding(path: Path) -> None:
    variables = read_root(read_tree(ROOT), name="terraform").variables
    identity = {name for name, variable in variables.items() if not variable.is_binding}

    assert set(json.loads(path.read_text())) == identity - _BESIDE_PROFILES
