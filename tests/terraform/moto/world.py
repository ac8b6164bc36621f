"""An empty AWS account on this machine, and the committed Terraform root applied in it."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import boto3

from tests.registry.processes import answers, free_port, running
from tests.terraform.moto.offered import ADDON_VERSIONS, RELEASES
from tests.terraform.program import command_line_configuration, terraform_program

REPOSITORY = Path(__file__).parents[3]
REGION = "us-east-2"
ACCOUNT = "123456789012"
# What a person adds to a profile: the region, what floats, and the bindings.
INPUTS: Mapping[str, object] = {
    "region": REGION,
    "system_release_version": RELEASES[1],
    "gpu_release_version": RELEASES[2],
    "addon_versions": {name: versions[0] for name, versions in ADDON_VERSIONS.items()},
    "name": "seed",
    "account_id": ACCOUNT,
    "tags": {"team": "training"},
    "availability_zones": [f"{REGION}a", f"{REGION}b"],
    "gpu_availability_zones": [f"{REGION}b"],
    "endpoint_public_cidrs": ["203.0.113.0/24"],
}
_CREDENTIALS = {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing", "AWS_EC2_METADATA_DISABLED": "true"}
# moto answers what it lacks with a fault of the server, which the provider would ask again for many minutes.
_FUSE = 'provider "aws" {\n  max_retries = 1\n}\n'
_TIMEOUT_S = 300


@contextmanager
def extended_moto(folder: Path) -> Iterator[str]:
    """The address to give as `AWS_ENDPOINT_URL`, of an empty account with all that the root needs."""
    port = free_port()
    # AWS's own policies are there without being made; moto has to be told.
    environment = {**os.environ, "MOTO_IAM_LOAD_MANAGED_POLICIES": "true", "PYTHONPATH": str(REPOSITORY)}
    command = (sys.executable, "-m", "tests.terraform.moto.server", str(port))
    log = folder / "moto.log"
    with running(command, log=log, is_ready=lambda: answers(port), environment=environment):
        yield f"http://127.0.0.1:{port}"


@cache
def client(service: str, endpoint: str) -> Any:
    """A boto3 client of a service in that account."""
    return boto3.client(
        service, region_name=REGION, endpoint_url=endpoint, aws_access_key_id="testing", aws_secret_access_key="testing"
    )  # type: ignore[call-overload]  # a name that is known at run time only


@dataclass(frozen=True, kw_only=True, slots=True)
class Root:
    """A copy of the root with a profile and a place for its state; `run` runs Terraform in it."""

    folder: Path
    endpoint: str

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """What Terraform said, and its exit status."""
        environment = {
            **_CREDENTIALS,
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder.parent),
            "AWS_ENDPOINT_URL": self.endpoint,
            "TF_CLI_CONFIG_FILE": str(self.folder.parent / "terraformrc"),
            "TF_IN_AUTOMATION": "1",
            "TF_INPUT": "0",
            "CHECKPOINT_DISABLE": "1",
        }
        return subprocess.run(
            (str(terraform_program()), *arguments),
            cwd=self.folder, env=environment, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False,
        )  # fmt: skip

    def apply(self) -> None:
        """Applies the root; a failure carries all that Terraform said."""
        for arguments in (("init", "-lockfile=readonly"), ("apply", "-auto-approve", "-var-file=inputs.tfvars.json")):
            done = self.run(*arguments, "-no-color")
            assert done.returncode == 0, done.stdout + done.stderr

    def outputs(self) -> dict[str, Any]:
        """The value of each output."""
        done = self.run("output", "-json")
        assert done.returncode == 0, done.stdout + done.stderr
        return {name: output["value"] for name, output in json.loads(done.stdout).items()}


def copy_root(folder: Path, *, profile: str, endpoint: str) -> Root:
    """The committed root with a profile of it, in a folder of its own."""
    command_line_configuration(folder)
    root = folder / "root"
    shutil.copytree(REPOSITORY / "terraform", root, ignore=shutil.ignore_patterns(".terraform", "tests"))
    (root / "zz_override.tf").write_text(_FUSE, encoding="ascii")
    values = json.loads((root / "profiles" / f"{profile}.tfvars.json").read_bytes())
    (root / "inputs.tfvars.json").write_text(json.dumps({**values, **INPUTS}), encoding="ascii")
    return Root(folder=root, endpoint=endpoint)
