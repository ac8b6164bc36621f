"""What Terraform would change in a stack, and so where the world differs from the lock.

Apply, destroy, and whatever else has to know whether a stack is as locked, plan through here.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from rdlc.core.infra.drift import find_infra_drift
from rdlc.core.infra.failures import explain_failure
from rdlc.core.infra.order import InfraOrder
from rdlc.core.infra.plan import NOTHING, read_plan
from rdlc.core.infra.price_table import Price
from rdlc.core.infra.prices import estimate_price
from rdlc.core.infra.selection import older_providers
from rdlc.core.infra.stack import LOCAL_STATE, StackKey, StackRecord
from rdlc.core.infra.steps import Caller, Selection, StepEnd
from rdlc.core.text import one_line
from rdlc.errors import InputError, Interrupted, RdlcError
from rdlc.operations.stack_ports import Proposal, Stack, Tools, Work

ACCOUNT_VARIABLE = "account_id"
_ON_FROM_THERE = {
    "apply": "`rdlc apply LOCK` goes on from there, `rdlc destroy STACK` takes it away",
    "destroy": "`rdlc destroy STACK` goes on from there",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class StackQuestion:
    """What to plan: an order, whether all of it goes, where its state is (None: where it was), and prices."""

    order: InfraOrder
    is_destroy: bool = False
    state: str | None = None
    prices: Mapping[str, Price]


@dataclass(frozen=True, kw_only=True, slots=True)
class Planned:
    """A proposal, and the work copy in which its plan is kept."""

    proposal: Proposal
    work: Work
    selection: Selection
    state: str


def identify(order: InfraOrder, tools: Tools) -> tuple[StackKey, Caller]:
    """The stack that an order is for with the credentials of now; raises RdlcError for a wrong account."""
    caller = tools.cloud.caller(order.region)
    wanted = order.variables.get(ACCOUNT_VARIABLE)
    if wanted is not None and wanted != caller.account:
        raise RdlcError(
            f"the stack belongs into account `{wanted}`, and the AWS credentials are for `{caller.account}`",
            hint="`AWS_PROFILE` chooses others, `--bind FILE` another account",
        )
    return StackKey(name=order.name, account=caller.account, region=order.region), caller


def plan_stack(question: StackQuestion, stack: Stack, *, key: StackKey, caller: Caller, tools: Tools) -> Planned:
    """Plans, and says what would change and what differs from what was locked and applied.

    Raises RdlcError for a stack that was made elsewhere or by a newer provider, and every failure of
    Terraform as its one message.
    """
    record, order = stack.read(), question.order
    if record is not None:
        _refuse_other_world(record, caller)
    state = _state(record, question)
    work = stack.open(order, state=state, is_stand_in=bool(caller.endpoints))
    settle_step(work.init(tools.listener), step="init")
    selection = work.selection()
    if record is not None:
        _refuse_older_provider(record, selection)
    end = work.plan(tools.listener, is_destroy=question.is_destroy)
    settle_step(end, step="plan", allowed=(0, 2))
    # Showing a plan starts the provider once more: not where Terraform already said that nothing changes.
    plan = read_plan(work.show_plan()) if end.exit_status == 2 or record is None else NOTHING
    drift = find_infra_drift(plan, gpu_nodes=record.gpu_nodes if record else "running")
    is_compared = record is not None and record.status != "destroyed" and not question.is_destroy
    proposal = Proposal(
        key=key,
        is_destroy=question.is_destroy,
        plan=plan,
        price=estimate_price(plan.planned, region=order.region, given=question.prices),
        record=record,
        caller=caller,
        drift=drift.items if is_compared else (),
        is_resting=drift.is_resting,
    )
    return Planned(proposal=proposal, work=work, selection=selection, state=state)


def settle_step(end: StepEnd, *, step: str, allowed: tuple[int, ...] = (0,)) -> None:
    """Nothing for a step that succeeded; raises Interrupted for one that was stopped, else what it means."""
    is_preparing = step in {"init", "plan"}
    _refuse_ignored(end)
    # What was all done when the signal came is done; but a plan is no reason to go on then.
    if end.exit_status in allowed and not (end.is_stopped and is_preparing):
        return
    if end.is_stopped:
        ended = f"interrupted: Terraform ended its `{step}` in order"
        if is_preparing:
            raise Interrupted(f"{ended}; nothing was changed")
        hint = _ON_FROM_THERE.get(step)
        raise Interrupted(f"{ended}; its state says how far it came", hint=hint)
    raise explain_failure(end.diagnostics, step=step, printed=end.printed)


def _refuse_ignored(end: StepEnd) -> None:
    """Raises InputError for a value that Terraform would leave aside: to it that is only a warning."""
    for diagnostic in end.diagnostics:
        if diagnostic.severity != "error" and "undeclared variable" in diagnostic.summary:
            raise InputError(f"Terraform would ignore a value: {one_line(diagnostic.detail, limit=300)}")


def _state(record: StackRecord | None, question: StackQuestion) -> str:
    if record is None or record.status == "destroyed":
        return question.state or LOCAL_STATE
    if question.state is not None and question.state != record.state:
        raise InputError(
            f"the state of this stack is in `{record.state}`, and `--state {question.state}` is another place",
            hint="leave `--state` away, or `rdlc destroy` the stack first",
        )
    return record.state


def _refuse_other_world(record: StackRecord, caller: Caller) -> None:
    if record.status == "destroyed" or dict(record.endpoints) == dict(caller.endpoints):
        return
    raise RdlcError(
        f"this stack was made in {_world(record.endpoints)}, and now {_world(caller.endpoints)} would be asked",
        hint="set or unset `AWS_ENDPOINT_URL` as it was then",
    )


def _world(endpoints: Mapping[str, str]) -> str:
    if not endpoints:
        return "AWS itself"
    return " and ".join(f"`{url}`" for url in sorted(set(endpoints.values()))) + " in the place of AWS"


def _refuse_older_provider(record: StackRecord, selection: Selection) -> None:
    for name, now, then in older_providers(selection, dict(record.providers)):
        raise RdlcError(
            f"the state was written by `{name}` {then}, and the lock has {now}: there is no way back",
            hint="take the newer version into the lock: `rdlc lock SPEC --upgrade infra`",
        )
