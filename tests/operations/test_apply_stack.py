"""Apply: plan, a yes, exactly that plan, and a record whatever happens."""

from dataclasses import replace

import pytest

from rdlc.core.infra.events import Diagnostic
from rdlc.core.infra.order import InfraOrder
from rdlc.core.infra.prices import read_prices
from rdlc.core.infra.stack import StackRecord
from rdlc.core.infra.steps import Caller
from rdlc.errors import Interrupted, RdlcError
from rdlc.operations.apply import ApplyRequest, StackResult, apply_stack
from tests.core.infra.plans import NODES, change, group, plan_bytes, resource
from tests.core.infra.stacks import ORDER, RECORD
from tests.operations.fake_stacks import NOW, FakeWorld, ended

CREATE = plan_bytes(change("aws_vpc.main", "create", after={}), planned=[resource("aws_nat_gateway.main", {})])
SCALED = plan_bytes(change(NODES, "update", before=group(3), after=group(2)))
RESTING = plan_bytes(change(NODES, "update", before=group(0), after=group(2)))
STAND_IN = {"AWS_ENDPOINT_URL": "http://127.0.0.1:5000"}


def apply(
    world: FakeWorld, *, order: InfraOrder = ORDER, is_plan_only: bool = False, state: str | None = None
) -> StackResult:
    request = ApplyRequest(order=order, is_plan_only=is_plan_only, state=state, prices=read_prices(()), tool="rdlc 1")
    return apply_stack(request, world.tools())


def test_a_first_apply_shows_asks_applies_and_records() -> None:
    world = FakeWorld(plan=CREATE)

    result = apply(world)

    wanted = replace(
        RECORD,
        tool="rdlc 1",
        created=NOW,
        changed=NOW,
        outputs={"cluster_name": "seed"},
        usd_per_h="0.045",
        price_note="AWS list price, as of 2026-06",
    )
    assert (result.status, result.record) == ("applied", wanted)
    assert [record.status for record in world.written] == ["applying", "applied"]
    assert world.said == ["held for rdlc apply", "init", "plan", "show", "apply", "released"]
    assert (world.kept, len(world.asked)) == ([ORDER], 1)


def test_without_a_yes_nothing_is_touched() -> None:
    world = FakeWorld(plan=CREATE, is_agreed=False)

    result = apply(world)

    assert (result.status, result.record, world.written, world.kept) == ("declined", None, [], [])
    assert "apply" not in world.said


def test_a_second_apply_changes_nothing_and_does_not_even_show_the_plan() -> None:
    world = FakeWorld(record=RECORD)

    result = apply(world)

    assert (result.status, result.record) == ("unchanged", RECORD)
    assert (world.written, world.asked) == ([], [])
    assert world.said == ["held for rdlc apply", "init", "plan", "released"]


def test_another_lock_that_makes_the_same_is_recorded() -> None:
    world = FakeWorld(record=RECORD)
    order = replace(ORDER, lock_id="sha256:" + "1" * 64)

    result = apply(world, order=order)

    assert (result.status, [record.lock_id for record in world.written]) == ("unchanged", [order.lock_id])


def test_an_apply_that_was_cut_off_and_has_nothing_left_to_do_is_applied_now() -> None:
    world = FakeWorld(record=replace(RECORD, status="applying"))

    result = apply(world)

    assert result.status == "unchanged"
    assert [record.status for record in world.written] == ["applied"]


def test_looking_at_nothing_tells_what_would_be_made_and_writes_nothing() -> None:
    world = FakeWorld(plan=CREATE)

    result = apply(world, is_plan_only=True)

    assert (result.status, world.written, world.kept, world.asked) == ("planned", [], [], [])
    assert result.proposal.drift == ()


def test_looking_at_a_stack_that_moved_tells_the_drift() -> None:
    world = FakeWorld(plan=SCALED, record=RECORD)

    result = apply(world, is_plan_only=True)

    (item,) = result.proposal.drift
    assert (result.status, world.written) == ("drifted", [])
    assert (item.address, item.locked, item.found) == (f"{NODES}: scaling_config[0].desired_size", "2", "3")


@pytest.mark.parametrize(
    "record",
    [replace(RECORD, order_digest="sha256:" + "1" * 64), replace(RECORD, status="incomplete")],
)
def test_looking_at_a_stack_to_which_something_else_was_applied_is_no_drift(record: StackRecord) -> None:
    assert apply(FakeWorld(plan=SCALED, record=record), is_plan_only=True).status == "would-change"


def test_a_stack_that_rdlc_scaled_down_is_as_locked() -> None:
    world = FakeWorld(plan=RESTING, record=replace(RECORD, gpu_nodes="scaled-down"))

    result = apply(world, is_plan_only=True)

    assert (result.status, result.proposal.is_resting, result.proposal.drift) == ("unchanged", True, ())


def test_drift_is_repaired_when_that_is_asked_for() -> None:
    world = FakeWorld(plan=SCALED, record=RECORD)

    result = apply(world)

    assert (result.status, len(world.asked)) == ("applied", 1)
    assert result.record is not None
    assert (result.record.created, result.record.gpu_nodes) == (RECORD.created, "running")


def test_a_destroyed_stack_starts_anew() -> None:
    old = replace(RECORD, status="destroyed", state="s3://old-bucket", created="old", endpoints=STAND_IN)
    world = FakeWorld(plan=CREATE, record=old)

    result = apply(world)

    assert result.record is not None
    assert (result.record.created, result.record.state, result.record.endpoints) == (NOW, "local", {})


def test_a_failure_is_recorded_with_its_reason_and_what_stands() -> None:
    error = Diagnostic(severity="error", summary="InsufficientInstanceCapacity: none", address=NODES)
    world = FakeWorld(plan=CREATE, ends={"apply": ended(1, error)}, resources=("a",))

    with pytest.raises(RdlcError) as caught:
        apply(world)

    last = world.written[-1]
    assert caught.value.exit_code == 1
    assert (last.status, last.resources) == ("incomplete", 1)
    assert last.reason == f"AWS has no capacity for these nodes now: `{NODES}`: InsufficientInstanceCapacity: none"
    assert world.said[-1] == "released"


def test_a_plan_that_was_stale_leaves_the_record_as_it_was() -> None:
    world = FakeWorld(
        plan=SCALED,
        record=RECORD,
        ends={"apply": ended(1, Diagnostic(severity="error", summary="Saved plan is stale"))},
    )

    with pytest.raises(RdlcError, match="nothing was applied"):
        apply(world)

    assert ([record.status for record in world.written], world.record) == (["applying", "applied"], RECORD)


def test_an_interruption_is_recorded_and_tells_how_to_go_on() -> None:
    world = FakeWorld(plan=CREATE, ends={"apply": ended(1, is_stopped=True)})

    with pytest.raises(Interrupted) as caught:
        apply(world)

    assert caught.value.hint == "`rdlc apply LOCK` goes on from there, `rdlc destroy STACK` takes it away"
    assert world.written[-1].status == "incomplete"


def test_an_apply_that_was_done_when_the_signal_came_is_done() -> None:
    world = FakeWorld(plan=CREATE, ends={"apply": ended(0, is_stopped=True)})

    assert apply(world).status == "applied"


def test_what_was_made_against_a_stand_in_is_marked_and_stays_there() -> None:
    caller = Caller(account="123456789012", arn="arn:x", endpoints=STAND_IN)
    world = FakeWorld(plan=CREATE, caller=caller)

    result = apply(world)

    assert result.record is not None
    assert (result.record.is_real, result.record.endpoints) == (False, STAND_IN)
    assert world.opened[0][2] is True
