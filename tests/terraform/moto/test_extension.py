"""What the stand-in for AWS knows beyond moto, asked by boto3 as AWS would be."""

from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.terraform.moto.offered import ADDON_VERSIONS, KUBERNETES, RELEASES
from tests.terraform.moto.world import client

ROLE = "arn:aws:iam::123456789012:role/seed"
NVIDIA = f"/aws/service/eks/optimized-ami/{KUBERNETES}/amazon-linux-2023/x86_64/nvidia"


def code_of(caught: pytest.ExceptionInfo[ClientError]) -> str:
    return caught.value.response["Error"]["Code"]


def make_cluster(account: str, name: str) -> Any:
    eks = client("eks", account)
    eks.create_cluster(
        name=name,
        version=KUBERNETES,
        roleArn=ROLE,
        resourcesVpcConfig={"subnetIds": ["subnet-1"], "endpointPublicAccess": True},
        accessConfig={"authenticationMode": "API_AND_CONFIG_MAP"},
    )
    return eks


def test_a_placement_group_is_made_found_and_deleted(moto_account: str) -> None:
    ec2 = client("ec2", moto_account)
    tags = [{"Key": "team", "Value": "training"}]
    specification = [{"ResourceType": "placement-group", "Tags": tags}]
    ec2.create_placement_group(GroupName="passing", Strategy="cluster", TagSpecifications=specification)
    found = ec2.describe_placement_groups(GroupNames=["passing"])["PlacementGroups"]
    ec2.delete_placement_group(GroupName="passing")
    left = ec2.describe_placement_groups()["PlacementGroups"]

    assert [(group["GroupName"], group["Strategy"], group["Tags"]) for group in found] == [("passing", "cluster", tags)]
    assert [group for group in left if group["GroupName"] == "passing"] == []


def test_a_placement_group_cannot_be_made_twice_or_deleted_unmade(moto_account: str) -> None:
    ec2 = client("ec2", moto_account)
    ec2.create_placement_group(GroupName="near", Strategy="cluster")

    with pytest.raises(ClientError) as twice:
        ec2.create_placement_group(GroupName="near", Strategy="cluster")
    with pytest.raises(ClientError) as unmade:
        ec2.delete_placement_group(GroupName="far")
    with pytest.raises(ClientError) as unknown:
        ec2.describe_placement_groups(GroupNames=["far"])

    codes = [code_of(caught) for caught in (twice, unmade, unknown)]
    assert codes == [
        "InvalidPlacementGroup.Duplicate",
        "InvalidPlacementGroup.Unknown",
        "InvalidPlacementGroup.Unknown",
    ]


def test_a_cluster_keeps_how_it_is_accessed_and_upgraded(moto_account: str) -> None:
    cluster = make_cluster(moto_account, "plain").describe_cluster(name="plain")["cluster"]

    assert cluster["accessConfig"] == {
        "authenticationMode": "API_AND_CONFIG_MAP",
        "bootstrapClusterCreatorAdminPermissions": True,
    }
    assert cluster["upgradePolicy"] == {"supportType": "EXTENDED"}
    assert cluster["resourcesVpcConfig"]["publicAccessCidrs"] == ["0.0.0.0/0"]


def test_an_add_on_is_made_updated_and_deleted(moto_account: str) -> None:
    eks = make_cluster(moto_account, "addons")
    older, newer = ADDON_VERSIONS["coredns"]
    eks.create_addon(clusterName="addons", addonName="coredns", addonVersion=older)
    made = eks.describe_addon(clusterName="addons", addonName="coredns")["addon"]
    update = eks.update_addon(clusterName="addons", addonName="coredns", addonVersion=newer)["update"]
    updated = eks.describe_addon(clusterName="addons", addonName="coredns")["addon"]
    seen = eks.describe_update(name="addons", updateId=update["id"], addonName="coredns")["update"]
    eks.delete_addon(clusterName="addons", addonName="coredns")

    assert (made["addonVersion"], updated["addonVersion"]) == (older, newer)
    assert (seen["id"], seen["status"]) == (update["id"], "Successful")
    with pytest.raises(ClientError) as gone:
        eks.describe_addon(clusterName="addons", addonName="coredns")
    assert code_of(gone) == "ResourceNotFoundException"


def test_a_node_group_of_a_launch_template_is_reported_as_eks_does_and_takes_another_release(moto_account: str) -> None:
    ec2, eks = client("ec2", moto_account), make_cluster(moto_account, "groups")
    tags = [{"ResourceType": "launch-template", "Tags": [{"Key": "team", "Value": "training"}]}]
    template = ec2.create_launch_template(
        LaunchTemplateName="gpu", LaunchTemplateData={"InstanceType": "g6.12xlarge"}, TagSpecifications=tags
    )["LaunchTemplate"]["LaunchTemplateId"]
    eks.create_nodegroup(
        clusterName="groups", nodegroupName="gpu", nodeRole=ROLE, subnets=["subnet-1"], releaseVersion=RELEASES[0],
        launchTemplate={"id": template, "version": "1"}, updateConfig={"maxUnavailable": 2},
    )  # fmt: skip
    made = eks.describe_nodegroup(clusterName="groups", nodegroupName="gpu")["nodegroup"]
    eks.update_nodegroup_version(
        clusterName="groups", nodegroupName="gpu", releaseVersion=RELEASES[1],
        launchTemplate={"id": template, "version": "2"},
    )  # fmt: skip
    updated = eks.describe_nodegroup(clusterName="groups", nodegroupName="gpu")["nodegroup"]
    data = ec2.describe_launch_template_versions(LaunchTemplateId=template)["LaunchTemplateVersions"][0]

    assert (made["version"], made["releaseVersion"], made["updateConfig"]) == (
        KUBERNETES,
        RELEASES[0],
        {"maxUnavailable": 2},
    )
    assert made.keys().isdisjoint({"remoteAccess", "diskSize"})
    assert made["instanceTypes"] == []
    assert (updated["releaseVersion"], updated["launchTemplate"]["version"]) == (RELEASES[1], "2")
    assert data["LaunchTemplateData"].get("TagSpecifications", []) == []


def test_a_rule_that_names_a_group_keeps_its_description(moto_account: str) -> None:
    ec2 = client("ec2", moto_account)
    group = ec2.create_security_group(GroupName="efa", Description="EFA")["GroupId"]
    pair = {"GroupId": group, "Description": "All from the group"}
    ec2.authorize_security_group_ingress(
        GroupId=group, IpPermissions=[{"IpProtocol": "-1", "UserIdGroupPairs": [pair]}]
    )
    rules = ec2.describe_security_group_rules(Filters=[{"Name": "group-id", "Values": [group]}])["SecurityGroupRules"]

    assert [rule["Description"] for rule in rules if not rule["IsEgress"]] == ["All from the group"]


def test_releases_and_add_on_versions_are_offered_for_one_kubernetes_version(moto_account: str) -> None:
    ssm, eks = client("ssm", moto_account), client("eks", moto_account)
    recommended = ssm.get_parameter(Name=f"{NVIDIA}/recommended/release_version")["Parameter"]["Value"]
    found = ssm.get_parameters_by_path(Path=NVIDIA, Recursive=True)["Parameters"]
    offered = eks.describe_addon_versions(addonName="vpc-cni", kubernetesVersion=KUBERNETES)["addons"]
    other = eks.describe_addon_versions(addonName="vpc-cni", kubernetesVersion="1.20")["addons"]

    assert recommended == RELEASES[-1]
    assert {parameter["Value"] for parameter in found} == set(RELEASES)
    assert [item["addonVersion"] for item in offered[0]["addonVersions"]] == sorted(
        ADDON_VERSIONS["vpc-cni"], reverse=True
    )
    assert other == []
