"""A plan from nothing by the real Terraform: the same everywhere, whatever the shell holds."""

import os
import shutil
import signal
import threading
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from rdlc.adapters.terraform_offline import OfflineTerraform, find_offline_terraform
from rdlc.core.infra.fingerprint import plan_fingerprint
from rdlc.core.infra.offline import MissingPlan, OfflinePlan
from rdlc.errors import RdlcError

TERRAFORM = shutil.which("terraform")
# In CI a missing program is a failure, not a skip.
needs_terraform = pytest.mark.skipif(
    TERRAFORM is None and not os.environ.get("CI"), reason="lacks the program `terraform`"
)

# `terraform_data` is part of Terraform: no provider is fetched.
MAIN = b"""terraform {
  required_version = ">= 1.4"
}

variable "count_of" {
  type = number

  validation {
    condition     = var.count_of < 10
    error_message = "count_of is `${var.count_of}`: too many"
  }
}

variable "other" {
  type    = string
  default = "unset"
}

resource "terraform_data" "node" {
  count = var.count_of
  input = "${var.other} ${count.index}"
}

output "inputs" {
  value = { count_of = var.count_of, other = var.other }
}
"""
FILES = {"main.tf": MAIN, "modules/unused/main.tf": b""}


def plan(variables: bytes, *, environment: Mapping[str, str] | None = None) -> OfflinePlan | MissingPlan:
    assert TERRAFORM is not None
    held = {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], **(environment or {})}
    return OfflineTerraform(Path(TERRAFORM), environment=held).plan(FILES, variables, configured=())


def fingerprint(variables: bytes, *, environment: Mapping[str, str] | None = None) -> str:
    planned = plan(variables, environment=environment)
    assert isinstance(planned, OfflinePlan), planned
    return plan_fingerprint(planned.shown)


@needs_terraform
@pytest.mark.terraform
@pytest.mark.slow
def test_a_plan_has_one_fingerprint_whatever_the_shell_says() -> None:
    shell = {"TF_VAR_other": "evil", "TF_CLI_ARGS_plan": "-var=other=evil", "TF_WORKSPACE": "evil", "TF_DATA_DIR": "/x"}

    assert fingerprint(b'{"count_of": 2}') == fingerprint(b'{"count_of": 2}', environment=shell)
    assert fingerprint(b'{"count_of": 2}') != fingerprint(b'{"count_of": 3}')


@needs_terraform
@pytest.mark.terraform
def test_variables_that_terraform_refuses_are_told_in_its_words() -> None:
    with pytest.raises(RdlcError) as caught:
        plan(b'{"count_of": 10}')

    assert (caught.value.message, caught.value.field) == (
        (
            "Terraform refuses these variables: Invalid value for variable: count_of is `10`: too many; "
            "This was checked by the validation rule at main.tf:8,3-13."
        ),
        "infra.variables",
    )


@needs_terraform
@pytest.mark.terraform
def test_a_provider_that_cannot_be_had_is_a_missing_plan(tmp_path: Path) -> None:
    configuration = tmp_path / "terraformrc"
    configuration.write_text(f'provider_installation {{\n  filesystem_mirror {{\n    path = "{tmp_path}"\n  }}\n}}\n')
    files = {"main.tf": b'terraform {\n  required_providers {\n    x = { source = "example.com/a/x" }\n  }\n}\n'}
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TF_CLI_CONFIG_FILE": str(configuration)}

    found = OfflineTerraform(Path(str(TERRAFORM)), environment=environment).plan(files, b"{}", configured=())

    assert isinstance(found, MissingPlan)
    assert found.reason.startswith("`terraform init` failed: Failed to query available provider packages: ")


def script(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_without_terraform_the_plan_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("RDLC_TERRAFORM", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))

    assert find_offline_terraform().plan(FILES, b"{}", configured=()) == MissingPlan(
        reason="Terraform is not on this machine"
    )


def test_a_terraform_that_is_named_and_missing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RdlcError) as caught:
        find_offline_terraform(tmp_path / "none")

    assert caught.value.message == f"`{tmp_path / 'none'}` is no program that can be started"


def test_a_program_that_fails_to_show_gives_its_last_words(tmp_path: Path) -> None:
    program = script(
        tmp_path / "terraform", '[ "$1" != show ] || { echo one >&2; printf "two \\033[31m\\n" >&2; exit 3; }'
    )

    assert OfflineTerraform(program).plan(FILES, b"{}", configured=()) == MissingPlan(
        reason="`terraform show` failed: two \\x1b[31m"
    )


def test_it_gets_no_credentials_and_its_own_override(tmp_path: Path) -> None:
    seen = f'env > "{tmp_path}/env"; cat *_override.tf.json > "{tmp_path}/override"; ls -a > "{tmp_path}/ls"'
    program = script(tmp_path / "terraform", f'[ "$1" != plan ] || {{ {seen}; }}')
    shell = {
        "PATH": os.environ["PATH"],
        "AWS_ACCESS_KEY_ID": "mine",
        "AWS_PROFILE": "mine",
        "TF_VAR_x": "1",
        "HOME": "/h",
    }

    OfflineTerraform(program, environment=shell).plan(FILES, b'{"a": 1}', configured=("aws",))

    variables = dict(line.split("=", 1) for line in (tmp_path / "env").read_text().splitlines())
    assert sorted(name for name in variables if name not in {"PWD", "SHLVL", "_", "OLDPWD"}) == [
        "AWS_CONFIG_FILE", "AWS_EC2_METADATA_DISABLED", "AWS_SHARED_CREDENTIALS_FILE", "CHECKPOINT_DISABLE", "GOGC",
        "HOME", "PATH", "TF_INPUT", "TF_IN_AUTOMATION",
    ]  # fmt: skip
    assert (tmp_path / "override").read_text() == (
        '{"provider": {"aws": {"access_key": "offline", "secret_key": "offline", "skip_credentials_validation": true, '
        '"skip_requesting_account_id": true, "skip_metadata_api_check": "true", "allowed_account_ids": null}}}'
    )
    assert (tmp_path / "ls").read_text().split() == [
        ".", "..", "main.tf", "modules", "rdlc.tfvars.json", "zz_rdlc_offline_override.tf.json",
    ]  # fmt: skip


def test_ctrl_c_ends_terraform_and_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    program = script(
        tmp_path / "terraform",
        f'echo $$ > "{tmp_path}/pid"\ntrap \'echo ended > "{tmp_path}/end"; exit 1\' INT\nwhile :; do sleep 0.05; done',
    )

    def interrupt() -> None:
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text().strip():
            time.sleep(0.02)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        OfflineTerraform(program).plan(FILES, b"{}", configured=())
    thread.join()

    assert (tmp_path / "end").read_text() == "ended\n"
    assert list(temporary.iterdir()) == []
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)
