"""Where a stack differs from what its lock asks for, attribute by attribute."""

from collections.abc import Iterator
from dataclasses import dataclass

from rdlc.core.infra.attributes import ABSENT
from rdlc.core.infra.plan import Plan, ResourceChange
from rdlc.core.record import Drift

THERE = "there"
# Terraform's words for a replacement that no attribute explains.
_REASONS = {
    "replace_because_tainted": "half made: it will be made anew",
    "replace_by_request": "to be made anew, as was asked",
    "replace_by_triggers": "to be made anew with what it depends on",
}
# What a group at rest differs by: not drift, since rdlc scaled it down itself.
_SCALE = ("scaling_config[0].desired_size", "scaling_config[0].min_size")


@dataclass(frozen=True, kw_only=True, slots=True)
class InfraDrift:
    """What differs, and whether the GPU nodes only rest (`is_resting`), which is no drift."""

    items: tuple[Drift, ...]
    is_resting: bool


def find_infra_drift(plan: Plan, *, gpu_nodes: str) -> InfraDrift:
    """What a plan tells of the world: each attribute with the locked value and the one that is there.

    `gpu_nodes` is what the stack's record says: after `scaled-down` a group without nodes is no drift.
    """
    items: list[Drift] = []
    is_resting = False
    for change in plan.changes:
        if gpu_nodes == "scaled-down" and _only_rests(change):
            is_resting = True
        else:
            items.extend(_items(change))
    return InfraDrift(items=tuple(items), is_resting=is_resting)


def _only_rests(change: ResourceChange) -> bool:
    is_group = change.kind == "aws_eks_node_group" and change.action == "update"
    paths = {attribute.path for attribute in change.attributes}
    seen = {attribute.seen for attribute in change.attributes}
    return is_group and bool(paths) and paths <= set(_SCALE) and seen == {"0"}


def _items(change: ResourceChange) -> Iterator[Drift]:
    if change.action in {"create", "delete", "forget"}:
        is_missing = change.action == "create"
        yield Drift(
            section="infra",
            address=change.address,
            locked=THERE if is_missing else ABSENT,
            found=ABSENT if is_missing else THERE,
        )
    elif not change.attributes:
        yield Drift(section="infra", address=change.address, locked="whole", found=_reason(change))
    for attribute in change.attributes:
        address = f"{change.address}: {attribute.path}"
        yield Drift(section="infra", address=address, locked=attribute.locked, found=attribute.seen)


def _reason(change: ResourceChange) -> str:
    return _REASONS.get(change.reason, change.reason or change.action)
