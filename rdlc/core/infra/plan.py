"""A plan of Terraform as values: what it would change, and what stands there afterwards."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from rdlc.core.canonical import Json
from rdlc.core.document import Document
from rdlc.core.fields import Fields
from rdlc.core.infra.attributes import AttributeChange, Sides, changed_attributes
from rdlc.core.text import one_line
from rdlc.errors import InputError

LIMIT_BYTES = 256 << 20
_NAME = "the plan of Terraform"
_FORMAT = re.compile(r"1\.[0-9]{1,4}")
_DEPTH_LIMIT = 16
_QUIET = ("no-op", "read")
# Losing one of these ends what runs on it.
_BEARING = ("aws_eks_cluster", "aws_eks_node_group", "aws_launch_template", "aws_vpc", "aws_subnet")
# An update to Terraform, and to EKS a reason to replace every node of the group.
_ROLLING = ("release_version", "version", "launch_template[0].version", "launch_template[0].id")


@dataclass(frozen=True, kw_only=True, slots=True)
class ResourceChange:
    """One resource that would change.

    `action` is create, update, delete, replace or forget. `because` are the attributes that force a
    replacement, `reason` the word of Terraform for it.
    """

    address: str
    kind: str
    action: str
    attributes: tuple[AttributeChange, ...] = ()
    because: tuple[str, ...] = ()
    reason: str = ""

    @property
    def is_destructive(self) -> bool:
        """Whether what stands there now is lost."""
        return self.action in {"delete", "replace"}

    @property
    def ends_runs(self) -> bool:
        """Whether it takes nodes, the cluster or the network from under a run."""
        return (self.is_destructive and self.kind in _BEARING) or self.rolls_nodes

    @property
    def rolls_nodes(self) -> bool:
        """Whether every node of a group is replaced though the group stays."""
        changed = {attribute.path for attribute in self.attributes}
        is_update = self.kind == "aws_eks_node_group" and self.action == "update"
        return is_update and not changed.isdisjoint(_ROLLING)


@dataclass(frozen=True, kw_only=True, slots=True)
class PlannedResource:
    """One resource as it is to stand there; `values` lacks what is known after apply only."""

    address: str
    kind: str
    values: Mapping[str, Json]


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """What a plan changes, in the order of the addresses, and all that stands there afterwards."""

    changes: tuple[ResourceChange, ...]
    outputs: tuple[str, ...]
    planned: tuple[PlannedResource, ...]

    @property
    def is_empty(self) -> bool:
        """Whether nothing at all would change."""
        return not self.changes and not self.outputs

    def count(self, *actions: str) -> int:
        """How many resources have one of these actions."""
        return sum(change.action in actions for change in self.changes)

    @property
    def run_endings(self) -> tuple[ResourceChange, ...]:
        """The changes that no run survives."""
        return tuple(change for change in self.changes if change.ends_runs)


NOTHING = Plan(changes=(), outputs=(), planned=())


def read_plan(data: bytes) -> Plan:
    """The plan in the output of `terraform show -json`; raises InputError for anything else."""
    fields = Fields.of(_parse(data))
    version = fields.text("format_version")
    if not _FORMAT.fullmatch(version):
        raise fields.error("format_version", f"must be 1.x, not `{one_line(version)}`", "`pip install --upgrade rdlc`")
    changes = [_read_change(item) for item in fields.each("resource_changes")]
    return Plan(
        changes=tuple(sorted((item for item in changes if item), key=lambda item: item.address)),
        outputs=_changed_outputs(fields),
        planned=tuple(sorted(_planned(fields), key=lambda item: item.address)),
    )


def _parse(data: bytes) -> Document:
    if len(data) > LIMIT_BYTES:
        raise InputError(f"is larger than {LIMIT_BYTES >> 20} MiB", file=_NAME)
    try:
        # Numbers with a point stay the text that was given: 1.0 and 1 are the same attribute in two forms.
        value = json.loads(data, parse_float=_number, parse_constant=str)
    except (ValueError, RecursionError) as error:
        raise InputError("is not JSON", file=_NAME) from error
    return Document(name=_NAME, value=value, lines={})


def _number(text: str) -> int | str:
    whole, _, rest = text.partition(".")
    return int(whole) if rest and not rest.strip("0") and len(whole) < 20 else text


def _read_change(fields: Fields) -> ResourceChange | None:
    """The change; None for what stays as it is, and for a data source."""
    change = fields.below("change")
    action = _action(change)
    if action in _QUIET or (fields.has("mode") and fields.text("mode") != "managed"):
        return None
    sides = Sides(
        before=change.values.get("before"),
        after=change.values.get("after"),
        unknown=change.values.get("after_unknown", False),
        sensitive=_either(change.values.get("before_sensitive"), change.values.get("after_sensitive")),
    )
    return ResourceChange(
        address=one_line(fields.text("address"), limit=400),
        kind=one_line(fields.text("type")),
        action=action,
        attributes=changed_attributes(sides) if action in {"update", "replace"} else (),
        because=tuple(_path(item) for item in change.items("replace_paths")),
        reason=one_line(fields.text("action_reason")) if fields.has("action_reason") else "",
    )


def _action(change: Fields) -> str:
    actions = change.texts("actions")
    if len(actions) == 2 and set(actions) == {"create", "delete"}:
        return "replace"
    if len(actions) != 1:
        raise change.error("actions", "must be one action, or `create` and `delete`")
    return one_line(actions[0])


def _either(one: Json, other: Json) -> Json:
    """What is sensitive before or after; where the two tell differently in form, all of it is."""
    if one is True or other is True:
        return True
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return {key: _either(one.get(key), other.get(key)) for key in one.keys() | other.keys()}
    if isinstance(one, list) and isinstance(other, list):
        return [_either(*pair) for pair in zip_longest(one, other, fillvalue=False)]
    return one or other or False


def _path(value: Json) -> str:
    if not isinstance(value, list):
        return one_line(str(value))
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in value)
    return one_line(text.removeprefix("."))


def _changed_outputs(fields: Fields) -> tuple[str, ...]:
    outputs = fields.below("output_changes", default={})
    return tuple(sorted(one_line(name) for name in outputs.names() if _action(outputs.below(name)) not in _QUIET))


def _planned(fields: Fields) -> Iterator[PlannedResource]:
    values = fields.below("planned_values", default={})
    yield from _module(values.below("root_module", default={}), 0)


def _module(fields: Fields, depth: int) -> Iterator[PlannedResource]:
    if depth > _DEPTH_LIMIT:
        raise fields.error("child_modules", f"nests deeper than {_DEPTH_LIMIT} levels")
    for resource in fields.each("resources"):
        yield PlannedResource(
            address=one_line(resource.text("address"), limit=400),
            kind=one_line(resource.text("type")),
            values=resource.below("values", default={}).values,
        )
    for module in fields.each("child_modules"):
        yield from _module(module, depth + 1)


def walk_value(value: Json, *path: str) -> Json:
    """What stands below a value at that path; the first item of a list counts as the list's block."""
    for key in path:
        if isinstance(value, Sequence) and not isinstance(value, str):
            value = value[0] if value else None
        value = value.get(key) if isinstance(value, Mapping) else None
    return value
