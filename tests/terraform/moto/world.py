"""An empty AWS account on this machine, with all that the committed Terraform root needs."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import boto3

from tests.registry.processes import answers, free_port, running
from tests.terraform.moto.faults import Faults

REPOSITORY = Path(__file__).parents[3]
REGION = "us-east-2"
ACCOUNT = "123456789012"


@dataclass(frozen=True, kw_only=True, slots=True)
class World:
    """An account: its address, to be given as `AWS_ENDPOINT_URL`, and what goes wrong in it."""

    endpoint: str
    faults: Faults


@contextmanager
def extended_moto(folder: Path) -> Iterator[World]:
    """An account of its own, with nothing in it."""
    port, faults = free_port(), Faults(path=folder / "faults.json")
    # AWS's own policies are there without being made; moto has to be told.
    environment = {**os.environ, "MOTO_IAM_LOAD_MANAGED_POLICIES": "true", "PYTHONPATH": str(REPOSITORY)}
    command = (sys.executable, "-m", "tests.terraform.moto.server", str(port), str(faults.path))
    log = folder / "moto.log"
    with running(command, log=log, is_ready=lambda: answers(port), environment=environment):
        yield World(endpoint=f"http://127.0.0.1:{port}", faults=faults)


@cache
def client(service: str, endpoint: str) -> Any:
    """A boto3 client of a service in that account."""
    # Not of the session that all share: it must not be asked by two threads.
    return boto3.session.Session().client(
        service, region_name=REGION, endpoint_url=endpoint, aws_access_key_id="testing", aws_secret_access_key="testing"
    )  # type: ignore[call-overload]  # a name that is known at run time only
