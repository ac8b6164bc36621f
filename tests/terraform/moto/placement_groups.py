"""EC2's placement groups, which moto has not."""

from typing import Any

from moto.core.responses import ActionResult
from moto.ec2.exceptions import EC2ClientError
from moto.ec2.responses import EC2Response
from moto.moto_api._internal import mock_random

Groups = dict[str, dict[str, Any]]


def extend() -> None:
    """Adds create, describe and delete."""
    for action in (create_placement_group, describe_placement_groups, delete_placement_group):
        setattr(EC2Response, action.__name__, action)


def create_placement_group(self: EC2Response) -> ActionResult:
    """The new group."""
    name = self._get_param("GroupName")
    groups = _groups(self)
    if name in groups:
        raise EC2ClientError("InvalidPlacementGroup.Duplicate", f"The placement group '{name}' already exists.")
    tags = self._parse_tag_specification().get("placement-group", {})
    groups[name] = {
        "GroupName": name,
        "GroupId": f"pg-{mock_random.get_random_hex(17)}",
        "GroupArn": f"arn:aws:ec2:{self.region}:{self.current_account}:placement-group/{name}",
        "State": "available",
        "Strategy": self._get_param("Strategy"),
        "Tags": [{"Key": key, "Value": value} for key, value in tags.items()],
    }
    return ActionResult({"PlacementGroup": groups[name]})


def describe_placement_groups(self: EC2Response) -> ActionResult:
    """The groups with the asked names and ids; all without any."""
    names, ids = self._get_param("GroupNames", []), self._get_param("GroupIds", [])
    groups = _groups(self)
    for name in names:
        _known(groups, name)
    found = [
        group
        for name, group in groups.items()
        if (not names or name in names) and (not ids or group["GroupId"] in ids)
    ]  # fmt: skip
    return ActionResult({"PlacementGroups": found})


def delete_placement_group(self: EC2Response) -> ActionResult:
    """Nothing; the group is gone."""
    name = self._get_param("GroupName")
    groups = _groups(self)
    _known(groups, name)
    del groups[name]
    return ActionResult({})


def _known(groups: Groups, name: str) -> None:
    # moto finds the service of an error by the module of its class, so it has to be one of moto's own.
    if name not in groups:
        raise EC2ClientError("InvalidPlacementGroup.Unknown", f"The Placement Group '{name}' is unknown.")


def _groups(self: EC2Response) -> Groups:
    # Kept on moto's backend: of one account and region, and forgotten with it.
    groups: Groups = self.ec2_backend.__dict__.setdefault("placement_groups", {})
    return groups
