"""The committed Terraform root: in its form, valid with its locked provider, and right for every profile."""

import json
import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rdlc.adapters.terraform_tree import read_tree
from rdlc.core.infra.root import read_root
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
        }

    def __call__(self, *arguments: str) -> tuple[int, str]:
        done = subprocess.run(
            (str(terraform_program()), *arguments),
            cwd=self.folder, env=self._environment, capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
        return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def terraform(tmp_path_factory: pytest.TempPathFactory) -> Terraform:
    made = Terraform(tmp_path_factory.mktemp("terraform"))
    code, said = made("init", "-input=false", "-no-color", "-lockfile=readonly", "-backend=false")
    assert code == 0, said
    return made


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
    # Two at once, since Terraform 1.11 takes one after the other: half of all runs are in one of the files.
    paths = {path: f"tests/{path.name}" for path in ROOT.glob("tests/*.tftest.hcl")}
    runs = {path: len(re.findall(r'^run "', path.read_text(), re.MULTILINE)) for path in paths}
    longest = max(paths, key=lambda path: runs[path])
    others = [f"-filter={name}" for path, name in paths.items() if path != longest]
    with ThreadPoolExecutor(2) as pool:
        half = pool.submit(terraform, "test", "-no-color", f"-filter={paths[longest]}")
        ends = [pool.submit(terraform, "test", "-no-color", *others).result(), half.result()]

    assert [code for code, _ in ends] == [0, 0], "\n".join(said for _, said in ends)
    passed = sum(int(found) for _, said in ends for found in re.findall(r"Success! (\d+) passed, 0 failed\.", said))
    assert passed == sum(runs.values())


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.tf")), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_nothing_floats(path: Path) -> None:
    text = "\n".join(line.partition("#")[0] for line in path.read_text().splitlines())

    assert [form for form in _FLOATING if re.search(form, text, re.MULTILINE)] == []


@pytest.mark.parametrize("path", sorted(ROOT.glob("profiles/*.json")), ids=lambda path: path.stem)
def test_a_profile_sets_every_identity_variable_and_no_binding(path: Path) -> None:
    variables = read_root(read_tree(ROOT), name="terraform").variables
    identity = {name for name, variable in variables.items() if not variable.is_binding}

    assert set(json.loads(path.read_text())) == identity - _BESIDE_PROFILES
