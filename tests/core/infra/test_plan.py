"""What a plan of Terraform would change."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdlc.core.infra.attributes import HIDDEN, AttributeChange
from rdlc.core.infra.plan import Plan, PlannedResource, ResourceChange, read_plan
from rdlc.errors import InputError
from tests.core.infra.plans import NODES, change, group, plan_bytes, resource


def test_a_plan_without_changes_is_empty() -> None:
    data = plan_bytes(
        change("aws_vpc.main", "no-op", before={"a": 1}, after={"a": 1}), outputs={"x": {"actions": ["no-op"]}}
    )

    plan = read_plan(data)

    assert plan == Plan(changes=(), outputs=(), planned=())
    assert plan.is_empty


def test_an_update_tells_each_attribute_with_both_values() -> None:
    data = plan_bytes(change(NODES, "update", before=group(3, version="1.34"), after=group(2, version="1.35")))

    (found,) = read_plan(data).changes

    assert found == ResourceChange(
        address=NODES,
        kind="aws_eks_node_group",
        action="update",
        attributes=(
            AttributeChange(path="scaling_config[0].desired_size", seen="3", locked="2"),
            AttributeChange(path="version", seen="1.34", locked="1.35"),
        ),
    )


@pytest.mark.parametrize("actions", [("create", "delete"), ("delete", "create")])
def test_a_replacement_tells_what_forces_it(actions: tuple[str, str]) -> None:
    data = plan_bytes(
        change(
            NODES,
            *actions,
            before={"name": "a", "arn": "x"},
            after={"name": "b"},
            after_unknown={"arn": True},
            replace_paths=[["name"], ["scaling_config", 0, "x"]],
        )
    )

    (found,) = read_plan(data).changes

    assert (found.action, found.because) == ("replace", ("name", "scaling_config[0].x"))
    assert found.attributes == (AttributeChange(path="name", seen="a", locked="b"),)
    assert found.is_destructive
    assert found.ends_runs


def test_changes_stand_in_the_order_of_their_addresses_and_data_sources_are_none() -> None:
    read = {**change("aws_vpc.d", "create"), "mode": "data"}
    data = plan_bytes(change("aws_vpc.b", "create"), read, change("aws_vpc.a", "delete", before={}))

    plan = read_plan(data)

    assert [(item.address, item.action) for item in plan.changes] == [("aws_vpc.a", "delete"), ("aws_vpc.b", "create")]
    assert (plan.count("create"), plan.count("delete"), plan.count("update", "replace")) == (1, 1, 0)


@pytest.mark.parametrize("path", ["release_version", "version"])
def test_a_new_release_rolls_every_node_though_terraform_calls_it_an_update(path: str) -> None:
    (found,) = read_plan(plan_bytes(change(NODES, "update", before={path: "1"}, after={path: "2"}))).changes

    assert found.rolls_nodes
    assert found.ends_runs
    assert not found.is_destructive


def test_a_new_launch_template_version_rolls_every_node() -> None:
    before, after = ({"launch_template": [{"id": "lt-1", "version": version}]} for version in ("1", "2"))

    (found,) = read_plan(plan_bytes(change(NODES, "update", before=before, after=after))).changes

    assert found.rolls_nodes


def test_a_scaled_group_ends_no_run_by_itself() -> None:
    plan = read_plan(plan_bytes(change(NODES, "update", before=group(3), after=group(2))))

    assert plan.run_endings == ()


def test_what_is_planned_is_found_in_every_module() -> None:
    data = plan_bytes(planned=[resource("module.a.aws_eip.b", {"x": 1}), resource("module.a.aws_eip.a", {})])

    assert read_plan(data).planned == (
        PlannedResource(address="module.a.aws_eip.a", kind="aws_eip", values={}),
        PlannedResource(address="module.a.aws_eip.b", kind="aws_eip", values={"x": 1}),
    )


def test_a_number_in_two_forms_is_no_difference() -> None:
    data = plan_bytes(change("aws_vpc.a", "update", before={"n": 1}, after={"n": 1})).replace(
        b'"after": {"n": 1}', b'"after": {"n": 1.0}'
    )

    assert read_plan(data).changes[0].attributes == ()


def test_a_sensitive_value_is_never_shown() -> None:
    data = plan_bytes(
        change("aws_vpc.a", "update", before={"key": "old"}, after={"key": "new"}, after_sensitive={"key": True})
    )

    assert read_plan(data).changes[0].attributes == (AttributeChange(path="key", seen=HIDDEN, locked=HIDDEN),)


def test_outputs_alone_are_no_change_of_a_resource_but_the_plan_is_not_empty() -> None:
    plan = read_plan(plan_bytes(outputs={"name": {"actions": ["update"]}}))

    assert (plan.changes, plan.outputs, plan.is_empty) == ((), ("name",), False)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is not JSON"),
        (b"[]", "must be a mapping of `key: value` lines, not a list"),
        (b"{}", "is missing"),
        (b'{"format_version": "2.0"}', "must be 1.x, not `2.0`"),
        (plan_bytes(change("aws_vpc.a", "create", "update")), "must be one action, or `create` and `delete`"),
    ],
)
def test_what_is_no_plan_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_plan(data)

    assert caught.value.message == message


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=5), below, max_size=3),
    max_leaves=10,
)


@given(json_values, json_values, json_values, json_values)
def test_any_values_give_attributes_or_an_input_error(
    before: object, after: object, mark: object, hidden: object
) -> None:
    inner = {"actions": ["update"], "before": before, "after": after, "after_unknown": mark, "after_sensitive": hidden}
    item = {"address": "aws_vpc.a", "type": "aws_vpc", "change": inner}
    data = json.dumps({"format_version": "1.2", "resource_changes": [item]}).encode()

    (found,) = read_plan(data).changes

    assert [attribute.path for attribute in found.attributes] == sorted(item.path for item in found.attributes)


@given(json_values)
def test_any_document_is_a_plan_or_an_input_error(value: object) -> None:
    data = json.dumps({"format_version": "1.2", "resource_changes": value, "planned_values": value}).encode()

    try:
        read_plan(data)
    except InputError:
        return
