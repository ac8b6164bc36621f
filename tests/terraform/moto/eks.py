"""What moto lacks of EKS: add-ons, updates, and what a second plan asks of clusters and node groups."""

from typing import Any

from moto.core.responses import ActionResult
from moto.core.utils import utcnow
from moto.eks import urls
from moto.eks.exceptions import ResourceInUseException, ResourceNotFoundException
from moto.eks.models import Cluster, EKSBackend, Nodegroup
from moto.eks.responses import EKSResponse
from moto.moto_api._internal import mock_random

Addons = dict[str, dict[str, Any]]

_CLUSTER = "{0}/clusters/(?P<name>[^/]+)"
_PATHS = (
    f"{_CLUSTER}/addons$",
    f"{_CLUSTER}/addons/(?P<addonName>[^/]+)$",
    f"{_CLUSTER}/addons/(?P<addonName>[^/]+)/update$",
    f"{_CLUSTER}/node-groups/(?P<nodegroupName>[^/]+)/update-version$",
    f"{_CLUSTER}/updates/(?P<updateId>[^/]+)$",
)
_create_cluster = EKSResponse.create_cluster
_create_nodegroup = EKSBackend.create_nodegroup
_request_nodegroup = EKSResponse.create_nodegroup


def extend() -> None:
    """Adds the actions with their addresses, and completes what clusters and node groups answer."""
    urls.url_paths.update(dict.fromkeys(_PATHS, urls.response.dispatch))
    for action in (
        create_addon, create_cluster, create_nodegroup, delete_addon, describe_addon, describe_update, update_addon,
        update_nodegroup_version,
    ):  # fmt: skip
        setattr(EKSResponse, action.__name__, action)
    setattr(EKSBackend, _create_nodegroup.__name__, make_nodegroup)


# ------------------------------------------------------------------ clusters and node groups


def create_cluster(self: EKSResponse) -> ActionResult:
    """As moto, and it keeps how it is accessed and upgraded; AWS adds a security group."""
    result = _create_cluster(self)
    cluster = self.eks_backend.clusters[self._get_param("name")]
    access = {"authenticationMode": "CONFIG_MAP", "bootstrapClusterCreatorAdminPermissions": True}
    cluster.__dict__["access_config"] = access | (self._get_param("accessConfig") or {})
    cluster.__dict__["upgrade_policy"] = self._get_param("upgradePolicy") or {"supportType": "EXTENDED"}
    network = cluster.resources_vpc_config
    network.setdefault("clusterSecurityGroupId", f"sg-{mock_random.get_random_hex(17)}")
    if network.get("endpointPublicAccess"):
        network.setdefault("publicAccessCidrs", ["0.0.0.0/0"])
    return result


def make_nodegroup(self: EKSBackend, *arguments: Any, **named: Any) -> Nodegroup:
    """As moto; with a launch template AWS reports neither remote access nor a disk, and no instance type of its own."""
    group = _create_nodegroup(self, *arguments, **named)
    if named.get("launch_template"):
        group.__dict__.update(remote_access=None, disk_size=None)
        group.resources.pop("remoteAccessSecurityGroup", None)
        if not named.get("instance_types"):
            group.instance_types = []
    group.version = named.get("version") or self.clusters[named["cluster_name"]].version
    return group


def create_nodegroup(self: EKSResponse) -> ActionResult:
    """As moto, and it keeps how many nodes an update may take away at once."""
    result = _request_nodegroup(self)
    _nodegroup(self).update_config = self._get_param("updateConfig") or {"maxUnavailable": 1}
    return result


def update_nodegroup_version(self: EKSResponse) -> ActionResult:
    """The finished update; every node would have been replaced."""
    group = _nodegroup(self)
    group.version = self._get_param("version") or group.version
    group.release_version = self._get_param("releaseVersion") or group.release_version
    if template := self._get_param("launchTemplate"):
        group.launch_template = {**(group.launch_template or {}), **template}
    return ActionResult({"update": _finished("VersionUpdate")})


def describe_update(self: EKSResponse) -> ActionResult:
    """The asked update, which is always finished."""
    return ActionResult({"update": _finished("ConfigUpdate") | {"id": self._get_param("updateId")}})


def _nodegroup(self: EKSResponse) -> Nodegroup:
    return self.eks_backend.describe_nodegroup(
        cluster_name=self._get_param("name"), nodegroup_name=self._get_param("nodegroupName")
    )


def _finished(kind: str) -> dict[str, Any]:
    return {
        "id": str(mock_random.uuid4()), "type": kind, "status": "Successful", "params": [], "errors": [],
        "createdAt": utcnow(),
    }  # fmt: skip


# ------------------------------------------------------------------ add-ons


def create_addon(self: EKSResponse) -> ActionResult:
    """The new add-on, active at once."""
    cluster = _cluster(self)
    addons = _addons(cluster)
    name = self._get_param("addonName")
    if name in addons:
        raise ResourceInUseException(
            clusterName=cluster.name, nodegroupName=None, addonName=name, message="Addon already exists."
        )
    now = utcnow()
    arn = f"arn:aws:eks:{self.region}:{self.current_account}:addon/{cluster.name}/{name}/{mock_random.uuid4()}"
    addons[name] = {
        "addonName": name,
        "clusterName": cluster.name,
        "addonVersion": self._get_param("addonVersion"),
        "addonArn": arn,
        "status": "ACTIVE",
        "health": {"issues": []},
        "tags": self._get_param("tags") or {},
        "createdAt": now,
        "modifiedAt": now,
    }
    return ActionResult({"addon": addons[name]})


def describe_addon(self: EKSResponse) -> ActionResult:
    """The asked add-on."""
    return ActionResult({"addon": _addon(self)})


def update_addon(self: EKSResponse) -> ActionResult:
    """The finished update."""
    addon = _addon(self)
    addon["addonVersion"] = self._get_param("addonVersion") or addon["addonVersion"]
    return ActionResult({"update": _finished("AddonUpdate")})


def delete_addon(self: EKSResponse) -> ActionResult:
    """The add-on as it goes."""
    addon = _addon(self)
    del _addons(_cluster(self))[addon["addonName"]]
    return ActionResult({"addon": addon | {"status": "DELETING"}})


def _cluster(self: EKSResponse) -> Cluster:
    return self.eks_backend.describe_cluster(name=self._get_param("name"))


def _addons(cluster: Cluster) -> Addons:
    addons: Addons = cluster.__dict__.setdefault("addons", {})
    return addons


def _addon(self: EKSResponse) -> dict[str, Any]:
    cluster, name = _cluster(self), self._get_param("addonName")
    addons = _addons(cluster)
    if name not in addons:
        raise ResourceNotFoundException(
            clusterName=cluster.name, nodegroupName=None, fargateProfileName=None, addonName=name,
            message=f"No addon: {name} found in cluster: {cluster.name}",
        )  # fmt: skip
    return addons[name]
