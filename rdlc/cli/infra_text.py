"""Plans, prices and stacks as text for people, and as JSON."""

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal

from rich.console import Console

from rdlc.cli.console import write_line
from rdlc.core.canonical import Json
from rdlc.core.infra.plan import Plan, ResourceChange
from rdlc.core.infra.prices import PriceEstimate, describe_sources
from rdlc.core.infra.stack import StackRecord
from rdlc.core.record import Drift
from rdlc.operations.apply import StackResult
from rdlc.operations.stack_ports import Proposal

_SHOWN_CHANGES = 60
_SHOWN_ATTRIBUTES = 12
_SIGNS = {"create": "+", "update": "~", "delete": "-", "replace": "-/+", "forget": "x"}
_UNFINISHED = {
    "applying": "an earlier apply was cut off; it goes on from the state that it left",
    "destroying": "an earlier destroy was cut off; it goes on from the state that it left",
    "incomplete": "an earlier try broke off",
}


def show_proposal(console: Console, proposal: Proposal, *, has_attributes: bool = True) -> None:
    """What would happen, loud where a run would lose its nodes, and what an hour of it costs."""
    plan = proposal.plan
    title = "destroy" if proposal.is_destroy else "plan"
    write_line(console, f"{title}  {proposal.key}  {_counts(plan)}", style="bold")
    for line in _warnings(proposal):
        write_line(console, f"  {line}", style="bold yellow")
    for change in plan.changes[:_SHOWN_CHANGES]:
        _show_change(console, change, has_attributes=has_attributes and not proposal.is_destroy)
    if len(plan.changes) > _SHOWN_CHANGES:
        write_line(console, f"  and {len(plan.changes) - _SHOWN_CHANGES} more; all with --json")
    for change in plan.run_endings if not proposal.is_destroy else ():
        write_line(console, f"  !! {_ending(change)}: no run on it survives this", style="bold red")
    for line in _price_lines(proposal):
        write_line(console, f"  {line}")
    show_leftovers(console, proposal)


def show_leftovers(console: Console, proposal: Proposal) -> None:
    """What costs money and is not Terraform's to take away."""
    if proposal.leftovers:
        write_line(console, "  not Terraform's, and costs on:")
    for item in proposal.leftovers:
        write_line(console, f"    {item.kind}  {item.name}")


def show_drift(console: Console, drift: Sequence[Drift]) -> None:
    """Each attribute with the locked value and the one that was seen."""
    for item in drift:
        write_line(console, f"  {item.address}")
        write_line(console, f"    locked  {item.locked}")
        write_line(console, f"    seen    {item.found}")


def show_record(console: Console, record: StackRecord) -> None:
    """How a stack stands."""
    write_line(console, f"  lock      {record.lock_id}")
    write_line(console, f"  state     {record.state}, {record.resources} resources")
    if record.usd_per_h and record.status != "destroyed":
        write_line(console, f"  price     {record.usd_per_h} USD per hour ({record.price_note})")
    for deviation in record.deviations:
        write_line(console, f"  deviates  {deviation.path}: locked {deviation.locked}, used {deviation.used}")
        write_line(console, f"            because: {deviation.reason}")
    if not record.is_real:
        write_line(console, f"  NOT REAL  {_stand_in(record.endpoints.values())}", style="bold yellow")


def result_data(result: StackResult) -> dict[str, Json | float]:
    """Everything as JSON."""
    proposal, record = result.proposal, result.record
    key = proposal.key
    return {
        "stack": {"name": key.name, "account": key.account, "region": key.region},
        "plan": _plan_data(proposal.plan),
        "drift": [{"address": d.address, "locked": d.locked, "seen": d.found} for d in proposal.drift],
        "is_resting": proposal.is_resting,
        "unchecked_offers": proposal.unchecked,
        "withdrawn": [
            {"address": check.address, "locked": check.locked, "nearest": check.nearest} for check in proposal.withdrawn
        ],
        "price": _price_data(proposal.price),
        "endpoints": dict(proposal.caller.endpoints),
        "leftovers": [{"kind": item.kind, "name": item.name} for item in proposal.leftovers],
        "record": _record_data(record) if record else None,
    }


def _record_data(record: StackRecord) -> Json:
    return {
        "status": record.status,
        "is_real": record.is_real,
        "lock_id": record.lock_id,
        "infra_digest": record.infra_digest,
        "terraform": record.terraform,
        "providers": dict(record.providers),
        "state": record.state,
        "created": record.created,
        "changed": record.changed,
        "resources": record.resources,
        "gpu_nodes": record.gpu_nodes,
        "usd_per_h": record.usd_per_h,
        "price_note": record.price_note,
        "outputs": dict(record.outputs),
        "deviations": [
            {"path": d.path, "locked": d.locked, "used": d.used, "reason": d.reason} for d in record.deviations
        ],
    }


def _plan_data(plan: Plan) -> Json:
    return {
        "create": plan.count("create"),
        "update": plan.count("update"),
        "replace": plan.count("replace"),
        "delete": plan.count("delete"),
        "ends_runs": [change.address for change in plan.run_endings],
        "changes": [
            {
                "address": change.address,
                "action": change.action,
                "because": list(change.because),
                "attributes": [{"path": a.path, "locked": a.locked, "seen": a.seen} for a in change.attributes],
            }
            for change in plan.changes
        ],
    }


def _price_data(price: PriceEstimate) -> Json:
    return {
        "usd_per_h": str(price.usd_per_h),
        "is_complete": price.is_complete,
        "sources": describe_sources(price),
        "by_use": list(price.by_use),
        "lines": [
            {"what": line.what, "count": line.count, "usd_per_h": _amount(line.usd_per_h), "why_unknown": line.why}
            for line in price.lines
        ],
    }


def _amount(usd: Decimal | None) -> str | None:
    return None if usd is None else str(usd)


def _counts(plan: Plan) -> str:
    words = {"to add": ("create",), "to change": ("update",), "to replace": ("replace",), "to destroy": ("delete",)}
    parts = [f"{count} {word}" for word, actions in words.items() if (count := plan.count(*actions))]
    return ", ".join(parts) or ("outputs alone are written anew" if plan.outputs else "nothing to do")


def _warnings(proposal: Proposal) -> Iterator[str]:
    if proposal.caller.endpoints:
        yield f"NOT REAL  {_stand_in(proposal.caller.endpoints.values())}"
    if proposal.record and (words := _UNFINISHED.get(proposal.record.status)):
        yield f"{words}{': ' + proposal.record.reason if proposal.record.reason else ''}"
    if proposal.unchecked:
        yield f"not checked whether AWS still offers the locked versions: {proposal.unchecked}"
    for check in proposal.withdrawn:
        yield f"{check.message}: {check.way_on}"
    if proposal.is_resting:
        yield "the GPU nodes were scaled down: that is not drift, and applying brings them back"


def _stand_in(urls: Iterable[str]) -> str:
    listed = ", ".join(sorted(set(urls)))
    return f"{listed} stands in for AWS: this is no cluster"


def _show_change(console: Console, change: ResourceChange, *, has_attributes: bool) -> None:
    write_line(console, f"  {_SIGNS.get(change.action, change.action):<3} {change.address}")
    if not has_attributes:
        return
    if change.because:
        write_line(console, f"        replaced because of {', '.join(change.because)}")
    for attribute in change.attributes[:_SHOWN_ATTRIBUTES]:
        write_line(console, f"        {attribute.path}: {attribute.seen} -> {attribute.locked}")
    if len(change.attributes) > _SHOWN_ATTRIBUTES:
        write_line(console, f"        and {len(change.attributes) - _SHOWN_ATTRIBUTES} more")


def _ending(change: ResourceChange) -> str:
    if change.rolls_nodes:
        return f"EVERY NODE of {change.address} is replaced"
    return f"{change.address} is {'REPLACED' if change.action == 'replace' else 'DESTROYED'}"


def _price_lines(proposal: Proposal) -> Iterator[str]:
    price, record = proposal.price, proposal.record
    if proposal.is_destroy:
        if record and record.usd_per_h:
            yield f"price  {record.usd_per_h} USD per hour end with it ({record.price_note})"
        return
    if not price.lines:
        return
    at_least = "" if price.is_complete else "at least "
    parts = [f"{line.count} x {line.what} {line.usd_per_h}" for line in price.lines if line.each]
    yield f"price  {at_least}{price.usd_per_h} USD per hour: {', '.join(parts) or 'no price is known'}"
    yield f"       {describe_sources(price)}"
    yield f"       by use, not counted: {', '.join(price.by_use)}"
    if record and record.usd_per_h and record.status != "destroyed":
        yield f"       now: {record.usd_per_h} USD per hour"
