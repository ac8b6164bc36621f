"""What the root's variables, outputs and table of instance types say of themselves."""

import gzip
import json
import re
from pathlib import Path
from typing import Any

import moto
import pytest

from rdlc.core.infra.hcl import Block, parse_hcl
from tests.terraform_pages import instance_table, output_table, profile_table, variable_table

ROOT = Path(__file__).parents[2] / "terraform"
DESCRIBED = "ec2/resources/instance_types.json.gz"
PATHS = sorted(ROOT.rglob("variables.tf"))
# Null is a value of its own there, and the description says which.
NULL_MEANS = {"account_id", "gpu_ami_id", "gpu_capacity_reservation_id", "gpu_count_at_rest", "placement_group_name"}


def blocks(path: Path, type_: str) -> dict[str, Block]:
    return {block.labels[0]: block for block in parse_hcl(path.read_bytes(), name=str(path)).below(type_)}


def facts(described: dict[str, Any]) -> dict[str, Any]:
    network, gpus = described["NetworkInfo"], described["GpuInfo"]["Gpus"]
    assert "x86_64" in described["ProcessorInfo"]["SupportedArchitectures"]
    assert "cluster" in described["PlacementGroupInfo"]["SupportedStrategies"]
    assert described["InstanceStorageSupported"]
    return {
        "gpu": gpus[0]["Name"],
        "gpus": sum(gpu["Count"] for gpu in gpus),
        "cards": network["MaximumNetworkCards"],
        "efa": network.get("EfaInfo", {}).get("MaximumEfaInterfaces", 0),
        "capacity": sorted(described["SupportedUsageClasses"]),
    }


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_variable_is_typed_and_described_and_null_only_where_it_means_something(path: Path) -> None:
    for name, block in blocks(path, "variable").items():
        description = block.attributes["description"].literal()
        is_nullable = "nullable" not in block.attributes

        assert block.attributes["type"].text, name
        assert isinstance(description, str), name
        assert is_nullable == (name in NULL_MEANS), name
        assert not is_nullable or "null" in description, name


def test_every_variable_of_the_root_is_validated_unless_its_type_says_all() -> None:
    unchecked = {
        name: block.attributes["type"].text
        for name, block in blocks(ROOT / "variables.tf", "variable").items()
        if not block.below("validation")
    }

    assert set(unchecked.values()) == {"bool"}


def test_versions_and_releases_have_no_default() -> None:
    variables = blocks(ROOT / "variables.tf", "variable")

    pinned = ("kubernetes_version", "addon_versions", "system_release_version", "gpu_release_version")
    assert [name for name in pinned if "default" in variables[name].attributes] == []


@pytest.mark.parametrize("path", sorted(ROOT.rglob("outputs.tf")), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_output_is_described(path: Path) -> None:
    described = {name: block.attributes["description"].literal() for name, block in blocks(path, "output").items()}

    assert [name for name, text in described.items() if not isinstance(text, str) or not text.endswith(".")] == []


def test_the_inputs_that_the_root_gives_out_are_all_its_variables() -> None:
    text = (ROOT / "outputs.tf").read_text(encoding="ascii")
    pairs = re.findall(r"^    (\w+) += var\.(\w+)$", text[text.index('output "inputs"') :], re.MULTILINE)

    assert sorted(pairs) == sorted((name, name) for name in blocks(ROOT / "variables.tf", "variable"))


def test_instance_types_are_what_ec2_describes() -> None:
    described = json.loads(gzip.decompress((Path(moto.__file__).parent / DESCRIBED).read_bytes()))
    known = json.loads((ROOT / "instance_types.json").read_bytes())

    assert known == {name: facts(described[name]) for name in known}


def test_the_pages_hold_what_the_root_holds() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    pages = (
        profile_table(),
        variable_table("identity"),
        variable_table("binding"),
        output_table(),
        instance_table(),
    )

    assert [page for page in pages if page not in readme] == []
