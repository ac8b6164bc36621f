"""Take a stack away, or its GPU nodes alone."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from rdlc.core.infra.price_table import Price
from rdlc.core.infra.stack import StackKey, StackRecord
from rdlc.core.infra.steps import Caller
from rdlc.errors import RdlcError
from rdlc.operations.apply import StackResult, carry_out, finish_record, recorded_price
from rdlc.operations.infra_drift import Planned, StackQuestion, plan_stack
from rdlc.operations.stack_ports import Proposal, Stack, Tools

AFTER = ("keep", "scale-down", "destroy")
REST_VARIABLE = "gpu_count_at_rest"


@dataclass(frozen=True, kw_only=True, slots=True)
class LeaveRequest:
    """Which stack, and what is to become of it: one of `AFTER`."""

    given: str
    after: str
    prices: Mapping[str, Price]
    tool: str


def leave_stack(request: LeaveRequest, tools: Tools) -> StackResult | None:
    """Keeps, scales down or destroys a stack; None for one that is kept, which is not even looked at.

    Raises InputError for a stack that is not there, RdlcError for credentials of another account.
    """
    key = tools.stacks.find(request.given)
    if request.after == "keep":
        return None
    caller = tools.cloud.caller(key.region)
    if caller.account != key.account:
        raise RdlcError(
            f"stack `{key}` is in account `{key.account}`, and the AWS credentials are for `{caller.account}`",
            hint="`AWS_PROFILE` chooses others",
        )
    purpose = "rdlc destroy" if request.after == "destroy" else "rdlc destroy --scale-down"
    with tools.stacks.hold(key, purpose=purpose) as stack:
        record = stack.read()
        if record is None:  # it was taken away after it was found
            raise RdlcError(f"stack `{key}` is not there any more")
        leave = _destroy if request.after == "destroy" else _scale_down
        return leave(request, stack, record, key, caller, tools)


def _destroy(
    request: LeaveRequest, stack: Stack, record: StackRecord, key: StackKey, caller: Caller, tools: Tools
) -> StackResult:
    order = stack.read_order(record)
    question = StackQuestion(order=order, is_destroy=True, prices=request.prices)
    planned = plan_stack(question, stack, key=key, caller=caller, tools=tools)
    proposal = replace(planned.proposal, leftovers=tuple(tools.cloud.leftovers(key)))
    if not proposal.plan.changes:
        finished = finish_record(record, replace(planned, proposal=proposal), stack, tools)
        return StackResult(status="destroyed", proposal=proposal, record=finished)
    tools.approver.show(proposal)
    if not tools.approver.is_agreed(proposal):
        return StackResult(status="declined", proposal=proposal, record=record)
    begun = replace(record, status="destroying", tool=request.tool, changed=tools.stacks.now(), reason="")
    finished = carry_out(begun, planned, stack, tools)
    # Asked again: what the cluster made by itself often goes with it, and what stays costs on.
    return StackResult(
        status="destroyed",
        proposal=replace(proposal, leftovers=tuple(tools.cloud.leftovers(key))),
        record=finished,
    )


def _scale_down(
    request: LeaveRequest, stack: Stack, record: StackRecord, key: StackKey, caller: Caller, tools: Tools
) -> StackResult:
    order = stack.read_order(record)
    if REST_VARIABLE not in order.variables:
        raise RdlcError(
            f"this stack cannot be scaled down: its root has no variable `{REST_VARIABLE}`",
            hint=f"`rdlc destroy {key}` takes all of it away",
        )
    resting = replace(order, variables={**order.variables, REST_VARIABLE: 0})
    question = StackQuestion(order=resting, prices=request.prices)
    planned = plan_stack(question, stack, key=key, caller=caller, tools=tools)
    proposal = planned.proposal
    _refuse_more_than_rest(proposal)
    if not proposal.plan.is_empty:
        tools.approver.show(proposal)
        if not tools.approver.is_agreed(proposal):
            return StackResult(status="declined", proposal=proposal, record=record)
    # The order that was applied stays the one that counts: nodes at rest are no other stack.
    usd_per_h, price_note = recorded_price(proposal)
    begun = replace(
        record,
        status="applying",
        changed=tools.stacks.now(),
        gpu_nodes="scaled-down",
        usd_per_h=usd_per_h,
        price_note=price_note,
    )
    return StackResult(status="scaled-down", proposal=proposal, record=_rest(begun, planned, stack, tools))


def _rest(begun: StackRecord, planned: Planned, stack: Stack, tools: Tools) -> StackRecord:
    if planned.proposal.plan.is_empty:
        return finish_record(begun, planned, stack, tools)
    return carry_out(begun, planned, stack, tools)


def _refuse_more_than_rest(proposal: Proposal) -> None:
    for change in proposal.plan.changes:
        paths = {attribute.path for attribute in change.attributes}
        is_rest = change.kind == "aws_eks_node_group" and change.action == "update"
        if not is_rest or not paths <= {"scaling_config[0].desired_size"}:
            raise RdlcError(
                f"the stack is not as it was applied: `{change.address}` would be changed, too",
                hint="`rdlc apply LOCK --plan` shows what differs",
            )
