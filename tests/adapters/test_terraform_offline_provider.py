"""The fingerprint of the committed root with its real provider: for every profile, without any network or account."""

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rdlc.adapters.terraform_offline import OfflineTerraform
from rdlc.adapters.terraform_tree import TerraformFolder
from rdlc.core.canonical import Json
from rdlc.core.infra.request import InfraRequest
from rdlc.errors import RdlcError
from rdlc.operations.infra_floating import InfraAsked
from rdlc.operations.infra_ports import InfraTools
from rdlc.operations.lock_infra import LockedInfra, resolve_infra
from tests.operations.infra_tools import FakeOffers
from tests.operations.scripted import Voice
from tests.terraform.program import command_line_configuration, terraform_program

PROJECT = Path(__file__).parents[2]
PROFILES = ("g6-12xlarge-x2", "p5-48xlarge-x2", "smoke")
EXACT: Mapping[str, Json] = {
    "region": "us-east-2",
    "addon_versions": {
        "coredns": "v1.12.4-eksbuild.1",
        "kube-proxy": "v1.35.0-eksbuild.2",
        "vpc-cni": "v1.20.4-eksbuild.2",
    },
    "gpu_release_version": "1.35.2-20261120",
    "system_release_version": "1.35.2-20261120",
}

# What is locked, each once for all tests; `again` is another plan of the same.
ORDERS: Mapping[str, tuple[str, Mapping[str, Json]]] = {
    **{profile: (profile, {}) for profile in PROFILES},
    "again": ("smoke", {}),
    "another disk": ("smoke", {"gpu_disk_gib": 201}),
    "another region": ("smoke", {"region": "us-west-2"}),
}

pytestmark = [pytest.mark.terraform, pytest.mark.late]


@pytest.fixture(scope="module")
def terraform(tmp_path_factory: pytest.TempPathFactory) -> OfflineTerraform:
    """Terraform with the providers of this machine."""
    shell = {name: value for name, value in os.environ.items() if name in {"PATH", "HOME"}}
    shell["TF_CLI_CONFIG_FILE"] = str(command_line_configuration(tmp_path_factory.mktemp("settings")))
    return OfflineTerraform(terraform_program(), environment=shell)


@pytest.fixture(scope="module")
def locked(terraform: OfflineTerraform) -> Mapping[str, LockedInfra]:
    """What each order is locked to; two are planned at a time."""
    with ThreadPoolExecutor(2) as pool:
        asked = {name: pool.submit(lock, terraform, profile, **more) for name, (profile, more) in ORDERS.items()}
        return {name: future.result() for name, future in asked.items()}


def lock(terraform: OfflineTerraform, profile: str, **more: Json) -> LockedInfra:
    request = InfraRequest(root="terraform", profile=profile, variables={**EXACT, **more})
    tools = InfraTools(files=TerraformFolder(), offers=FakeOffers(), planner=terraform)
    return resolve_infra(request, InfraAsked(project=PROJECT), tools=tools, reporter=Voice())


def test_every_profile_has_a_fingerprint_of_its_own(locked: Mapping[str, LockedInfra]) -> None:
    origins = [locked[profile].origin for profile in PROFILES]

    assert [origin.plan_missing for origin in origins] == ["", "", ""]
    assert len({origin.plan for origin in origins}) == 3


def test_a_fingerprint_is_the_same_again_and_moves_with_a_variable_and_a_region(
    locked: Mapping[str, LockedInfra],
) -> None:
    first, again = locked["smoke"], locked["again"]
    others = [locked["another disk"], locked["another region"]]

    assert (first.origin.plan, first.section) == (again.origin.plan, again.section)
    assert len({first.origin.plan, *(other.origin.plan for other in others)}) == 3


def test_a_combination_that_the_root_refuses_is_not_locked(terraform: OfflineTerraform) -> None:
    with pytest.raises(RdlcError) as caught:
        lock(terraform, "g6-12xlarge-x2", efa_interface_count=2)

    assert caught.value.message.startswith("Terraform refuses these variables: ")
    assert "efa_interface_count" in caught.value.message
