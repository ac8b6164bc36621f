"""What apply refuses, before anything is touched."""

from dataclasses import replace

import pytest

from rdlc.core.infra.events import Diagnostic
from rdlc.core.infra.order import substitute
from rdlc.core.infra.stack import StackRecord
from rdlc.core.infra.steps import Caller, StepEnd
from rdlc.errors import InputError, Interrupted, OutsideError, RdlcError
from tests.core.infra.plans import NODES, change, plan_bytes
from tests.core.infra.stacks import ORDER, RECORD
from tests.operations.fake_stacks import FakeWorld, ended
from tests.operations.test_apply_stack import CREATE, SCALED, STAND_IN, apply


@pytest.mark.parametrize("end", [ended(1, is_stopped=True), ended(2, is_stopped=True)])
def test_a_plan_that_was_interrupted_is_never_applied(end: StepEnd) -> None:
    world = FakeWorld(plan=CREATE, ends={"plan": end})

    with pytest.raises(Interrupted) as caught:
        apply(world)

    assert caught.value.message == "interrupted: Terraform ended its `plan` in order; nothing was changed"
    assert (world.written, world.kept) == ([], [])


def test_a_provider_that_is_not_the_locked_one_stops_before_any_plan() -> None:
    error = Diagnostic(severity="error", summary="the package doesn't match any of the checksums")
    world = FakeWorld(plan=CREATE, ends={"init": ended(1, error)})

    with pytest.raises(RdlcError) as caught:
        apply(world)

    assert caught.value.message.startswith("the provider here is not the one that is locked: ")
    assert "plan" not in world.said


def test_throttling_is_the_outsides_fault() -> None:
    world = FakeWorld(plan=CREATE, ends={"plan": ended(1, Diagnostic(severity="error", summary="Throttling: slow"))})

    with pytest.raises(OutsideError):
        apply(world)


def test_a_defect_while_recording_leaves_an_incomplete_record() -> None:
    world = FakeWorld(plan=CREATE, outputs=b"not JSON")

    with pytest.raises(InputError):
        apply(world)

    assert (world.written[-1].status, world.written[-1].reason) == ("incomplete", "is not JSON")


def test_another_account_than_the_bound_one_is_refused_before_anything() -> None:
    world = FakeWorld(plan=CREATE)
    order = replace(ORDER, variables={**ORDER.variables, "account_id": "210987654321"})

    with pytest.raises(RdlcError) as caught:
        apply(world, order=order)

    assert caught.value.message == (
        "the stack belongs into account `210987654321`, and the AWS credentials are for `123456789012`"
    )
    assert world.said == []


@pytest.mark.parametrize(
    ("then", "now", "message"),
    [
        (
            STAND_IN,
            {},
            "this stack was made in `http://127.0.0.1:5000` in the place of AWS, and now AWS itself would be asked",
        ),
        (
            {},
            STAND_IN,
            "this stack was made in AWS itself, and now `http://127.0.0.1:5000` in the place of AWS would be asked",
        ),
    ],
)
def test_a_stack_of_another_world_is_refused(then: dict[str, str], now: dict[str, str], message: str) -> None:
    caller = Caller(account="123456789012", arn="arn:x", endpoints=now)
    world = FakeWorld(plan=CREATE, caller=caller, record=replace(RECORD, endpoints=then))

    with pytest.raises(RdlcError) as caught:
        apply(world)

    assert caught.value.message == message
    assert "init" not in world.said


def test_the_state_stays_where_it_was() -> None:
    world = FakeWorld(record=replace(RECORD, state="s3://team-state"))

    apply(world)
    with pytest.raises(InputError) as caught:
        apply(world, state="s3://another")

    assert world.opened[0][1] == "s3://team-state"
    assert caught.value.message == (
        "the state of this stack is in `s3://team-state`, and `--state s3://another` is another place"
    )


def test_an_older_provider_major_is_refused_before_the_plan() -> None:
    world = FakeWorld(plan=CREATE, record=replace(RECORD, providers={"example/aws": "6.2.0"}))

    with pytest.raises(RdlcError) as caught:
        apply(world)

    assert caught.value.message == (
        "the state was written by `example/aws` 6.2.0, and the lock has 5.100.0: there is no way back"
    )
    assert "plan" not in world.said


NODES_MADE = plan_bytes(change(NODES, "create", after={}))
PINNED = replace(
    ORDER,
    variables={
        "region": "us-east-2",
        "kubernetes_version": "1.35",
        "gpu_ami_type": "AL2023_x86_64_NVIDIA",
        "gpu_release_version": "1.35.0-20261101",
    },
)


OFFERED = ("1.35.0-20261120", "1.35.0-20261001", "1.34.1-20261101")


def test_a_release_that_is_gone_is_refused_with_the_nearest_that_is_offered() -> None:
    world = FakeWorld(plan=NODES_MADE, offered=OFFERED)

    with pytest.raises(RdlcError) as caught:
        apply(world, order=PINNED)

    assert caught.value.message == (
        "`gpu_release_version`: `1.35.0-20261101` is not offered any more; "
        "the nearest that is offered is `1.35.0-20261120`"
    )
    assert caught.value.hint == (
        "`--substitute infra.gpu_release_version=1.35.0-20261120 --reason ...` goes on with that one"
    )
    assert (world.asked, world.written) == ([], [])


@pytest.mark.parametrize(("record", "status"), [(None, "withdrawn"), (RECORD, "would-change")])
def test_looking_tells_a_release_that_is_gone_beside_all_that_would_change(
    record: StackRecord | None, status: str
) -> None:
    result = apply(FakeWorld(plan=NODES_MADE, offered=OFFERED, record=record), order=PINNED, is_plan_only=True)

    gone = [(check.address, check.locked, check.nearest) for check in result.proposal.withdrawn]
    assert (result.status, gone) == (status, [("gpu_release_version", "1.35.0-20261101", "1.35.0-20261120")])
    assert [change.address for change in result.proposal.plan.changes] == [NODES]


def test_a_substitute_goes_on_and_is_recorded_as_a_deviation() -> None:
    world = FakeWorld(plan=NODES_MADE, offered=("1.35.0-20261120",))
    order = substitute(PINNED, {"infra.gpu_release_version": "1.35.0-20261120"}, reason="withdrawn")

    result = apply(world, order=order)

    assert result.record is not None
    assert (result.status, result.record.deviations, result.proposal.unchecked) == ("applied", order.deviations, "")


@pytest.mark.parametrize(
    ("offered", "why"),
    [
        (None, "there are no AWS credentials here"),
        (("down",), "AWS gave no answer"),
        ((), "AWS lists nothing like `gpu_release_version`"),
    ],
)
def test_what_aws_does_not_tell_is_shown_and_no_refusal(offered: tuple[str, ...] | None, why: str) -> None:
    result = apply(FakeWorld(plan=NODES_MADE, offered=offered), order=PINNED)

    assert (result.status, result.proposal.unchecked) == ("applied", why)


def test_a_plan_that_takes_no_version_asks_for_none() -> None:
    world = FakeWorld(plan=SCALED, record=RECORD, offered=())

    apply(world, order=PINNED)

    assert [step for step in world.said if step.startswith("asked")] == []
