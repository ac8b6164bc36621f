"""Apply what a lock asks for: plan, a yes, and exactly that plan."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from rdlc.core.infra.failures import tells_stale_plan
from rdlc.core.infra.order import InfraOrder
from rdlc.core.infra.outputs import read_outputs
from rdlc.core.infra.plan import ResourceChange
from rdlc.core.infra.price_table import Price
from rdlc.core.infra.prices import describe_sources
from rdlc.core.infra.stack import StackRecord
from rdlc.core.infra.steps import Caller
from rdlc.errors import OutsideError, RdlcError
from rdlc.operations.infra_drift import Planned, StackQuestion, identify, plan_stack, settle_step
from rdlc.operations.infra_offers import check_offers
from rdlc.operations.stack_ports import Proposal, Stack, Tools


@dataclass(frozen=True, kw_only=True, slots=True)
class ApplyRequest:
    """What to apply, whether only to look, where the state is (None: where it was), and given prices."""

    order: InfraOrder
    is_plan_only: bool = False
    state: str | None = None
    prices: Mapping[str, Price]
    tool: str


@dataclass(frozen=True, kw_only=True, slots=True)
class StackResult:
    """What became of it, and the stack's record as it is now; None where nothing was made.

    `planned`: it was only looked at, and nothing is there yet; `withdrawn` if nothing could be made so, since
    AWS offers a locked version no longer. `would-change`: only looked at, and another
    order is applied there. `drifted`: only looked at, and the world is not what was applied. `unchanged`:
    it is as locked. `applied`; `declined`: there was no yes. After destroy: `destroyed`, `scaled-down`.
    """

    status: str
    proposal: Proposal
    record: StackRecord | None


def apply_stack(request: ApplyRequest, tools: Tools) -> StackResult:
    """Makes the stack what the lock says, if the plan gets its yes; a stack that is so already stays untouched.

    Every failure and every interruption leaves a record from which the next apply or destroy goes on.
    """
    key, caller = identify(request.order, tools)
    with tools.stacks.hold(key, purpose="rdlc apply") as stack:
        question = StackQuestion(order=request.order, state=request.state, prices=request.prices)
        planned = plan_stack(question, stack, key=key, caller=caller, tools=tools)
        proposal = _with_offers(request.order, planned.proposal, tools)
        if request.is_plan_only:
            status = _look_status(request.order, proposal)
            return StackResult(status=status, proposal=proposal, record=proposal.record)
        if proposal.plan.is_empty:
            return _settle_unchanged(request, planned, stack, tools)
        _refuse_withdrawn(proposal)
        tools.approver.show(proposal)
        if not tools.approver.is_agreed(proposal):
            return StackResult(status="declined", proposal=proposal, record=proposal.record)
        record = _apply(request, planned, stack, tools)
        return StackResult(status="applied", proposal=proposal, record=record)


def _with_offers(order: InfraOrder, proposal: Proposal, tools: Tools) -> Proposal:
    """The proposal, once AWS was asked about each version that it would take; what it does not tell is not checked."""
    if not any(_takes_versions(change) for change in proposal.plan.changes):
        return proposal
    if reason := tools.offers.describe_missing():
        return replace(proposal, unchecked=reason)
    try:
        checks = check_offers(order.variables, tools.offers)
    except OutsideError as error:
        return replace(proposal, unchecked=error.message)
    gone = tuple(check for check in checks if not check.is_offered and check.nearest)
    silent = [f"`{check.address}`" for check in checks if not check.is_offered and not check.nearest]
    unchecked = f"AWS lists nothing like {', '.join(silent)}" if silent else ""
    return replace(proposal, unchecked=unchecked, withdrawn=gone)


def _refuse_withdrawn(proposal: Proposal) -> None:
    if proposal.withdrawn:
        first = proposal.withdrawn[0]
        raise RdlcError(
            "; ".join(check.message for check in proposal.withdrawn),
            field=f"infra.{first.address}",
            hint=f"{first.way_on} goes on with that one",
        )


def _takes_versions(change: ResourceChange) -> bool:
    is_new = change.action in {"create", "replace"} and change.kind in {"aws_eks_node_group", "aws_eks_addon"}
    return is_new or change.rolls_nodes or (change.kind == "aws_eks_addon" and change.action == "update")


def _look_status(order: InfraOrder, proposal: Proposal) -> str:
    record = proposal.record
    if record is None or record.status == "destroyed":
        return "withdrawn" if proposal.withdrawn else "planned"
    if not proposal.drift:
        return "unchanged"
    is_same = record.status == "applied" and record.order_digest == order.digest
    return "drifted" if is_same else "would-change"


def _settle_unchanged(request: ApplyRequest, planned: Planned, stack: Stack, tools: Tools) -> StackResult:
    """Nothing to change: the record is written only if it does not say so yet."""
    record, order = planned.proposal.record, request.order
    is_current = record is not None and record.status == "applied" and record.gpu_nodes == "running"
    if record is None or not is_current or record.order_digest != order.digest or record.lock_id != order.lock_id:
        stack.keep_order(order)
        record = finish_record(_begin_record(request, planned, tools), planned, stack, tools)
    return StackResult(status="unchanged", proposal=planned.proposal, record=record)


def _apply(request: ApplyRequest, planned: Planned, stack: Stack, tools: Tools) -> StackRecord:
    stack.keep_order(request.order)
    record = _begin_record(request, planned, tools)
    return carry_out(record, planned, stack, tools)


def carry_out(record: StackRecord, planned: Planned, stack: Stack, tools: Tools) -> StackRecord:
    """Applies the kept plan with the record that says so; what breaks off is recorded with its reason."""
    stack.write(record)
    is_destroy, before = planned.proposal.is_destroy, planned.proposal.record
    is_untouched = False
    try:
        end = planned.work.apply(tools.listener, is_destroy=is_destroy)
        is_untouched = tells_stale_plan(end.diagnostics)
        settle_step(end, step="destroy" if is_destroy else "apply")
        return finish_record(record, planned, stack, tools)
    except BaseException as error:
        if is_untouched and before is not None:  # nothing broke off: the stack is what it was
            stack.write(before)
            raise
        left = replace(record, status="incomplete", reason=_why(error), changed=tools.stacks.now())
        stack.write(left)
        stack.write(replace(left, resources=_count(planned, record)))
        raise


def _why(error: BaseException) -> str:
    if isinstance(error, KeyboardInterrupt):
        return "interrupted by the user"
    return error.message if isinstance(error, RdlcError) else f"a defect of rdlc: {type(error).__name__}: {error}"


def finish_record(record: StackRecord, planned: Planned, stack: Stack, tools: Tools) -> StackRecord:
    """Writes and returns the record of a stack that is as ordered: with what Terraform says of it."""
    outputs = read_outputs(planned.work.show_outputs())
    resources = planned.work.list_resources()
    finished = replace(
        record,
        status="destroyed" if planned.proposal.is_destroy else "applied",
        changed=tools.stacks.now(),
        resources=len(resources),
        outputs=outputs,
        reason="",
    )
    stack.write(finished)
    return finished


def _count(planned: Planned, record: StackRecord) -> int:
    """How many resources there are now, as far as the state tells."""
    try:
        return len(planned.work.list_resources())
    except RdlcError:
        return record.resources


def _begin_record(request: ApplyRequest, planned: Planned, tools: Tools) -> StackRecord:
    order, proposal = request.order, planned.proposal
    before = proposal.record
    is_fresh = before is None or before.status == "destroyed"
    now = tools.stacks.now()
    usd_per_h, price_note = recorded_price(proposal)
    return StackRecord(
        key=proposal.key,
        status="applying",
        lock_id=order.lock_id,
        infra_digest=order.infra_digest,
        order_digest=order.digest,
        tool=request.tool,
        terraform=planned.selection.terraform,
        providers=planned.selection.providers,
        state=planned.state,
        endpoints=_endpoints(proposal.caller),
        created=now if before is None or is_fresh else before.created,
        changed=now,
        resources=before.resources if before else 0,
        usd_per_h=usd_per_h,
        price_note=price_note,
        outputs=before.outputs if before and not is_fresh else {},
        deviations=order.deviations,
    )


def recorded_price(proposal: Proposal) -> tuple[str, str]:
    """The price of an hour and its note as a record holds them: as before where the plan tells nothing anew."""
    price, before = proposal.price, proposal.record
    if not proposal.plan.planned and before is not None:
        return before.usd_per_h, before.price_note
    return (str(price.usd_per_h), describe_sources(price)) if price.lines else ("", "")


def _endpoints(caller: Caller) -> Mapping[str, str]:
    return dict(sorted(caller.endpoints.items()))
