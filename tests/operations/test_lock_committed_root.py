"""The committed Terraform root as a lock sees it: every profile locks, and the stand-ins cover every binding."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from rdlc.adapters.terraform_tree import TerraformFolder, read_tree
from rdlc.core.canonical import Json
from rdlc.core.infra.offline import MissingPlan
from rdlc.core.infra.request import InfraRequest
from rdlc.core.infra.root import read_root
from rdlc.core.infra.section import find_infra_contradictions
from rdlc.core.infra.tree import PROVIDER_LOCK
from rdlc.operations.infra_floating import InfraAsked
from rdlc.operations.lock_infra import resolve_infra
from tests.operations.infra_tools import FakeOffers, FakePlanner, Outside
from tests.operations.scripted import Voice

PROJECT = Path(__file__).parents[2]
ROOT = PROJECT / "terraform"
PROFILES = sorted(path.name.removesuffix(".tfvars.json") for path in (ROOT / "profiles").glob("*.tfvars.json"))
FLOATING: Mapping[str, Json] = {
    "addon_versions": {
        "coredns": "v1.12.4-eksbuild.1",
        "kube-proxy": "v1.35.0-eksbuild.2",
        "vpc-cni": "v1.20.4-eksbuild.2",
    },
    "gpu_release_version": "1.35.2-20261120",
    "system_release_version": "1.35.2-20261120",
}


def asked_of(profile: str, variables: Mapping[str, Json]) -> InfraRequest:
    return InfraRequest(root="terraform", profile=profile, variables={"region": "us-east-2", **variables})


def test_the_root_pins_its_provider_for_every_platform() -> None:
    root = read_root(read_tree(ROOT), name="terraform")

    hashes = root.providers["hashicorp/aws"].hashes
    assert (list(root.providers), root.configured) == (["hashicorp/aws"], ("aws",))
    assert [len([hash_ for hash_ in hashes if hash_.startswith(kind)]) for kind in ("h1:", "zh:")] == [2, 15]


def test_the_profiles_of_the_issue_are_there() -> None:
    assert PROFILES == ["g6-12xlarge-x2", "p5-48xlarge-x2", "smoke"]


@pytest.mark.parametrize("profile", PROFILES)
def test_a_profile_locks_with_exact_versions_and_asks_nobody(profile: str) -> None:
    outside = Outside(planner=FakePlanner(answer=MissingPlan(reason="not here")))

    locked = resolve_infra(
        asked_of(profile, FLOATING), InfraAsked(project=PROJECT), tools=outside.tools, reporter=Voice()
    )

    variables = read_root(read_tree(ROOT), name="terraform").variables
    assert list(locked.section.variables) == [name for name, held in variables.items() if not held.is_binding]
    assert list(find_infra_contradictions(locked.section)) == []
    assert PROVIDER_LOCK in locked.section.files
    assert outside.offers.asked == []
    # Nothing is missing for the offline plan: it was asked for, with a value for every variable that needs one.
    needed = {name for name, held in variables.items() if not held.has_default}
    assert needed <= outside.planner.planned[0].keys()


@pytest.mark.parametrize("profile", PROFILES)
def test_what_a_profile_leaves_open_floats(profile: str) -> None:
    versions = {
        "coredns": ("v1.12.4-eksbuild.1",),
        "kube-proxy": ("v1.35.0-eksbuild.2",),
        "vpc-cni": ("v1.20.4-eksbuild.2",),
    }
    outside = Outside(offers=FakeOffers(published=("1.35.2-20261120",), versions=versions))

    locked = resolve_infra(asked_of(profile, {}), InfraAsked(project=PROJECT), tools=outside.tools, reporter=Voice())

    assert {name: locked.section.variables[name] for name in FLOATING} == FLOATING
    assert {name: locked.origin.values[name] for name in FLOATING} == dict.fromkeys(FLOATING, "AWS")


def test_the_tree_leaves_out_profiles_tests_and_pages() -> None:
    paths = list(TerraformFolder().read_tree(ROOT))

    assert [path for path in paths if path.split("/")[0] in {"profiles", "tests"} or path.endswith(".md")] == []
    assert {"main.tf", "variables.tf", "outputs.tf", "providers.tf", "versions.tf", PROVIDER_LOCK} <= set(paths)
