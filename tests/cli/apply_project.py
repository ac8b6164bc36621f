"""A project with the lock of a root that needs no provider, ready to apply."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rdlc.core.canonical import Json
from tests.adapters.aws.shell import forget_aws
from tests.adapters.terraform.tiny import terraform
from tests.cli.docker_project import REPOSITORY, TAG, DockerProject, docker_project
from tests.conftest import Rdlc
from tests.projects import SPEC
from tests.registry.logged_out import log_out

KEY = "tiny/123456789012/us-east-2"
MAIN = """
terraform {
  required_version = ">= 1.11, < 2"
}
variable "region" {
  type        = string
  description = "Region. (identity)"
}
variable "size" {
  type        = number
  description = "Size. (identity)"
}
variable "image" {
  type        = string
  default     = "one"
  description = "A version. (identity)"
}
variable "name" {
  type        = string
  description = "Name. (binding)"
}
variable "account_id" {
  type        = string
  default     = null
  description = "Account. (binding)"
}
resource "terraform_data" "network" {
  input = var.name
}
resource "terraform_data" "nodes" {
  input            = { size = var.size, image = var.image }
  triggers_replace = [var.image]
}
output "size" {
  value = terraform_data.nodes.output.size
}
"""


@contextmanager
def apply_project(folder: Path, aws: str, monkeypatch: pytest.MonkeyPatch, rdlc: Rdlc) -> Iterator[DockerProject]:
    """The project as current folder, with AWS credentials for the stand-in at `aws`."""
    terraform()
    home = folder / "home"
    home.mkdir()
    log_out(monkeypatch, home)
    forget_aws(monkeypatch, home)
    monkeypatch.setenv("AWS_ENDPOINT_URL", aws)
    with docker_project(folder / "project", rdlc) as made:
        root = made.folder / "terraform"
        root.mkdir()
        (root / "main.tf").write_text(MAIN, encoding="ascii")
        (made.folder / "bind.yaml").write_text("name: tiny\n", encoding="ascii")
        monkeypatch.chdir(made.folder)
        lock(made)
        yield made


def lock(project: DockerProject, *, size: int = 2) -> None:
    infra = f"infra: {{root: terraform, variables: {{region: us-east-2, size: {size}}}}}"
    target = f"target: eks\nimage: {{reference: '{project.address}/{REPOSITORY}:{TAG}'}}\n{infra}"
    (project.folder / "run.yaml").write_text(SPEC.replace("target: local", target), encoding="utf-8")
    said = project("lock", "run.yaml", "--bind", "bind.yaml")
    assert said.code == 0, said.err


def record_of(project: DockerProject) -> dict[str, Json]:
    data: dict[str, Json] = json.loads((project.folder / "stacks" / KEY / "stack.json").read_bytes())
    return data
