"""A root without a provider, so that Terraform needs nothing but itself."""

import os
from pathlib import Path

from rdlc.adapters.terraform.program import find_program
from rdlc.core.canonical import Json
from rdlc.core.infra.events import Event
from rdlc.core.infra.order import InfraOrder
from tests.core.infra.stacks import DIGEST
from tests.registry.needs import need_programs

PATIENCE_S = 120.0  # for a machine with much else to do

MAIN = b"""
variable "name" {
  type = string
}
variable "size" {
  type = number
}
variable "command" {
  type    = string
  default = "true"
}
resource "terraform_data" "network" {
  input = { name = var.name }
}
resource "terraform_data" "nodes" {
  input = { name = terraform_data.network.output.name, size = var.size }

  provisioner "local-exec" {
    command = var.command
  }
}
output "size" {
  value = terraform_data.nodes.output.size
}
output "key" {
  value     = "hush-hush"
  sensitive = true
}
"""


def tiny_order(**variables: Json) -> InfraOrder:
    """An order of that root."""
    values: dict[str, Json] = {"name": "tiny", "size": 2, **variables}
    return InfraOrder(
        name="tiny",
        region="us-east-2",
        lock_id=DIGEST,
        infra_digest=DIGEST,
        files={"main.tf": MAIN, "modules/unused/main.tf": b"# not used\n"},
        variables=values,
    )


def terraform() -> Path:
    """The real program; the test says so where there is none."""
    need_programs("terraform")
    return find_program(None, os.environ)


class Quiet:
    """A listener that keeps what it hears, and stops when it hears the event that it is told."""

    def __init__(self, *, stop_at: str = "") -> None:
        self._stop_at = stop_at
        self._level = 0
        self.events: list[Event] = []
        self.steps: list[str] = []

    def begin(self, step: str) -> None:
        self.steps.append(step)

    def event(self, event: Event) -> None:
        self.events.append(event)
        if self._stop_at and event.kind == self._stop_at:
            self._level = 1

    def tick(self) -> None:
        pass

    def stop_level(self) -> int:
        return self._level

    def end(self) -> None:
        pass
