"""Answers of EC2 that moto gives in another form than AWS, so that a second plan would see changes."""

from moto.core.responses import ActionResult
from moto.ec2.models.security_groups import SecurityGroupRule
from moto.ec2.responses import EC2Response

_create_launch_template = EC2Response.create_launch_template


def extend() -> None:
    """Puts AWS's form in the place of moto's."""
    setattr(EC2Response, create_launch_template.__name__, create_launch_template)
    setattr(SecurityGroupRule, description.__name__, property(description))


def create_launch_template(self: EC2Response) -> ActionResult:
    """As moto, but the tags of the template itself are not among those that it gives to instances."""
    result = _create_launch_template(self)
    for template in self.ec2_backend.launch_templates.values():
        for version in template.versions:
            specifications = version.data.get("TagSpecifications", [])
            kept = [item for item in specifications if item["ResourceType"] != "launch-template"]
            if len(kept) != len(specifications):
                version.data["TagSpecifications"] = kept
    return result


def description(self: SecurityGroupRule) -> str | None:
    """The description of a rule, whether it names addresses or a group; moto knows that of addresses only."""
    return self.ip_range.get("Description") or self.source_group.get("Description")
