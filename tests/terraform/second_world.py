"""What happens to one stack, from an empty account to an empty account, each part once for many tests."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.conftest import Said
from tests.terraform.moto.offered import ADDON_VERSIONS, RELEASES
from tests.terraform.moto.world import World, client
from tests.terraform.processes import terraforms_below
from tests.terraform.sample import LOCK, Sample

EXPIRED = "The security token included in the request is expired"
QUOTA = "The maximum number of VPCs has been reached."
CAPACITY = (
    "Could not launch On-Demand Instances. InsufficientInstanceCapacity - We currently do not have sufficient "
    "g6.12xlarge capacity in the Availability Zone you requested (us-east-2b). Launching EC2 instance failed."
)
TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}
GROUP = {"clusterName": "seed", "nodegroupName": "seed-gpu"}
APPLY = ("apply", LOCK, "--bind", "bind.yaml")
DESTROY = ("destroy", "seed", "--yes")


@dataclass(frozen=True, kw_only=True, slots=True)
class Troubled:
    """What rdlc said each time, the stack's record after each failure, and what stood in the end."""

    expired: Said
    quota: Said
    after_quota: Mapping[str, Any]
    capacity: Said
    after_capacity: Mapping[str, Any]
    applied: Said
    record: Mapping[str, Any]
    resources: Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Drifted:
    """What rdlc said of a changed world; `seen` is the world after it was looked at, `mended` after the repair."""

    found: Said
    seen: Mapping[str, object]
    stale: Said
    after_stale: Mapping[str, object]
    record_after_stale: Mapping[str, Any]
    repaired: Said
    mended: Mapping[str, object]
    looked: Said


@dataclass(frozen=True, kw_only=True, slots=True)
class Rested:
    """What rdlc said of a stack that it had scaled down."""

    scaled: Said
    nodes: int
    looked: Said


@dataclass(frozen=True, kw_only=True, slots=True)
class Destroyed:
    """What rdlc said when it was interrupted, how it left the stack, and what it said when it was asked again."""

    interrupted: Said
    left: Mapping[str, Any]
    kept: Mapping[str, Mapping[str, Any]]
    processes: list[int]
    finished: Said
    record: Mapping[str, Any]
    remains: Mapping[str, object]


@dataclass(frozen=True, kw_only=True, slots=True)
class SecondWorld:
    """An account and the project that is applied in it."""

    world: World
    sample: Sample

    def apply_through_troubles(self) -> Troubled:
        """Applies again and again: each try ends in another trouble of AWS, until there is none."""
        faults = self.world.faults
        faults.refuse("GetCallerIdentity", "ExpiredToken", EXPIRED)
        expired = self.sample(*APPLY, "--yes")
        faults.heal()
        faults.refuse("CreateVpc", "VpcLimitExceeded", QUOTA)
        quota, after_quota = self.sample(*APPLY, "--yes"), self.sample.record()
        faults.heal()
        faults.fail_nodes("seed-gpu", "AsgInstanceLaunchFailures", CAPACITY)
        capacity, after_capacity = self.sample(*APPLY, "--yes"), self.sample.record()
        faults.heal()
        applied = self.sample(*APPLY, "--yes")
        return Troubled(
            expired=expired,
            quota=quota,
            after_quota=after_quota,
            capacity=capacity,
            after_capacity=after_capacity,
            applied=applied,
            record=self.sample.record(),
            resources=self.sample.resources(),
        )

    def drift(self) -> Drifted:
        """Changes a rule, a taint, a release and an add-on; looks; repairs, once past a stale plan."""
        self._change_world()
        found, seen = self.sample(*APPLY, "--plan"), self._look()
        stale = self.sample.ask(*APPLY, question="apply it?", meanwhile=self._refresh_by_hand)
        after_stale, record = self._look(), self.sample.record()
        repaired, mended = self.sample(*APPLY, "--yes"), self._look()
        return Drifted(
            found=found,
            seen=seen,
            stale=stale,
            after_stale=after_stale,
            record_after_stale=record,
            repaired=repaired,
            mended=mended,
            looked=self.sample(*APPLY, "--plan"),
        )

    def rest(self) -> Rested:
        """Takes the GPU nodes away, and looks."""
        scaled = self.sample(*DESTROY, "--scale-down")
        group = self._client("eks").describe_nodegroup(**GROUP)["nodegroup"]
        nodes = int(group["scalingConfig"]["desiredSize"])
        return Rested(scaled=scaled, nodes=nodes, looked=self.sample(*APPLY, "--plan"))

    def destroy(self) -> Destroyed:
        """Destroys, is interrupted when the cluster's turn has come, and destroys again."""
        before = self.sample.logs("apply")
        interrupted = self.sample.interrupt(*DESTROY, when=lambda: self._is_deleting_cluster(before))
        left, kept = self.sample.record(), self.sample.resources()
        processes = terraforms_below(self.sample.folder)
        finished = self.sample(*DESTROY)
        return Destroyed(
            interrupted=interrupted,
            left=left,
            kept=kept,
            processes=processes,
            finished=finished,
            record=self.sample.record(),
            remains=self._remains(),
        )

    def _change_world(self) -> None:
        held = self.sample.resources()["module.nodes.aws_vpc_security_group_egress_rule.efa_self[0]"]
        ec2, eks = self._client("ec2"), self._client("eks")
        ec2.revoke_security_group_egress(GroupId=held["security_group_id"], SecurityGroupRuleIds=[held["id"]])
        eks.update_nodegroup_config(**GROUP, taints={"removeTaints": [TAINT]})
        eks.update_nodegroup_version(**GROUP, releaseVersion=RELEASES[0])
        eks.update_addon(clusterName="seed", addonName="coredns", addonVersion=ADDON_VERSIONS["coredns"][1])

    def _look(self) -> dict[str, object]:
        """What was changed, as AWS tells it now."""
        ec2, eks = self._client("ec2"), self._client("eks")
        group = eks.describe_nodegroup(**GROUP)["nodegroup"]
        named = self.sample.resources()["module.nodes.aws_security_group.efa[0]"]["id"]
        rules = ec2.describe_security_group_rules(Filters=[{"Name": "group-id", "Values": [named]}])
        return {
            "egress": [rule["IpProtocol"] for rule in rules["SecurityGroupRules"] if rule["IsEgress"]],
            "taints": group["taints"],
            "release": group["releaseVersion"],
            "coredns": eks.describe_addon(clusterName="seed", addonName="coredns")["addon"]["addonVersion"],
        }

    def _refresh_by_hand(self) -> None:
        self.sample.terraform("apply", "-refresh-only", "-auto-approve", "-var-file=rdlc.tfvars.json")

    def _is_deleting_cluster(self, before: int) -> bool:
        if self.sample.logs("apply") == before:
            return False
        started = [event for event in self.sample.events("apply") if event["type"] == "apply_start"]
        return any(event["hook"]["resource"]["resource_type"] == "aws_eks_cluster" for event in started)

    def _remains(self) -> dict[str, object]:
        """Everything in the account that the stack could have left; the VPC of the account itself is not counted."""
        ec2, iam = self._client("ec2"), self._client("iam")
        vpcs = {vpc["VpcId"]: vpc["IsDefault"] for vpc in ec2.describe_vpcs()["Vpcs"]}
        groups = ec2.describe_security_groups()["SecurityGroups"]
        return {
            "clusters": self._client("eks").list_clusters()["clusters"],
            "vpcs": [name for name, is_default in vpcs.items() if not is_default],
            "security groups": [group["GroupName"] for group in groups if not vpcs.get(group["VpcId"], False)],
            "nat gateways": [
                gateway["NatGatewayId"]
                for gateway in ec2.describe_nat_gateways()["NatGateways"]
                if gateway["State"] != "deleted"
            ],
            "addresses": ec2.describe_addresses()["Addresses"],
            "launch templates": ec2.describe_launch_templates()["LaunchTemplates"],
            "placement groups": ec2.describe_placement_groups()["PlacementGroups"],
            "roles": iam.list_roles()["Roles"],
            "providers": iam.list_open_id_connect_providers()["OpenIDConnectProviderList"],
            "buckets": self._client("s3").list_buckets()["Buckets"],
        }

    def _client(self, service: str) -> Any:
        return client(service, self.world.endpoint)
