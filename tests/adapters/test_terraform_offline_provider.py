"""The fingerprint of the committed root with its real provider: for every profile, without any network or account."""

import os
import shutil
from collections.abc import Mapping
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

pytestmark = [pytest.mark.terraform, pytest.mark.slow]


@pytest.fixture
def terraform(tmp_path: Path) -> OfflineTerraform:
    """Terraform with providers from the CLI configuration in effect, or the folder `RDLC_TERRAFORM_MIRROR`."""
    program = shutil.which("terraform")
    if program is None:
        pytest.skip("terraform is not on PATH")
    shell = {name: value for name, value in os.environ.items() if name in {"PATH", "HOME", "TF_CLI_CONFIG_FILE"}}
    if mirror := os.environ.get("RDLC_TERRAFORM_MIRROR"):
        configuration = tmp_path / "terraformrc"
        configuration.write_text(f'provider_installation {{\n  filesystem_mirror {{\n    path = "{mirror}"\n  }}\n}}\n')
        shell["TF_CLI_CONFIG_FILE"] = str(configuration)
    elif not Path(shell.get("TF_CLI_CONFIG_FILE", Path.home() / ".terraformrc")).is_file():
        pytest.skip(
            "there is no folder of providers: RDLC_TERRAFORM_MIRROR is not set, and no CLI configuration is there"
        )
    return OfflineTerraform(Path(program), environment=shell)


def lock(terraform: OfflineTerraform, profile: str, **more: Json) -> LockedInfra:
    request = InfraRequest(root="terraform", profile=profile, variables={**EXACT, **more})
    tools = InfraTools(files=TerraformFolder(), offers=FakeOffers(), planner=terraform)
    return resolve_infra(request, InfraAsked(project=PROJECT), tools=tools, reporter=Voice())


def test_every_profile_has_a_fingerprint_of_its_own(terraform: OfflineTerraform) -> None:
    origins = {profile: lock(terraform, profile).origin for profile in PROFILES}

    assert [origin.plan_missing for origin in origins.values()] == ["", "", ""]
    assert len({origin.plan for origin in origins.values()}) == 3


def test_a_fingerprint_is_the_same_again_and_moves_with_a_variable_and_a_region(terraform: OfflineTerraform) -> None:
    first, again = lock(terraform, "smoke"), lock(terraform, "smoke")
    others = [lock(terraform, "smoke", gpu_disk_gib=201), lock(terraform, "smoke", region="us-west-2")]

    assert (first.origin.plan, first.section) == (again.origin.plan, again.section)
    assert len({first.origin.plan, *(other.origin.plan for other in others)}) == 3


def test_a_combination_that_the_root_refuses_is_not_locked(terraform: OfflineTerraform) -> None:
    with pytest.raises(RdlcError) as caught:
        lock(terraform, "g6-12xlarge-x2", efa_interface_count=2)

    assert caught.value.message.startswith("Terraform refuses these variables: ")
    assert "efa_interface_count" in caught.value.message
