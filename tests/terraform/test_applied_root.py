"""The sample's profile really applied by rdlc, in an account of moto's, and read back by boto3."""

from typing import Any

import pytest

from tests.terraform.moto.offered import ADDON_VERSIONS, KUBERNETES, RELEASES
from tests.terraform.moto.world import ACCOUNT, client
from tests.terraform.sample import BINDINGS, VARIABLES, Sample

pytestmark = [pytest.mark.terraform, pytest.mark.late]


def node_group(sample: Sample, name: str) -> dict[str, Any]:
    found: dict[str, Any] = client("eks", sample.endpoint).describe_nodegroup(clusterName="seed", nodegroupName=name)
    return dict(found["nodegroup"])


def template_of(sample: Sample, group: dict[str, Any]) -> dict[str, Any]:
    named = group["launchTemplate"]
    found = client("ec2", sample.endpoint).describe_launch_template_versions(
        LaunchTemplateId=named["id"], Versions=[named["version"]]
    )
    return dict(found["LaunchTemplateVersions"][0]["LaunchTemplateData"])


def efa_group(sample: Sample) -> str:
    found = client("ec2", sample.endpoint).describe_security_groups(
        Filters=[{"Name": "group-name", "Values": ["seed-efa"]}]
    )
    return str(found["SecurityGroups"][0]["GroupId"])


def test_the_cluster_has_the_version_asked_for_and_keeps_it(applied_sample: Sample) -> None:
    cluster = client("eks", applied_sample.endpoint).describe_cluster(name="seed")["cluster"]

    assert (cluster["version"], cluster["upgradePolicy"]) == (KUBERNETES, {"supportType": "EXTENDED"})
    assert cluster["accessConfig"]["authenticationMode"] == "API_AND_CONFIG_MAP"
    assert cluster["resourcesVpcConfig"]["publicAccessCidrs"] == ["203.0.113.0/24"]


@pytest.mark.parametrize("name", sorted(ADDON_VERSIONS))
def test_each_add_on_has_the_version_asked_for(applied_sample: Sample, name: str) -> None:
    addon = client("eks", applied_sample.endpoint).describe_addon(clusterName="seed", addonName=name)["addon"]

    assert addon["addonVersion"] == ADDON_VERSIONS[name][0]


@pytest.mark.parametrize(
    ("name", "release", "ami_type", "instance_type"),
    [
        ("seed-system", RELEASES[1], "AL2023_x86_64_STANDARD", "m7i.xlarge"),
        ("seed-gpu", RELEASES[2], "AL2023_x86_64_NVIDIA", "g6.12xlarge"),
    ],
)
def test_each_node_group_has_the_ami_release_asked_for(
    applied_sample: Sample, name: str, release: str, ami_type: str, instance_type: str
) -> None:
    group = node_group(applied_sample, name)

    assert (group["version"], group["releaseVersion"], group["amiType"]) == (KUBERNETES, release, ami_type)
    assert template_of(applied_sample, group)["InstanceType"] == instance_type


def test_gpu_nodes_have_one_efa_interface_in_both_security_groups(applied_sample: Sample) -> None:
    template = template_of(applied_sample, node_group(applied_sample, "seed-gpu"))
    cluster = client("eks", applied_sample.endpoint).describe_cluster(name="seed")["cluster"]

    interface = template["NetworkInterfaces"][0]
    groups = {cluster["resourcesVpcConfig"]["clusterSecurityGroupId"], efa_group(applied_sample)}
    assert len(template["NetworkInterfaces"]) == 1
    assert set(interface.pop("Groups")) == groups
    assert interface == {
        "AssociatePublicIpAddress": False,
        "DeleteOnTermination": True,
        "DeviceIndex": 0,
        "InterfaceType": "efa",
        "NetworkCardIndex": 0,
    }


def test_the_efa_group_lets_its_own_members_in_and_out_and_nobody_else(applied_sample: Sample) -> None:
    group = efa_group(applied_sample)
    found = client("ec2", applied_sample.endpoint).describe_security_group_rules(
        Filters=[{"Name": "group-id", "Values": [group]}]
    )

    rules = sorted(
        (rule["IsEgress"], rule["IpProtocol"], rule.get("ReferencedGroupInfo", {}).get("GroupId"))
        for rule in found["SecurityGroupRules"]
    )
    assert rules == [(False, "-1", group), (True, "-1", group)]


def test_gpu_nodes_are_tainted_labelled_and_close_together(applied_sample: Sample) -> None:
    group = node_group(applied_sample, "seed-gpu")
    placement = client("ec2", applied_sample.endpoint).describe_placement_groups(GroupNames=["seed-gpu"])

    assert group["taints"] == [{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}]
    assert group["labels"] == {
        "nvidia.com/gpu.present": "true",
        "rdlc/pool": "gpu",
        "vpc.amazonaws.com/efa.present": "true",
    }
    assert group["scalingConfig"] == {"minSize": 0, "maxSize": 2, "desiredSize": 2}
    assert template_of(applied_sample, group)["Placement"] == {"GroupName": "seed-gpu"}
    assert placement["PlacementGroups"][0]["Strategy"] == "cluster"


def test_gpu_nodes_are_in_the_zone_asked_for(applied_sample: Sample) -> None:
    subnets = node_group(applied_sample, "seed-gpu")["subnets"]
    found = client("ec2", applied_sample.endpoint).describe_subnets(SubnetIds=subnets)["Subnets"]

    assert [(subnet["AvailabilityZone"], subnet["MapPublicIpOnLaunch"]) for subnet in found] == [("us-east-2b", False)]


def test_the_bucket_is_private(applied_sample: Sample) -> None:
    bucket = applied_sample.record()["outputs"]["storage"]["id"]
    access = client("s3", applied_sample.endpoint).get_public_access_block(Bucket=bucket)

    assert access["PublicAccessBlockConfiguration"] == {
        "BlockPublicAcls": True,
        "BlockPublicPolicy": True,
        "IgnorePublicAcls": True,
        "RestrictPublicBuckets": True,
    }


def test_outputs_say_what_was_made(applied_sample: Sample) -> None:
    outputs = applied_sample.record()["outputs"]

    gpu = outputs["gpu_node_group"]
    assert outputs["cluster_arn"] == f"arn:aws:eks:us-east-2:{ACCOUNT}:cluster/seed"
    assert outputs["addon_versions"] == VARIABLES["addon_versions"]
    assert outputs["efa_security_group_id"] == efa_group(applied_sample)
    assert (gpu["count"], gpu["gpus_per_node"], gpu["efa_interfaces_per_node"]) == (2, 4, 1)
    assert (gpu["release_version"], gpu["capacity_type"]) == (RELEASES[2], "ON_DEMAND")
    given = {**VARIABLES, **BINDINGS}
    assert {name: outputs["inputs"][name] for name in given} == given
