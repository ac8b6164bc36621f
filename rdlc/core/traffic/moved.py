"""What moved between the workers in the steps between two readings, and what should have."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

from rdlc.core.traffic.prediction import KINDS, Traffic, sent_bytes, step_traffic
from rdlc.core.traffic.reading import Counter, NetworkReport, Reading

# An interface that leads nowhere but to the machine itself.
_LOOPBACK = "lo"


@dataclass(frozen=True, kw_only=True, slots=True)
class Moved:
    """Bytes sent per step between the readings after `first_step` and after `last_step`.

    `rank_bytes`: by each rank to all others, over TCP. `node_bytes`: by each node to other nodes,
    over TCP sockets between ranks. `interface_bytes`: by each node over its interfaces but the
    loopback, whoever sent them. `efa_bytes`: by each node over its RDMA devices. Each is None where
    it was not measured, and `why` says why by the field's name. `is_lower_bound`: sockets were
    closed in between, and what they moved is not in it.
    """

    first_step: int
    last_step: int
    rank_bytes: Mapping[int, int] | None
    node_bytes: Mapping[int, int] | None
    interface_bytes: Mapping[int, int] | None
    efa_bytes: Mapping[int, int] | None
    is_lower_bound: bool
    why: Mapping[str, str]


_FIELDS = ("rank_bytes", "node_bytes", "interface_bytes", "efa_bytes")
Pair = tuple[NetworkReport, Reading, Reading]


def moved_between(reports: Sequence[NetworkReport]) -> Moved:
    """What moved between the two newest readings that all ranks have of the newest attempt."""
    newest = max((report.attempt for report in reports), default=0)
    current = [report for report in reports if report.attempt == newest]
    if reason := _incomplete(current):
        return _unmeasured(reason)
    common = set.intersection(*({reading.step for reading in report.readings} for report in current))
    if len(common) < 2:
        return _unmeasured(f"all ranks have {len(common)} of the 2 readings that it takes")
    first, last = sorted(common)[-2:]
    by_step = [{reading.step: reading for reading in report.readings} for report in current]
    pairs = [(report, found[first], found[last]) for report, found in zip(current, by_step, strict=True)]
    why: dict[str, str] = {}
    ranks = _sockets_by_rank(pairs, why)
    return Moved(
        first_step=first,
        last_step=last,
        rank_bytes=ranks,
        node_bytes=_sockets_by_node(pairs) if ranks is not None else None,
        interface_bytes=_devices_by_node(pairs, "interfaces", why),
        efa_bytes=_devices_by_node(pairs, "efa", why),
        is_lower_bound=any(gone for report, _, _ in pairs for gone in _gone(report, first, last)),
        why=why,
    )


def predicted_traffic(reports: Sequence[NetworkReport]) -> Traffic | None:
    """What the collectives of a step must move, as the ranks describe it; None if they disagree."""
    if not reports:
        return None
    first = reports[0]
    if any(
        (each.workload, each.world_size, each.backend) != (first.workload, first.world_size, first.backend)
        for each in reports
    ):
        return None
    return step_traffic(
        first.workload.layout,
        ranks=first.world_size,
        nodes=len({report.node_rank for report in reports}),
        backend=first.backend,
        rows_per_rank=first.workload.rows_per_rank,
        fingerprint_every=first.workload.fingerprint_every,
        micro_steps=first.workload.micro_steps,
    )


def recorded_bytes(report: NetworkReport) -> int | None:
    """Payload that a rank sends in the step that torch's flight recorder has; None without one.

    Collectives of a kind without a formula (a broadcast, a barrier) are not in it. None with replicas, too:
    the recorder does not say among how many ranks each was.
    """
    if report.recorded is None or report.workload.layout.replicas > 1:
        return None
    return sum(
        each.count * sent_bytes(each.kind, each.size_bytes, ranks=report.world_size, backend=report.backend)
        for each in report.recorded
        if each.kind in KINDS
    )


def _incomplete(reports: Sequence[NetworkReport]) -> str:
    if not reports:
        return "no rank reported what the network moved"
    worlds = sorted({report.world_size for report in reports})
    if len(worlds) > 1:
        return f"the ranks' reports are of worlds of {' and '.join(map(str, worlds))} ranks"
    found = sorted(report.rank for report in reports)
    if found != list(range(worlds[0])):
        return f"{len(set(found))} of {worlds[0]} ranks reported what the network moved"
    return ""


def _unmeasured(reason: str) -> Moved:
    return Moved(
        first_step=0,
        last_step=0,
        rank_bytes=None,
        node_bytes=None,
        interface_bytes=None,
        efa_bytes=None,
        is_lower_bound=False,
        why=dict.fromkeys(_FIELDS, reason),
    )


def _gone(report: NetworkReport, first: int, last: int) -> list[int]:
    return [reading.gone for reading in report.readings if first < reading.step <= last]


def _sockets_by_rank(pairs: Sequence[Pair], why: dict[str, str]) -> Mapping[int, int] | None:
    for report, before, after in pairs:
        for reading in (before, after):
            if reading.sockets is None:
                why["rank_bytes"] = why["node_bytes"] = f"rank {report.rank}: {reading.why['sockets']}"
                return None
    return {report.rank: _sent(before, after, range(report.world_size)) for report, before, after in pairs}


def _sockets_by_node(pairs: Sequence[Pair]) -> Mapping[int, int]:
    nodes = {report.rank: report.node_rank for report, _, _ in pairs}
    totals = dict.fromkeys(sorted(set(nodes.values())), 0)
    for report, before, after in pairs:
        elsewhere = {rank for rank, node in nodes.items() if node != report.node_rank}
        totals[report.node_rank] += _sent(before, after, elsewhere)
    return totals


def _sent(before: Reading, after: Reading, peers: Container[int]) -> int:
    """Bytes per step to these peers; one without a socket before counts from 0."""
    assert before.sockets is not None
    assert after.sockets is not None
    none = Counter(sent=0, received=0)
    total = sum(
        max(0, counter.sent - before.sockets.get(peer, none).sent)
        for peer, counter in after.sockets.items()
        if peer in peers
    )
    return round(total / (after.step - before.step))


def _devices_by_node(pairs: Sequence[Pair], source: str, why: dict[str, str]) -> Mapping[int, int] | None:
    """Bytes sent per step by each node's devices, which all its ranks see: the largest of their answers."""
    name = {"interfaces": "interface_bytes", "efa": "efa_bytes"}[source]
    totals: dict[int, int] = {}
    for report, before, after in pairs:
        old, new = (_devices(reading, source) for reading in (before, after))
        if old is None or new is None:
            missing = before if old is None else after
            why[name] = f"rank {report.rank}: {missing.why[source]}"
            return None
        sent = sum(
            max(0, counter.sent - old[device].sent)
            for device, counter in new.items()
            if device != _LOOPBACK and device in old
        )
        per_step = round(sent / (after.step - before.step))
        totals[report.node_rank] = max(totals.get(report.node_rank, 0), per_step)
    return totals


def _devices(reading: Reading, source: str) -> Mapping[str, Counter] | None:
    return reading.interfaces if source == "interfaces" else reading.efa
