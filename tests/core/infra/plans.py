"""Plans as `terraform show -json` gives them, small ones."""

import json
from collections.abc import Mapping, Sequence

from rdlc.core.canonical import Json

NODES = "module.nodes.aws_eks_node_group.gpu"


def change(address: str, *actions: str, before: Json = None, after: Json = None, **more: Json) -> dict[str, Json]:
    """One entry of `resource_changes`; `more` goes into its `change`."""
    parts = address.split(".")
    kind = next(part for part in parts if part.startswith(("aws_", "terraform_")))
    inner: dict[str, Json] = {"actions": list(actions), "before": before, "after": after, **more}
    return {"address": address, "mode": "managed", "type": kind, "name": parts[-1], "change": inner}


def resource(address: str, values: Mapping[str, Json]) -> dict[str, Json]:
    """One entry of the resources in `planned_values`."""
    kind = next(part for part in address.split(".") if part.startswith("aws_"))
    return {"address": address, "type": kind, "values": values}


def plan_bytes(
    *changes: Mapping[str, Json],
    outputs: Mapping[str, Json] | None = None,
    planned: Sequence[Mapping[str, Json]] = (),
) -> bytes:
    """The whole document; `planned` stands in a module below the root."""
    modules = [{"resources": list(planned)}]
    document: dict[str, Json] = {
        "format_version": "1.2",
        "terraform_version": "1.11.4",
        "resource_changes": list(changes),
        "output_changes": outputs or {},
        "planned_values": {"root_module": {"resources": [], "child_modules": modules}},
        "something_new": {"of": "a later minor version"},
    }
    return json.dumps(document).encode()


def group(count: Json, **more: Json) -> dict[str, Json]:
    """The values of a node group with so many nodes."""
    return {"scaling_config": [{"desired_size": count, "max_size": 2, "min_size": 0}], **more}
