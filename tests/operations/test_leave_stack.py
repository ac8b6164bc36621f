"""Destroy, scale down, keep."""

from dataclasses import replace

import pytest

from rdlc.core.infra.prices import read_prices
from rdlc.core.infra.steps import Caller, Leftover
from rdlc.errors import InputError, Interrupted, RdlcError
from rdlc.operations.destroy import LeaveRequest, leave_stack
from tests.core.infra.plans import NODES, change, group, plan_bytes
from tests.core.infra.stacks import ORDER, RECORD
from tests.operations.fake_stacks import NOW, FakeWorld, ended

DELETE = plan_bytes(change("aws_vpc.main", "delete", before={}))
REST = plan_bytes(change(NODES, "update", before=group(2), after=group(0)), outputs={"gpu": {"actions": ["update"]}})
SCALABLE = replace(ORDER, variables={**ORDER.variables, "gpu_count_at_rest": None})
VOLUME = Leftover(kind="ec2 volume", name="vol-1")


def world_with(plan: bytes | None, **more: object) -> FakeWorld:
    world = FakeWorld(plan=plan, record=RECORD, kept=[SCALABLE], resources=())
    for name, value in more.items():
        setattr(world, name, value)
    return world


def request(after: str, given: str = "seed") -> LeaveRequest:
    return LeaveRequest(given=given, after=after, prices=read_prices(()), tool="rdlc 1")


def test_destroying_shows_asks_destroys_and_records() -> None:
    world = world_with(DELETE, leftovers=(VOLUME,))

    result = leave_stack(request("destroy"), world.tools())

    assert result is not None
    assert result.record == replace(
        RECORD, status="destroyed", tool="rdlc 1", changed=NOW, resources=0, outputs={"cluster_name": "seed"}
    )
    assert [record.status for record in world.written] == ["destroying", "destroyed"]
    assert world.asked[0].leftovers == result.proposal.leftovers == (VOLUME,)
    assert world.said == ["held for rdlc destroy", "init", "plan", "show", "destroy", "released"]


def test_without_a_yes_nothing_is_destroyed() -> None:
    world = world_with(DELETE, is_agreed=False)

    result = leave_stack(request("destroy"), world.tools())

    assert result is not None
    assert (result.status, world.written) == ("declined", [])


def test_a_stack_of_which_nothing_is_left_is_destroyed_without_a_question() -> None:
    world = world_with(None, record=replace(RECORD, status="destroying"))

    result = leave_stack(request("destroy"), world.tools())

    assert result is not None
    assert (result.status, [record.status for record in world.written]) == ("destroyed", ["destroyed"])
    assert (world.asked, "destroy" in world.said) == ([], False)


def test_an_interrupted_destroy_can_go_on() -> None:
    world = world_with(DELETE, ends={"destroy": ended(1, is_stopped=True)}, resources=("a",))

    with pytest.raises(Interrupted):
        leave_stack(request("destroy"), world.tools())
    assert (world.written[-1].status, world.written[-1].resources) == ("incomplete", 1)

    world.ends, world.resources = {}, ()
    result = leave_stack(request("destroy"), world.tools())

    assert result is not None
    assert result.record is not None
    assert result.record.status == "destroyed"


@pytest.mark.parametrize("after", ["destroy", "scale-down"])
def test_credentials_of_another_account_are_refused_before_anything(after: str) -> None:
    world = world_with(DELETE, caller=Caller(account="210987654321", arn="arn:x", endpoints={}))

    with pytest.raises(RdlcError) as caught:
        leave_stack(request(after), world.tools())

    assert caught.value.message == (
        "stack `seed/123456789012/us-east-2` is in account `123456789012`, and the AWS credentials are for "
        "`210987654321`"
    )
    assert world.said == []


def test_an_unknown_stack_is_refused() -> None:
    with pytest.raises(InputError):
        leave_stack(request("destroy", "sead"), world_with(DELETE).tools())


def test_keeping_a_stack_looks_at_nothing() -> None:
    world = world_with(DELETE)

    assert leave_stack(request("keep"), world.tools()) is None
    assert world.said == []


def test_scaling_down_plans_without_gpu_nodes_and_keeps_the_order_that_was_applied() -> None:
    world = world_with(REST)

    result = leave_stack(request("scale-down"), world.tools())

    assert result is not None
    assert result.record is not None
    assert (result.status, result.record.status, result.record.gpu_nodes) == ("scaled-down", "applied", "scaled-down")
    assert result.record.order_digest == RECORD.order_digest
    assert world.opened[0][0].variables["gpu_count_at_rest"] == 0
    assert (len(world.asked), world.kept) == (1, [SCALABLE])


def test_scaling_down_twice_asks_once() -> None:
    world = world_with(None)

    result = leave_stack(request("scale-down"), world.tools())

    assert result is not None
    assert (result.status, world.asked, "apply" in world.said) == ("scaled-down", [], False)


def test_scaling_down_touches_nothing_else() -> None:
    other = change("aws_vpc.main", "update", before={"n": 1}, after={"n": 2})
    world = world_with(plan_bytes(change(NODES, "update", before=group(2), after=group(0)), other))

    with pytest.raises(RdlcError) as caught:
        leave_stack(request("scale-down"), world.tools())

    assert caught.value.message == "the stack is not as it was applied: `aws_vpc.main` would be changed, too"
    assert world.written == []


def test_a_root_without_the_variable_cannot_be_scaled_down() -> None:
    with pytest.raises(RdlcError) as caught:
        leave_stack(request("scale-down"), world_with(REST, kept=[ORDER]).tools())

    assert caught.value.message == ("this stack cannot be scaled down: its root has no variable `gpu_count_at_rest`")
