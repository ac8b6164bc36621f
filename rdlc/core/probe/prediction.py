"""What a probe's figures say: bandwidths, their ratio, the step's time over each transport, and money.

Bandwidths are those of nccl-tests (doc/PERFORMANCE.md): size over time, times 2 (n - 1) / n for an
all-reduce and (n - 1) / n for an all-gather or a reduce-scatter, where size is the whole that is
reduced or gathered.
"""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise

from rdlc.core.outcome import Step
from rdlc.core.probe.reading import Arm, Probe
from rdlc.core.traffic.floors import algorithm_bandwidth, bus_bandwidth, predicted_step_s
from rdlc.core.traffic.prediction import KINDS, Traffic, step_traffic


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One kind at one size, over both transports: bytes per second, None where not measured.

    `ratio` is how many times the bus bandwidth of TCP the locked transport has.
    """

    kind: str
    size_bytes: int
    locked_s: float | None
    locked_algbw: float | None
    locked_busbw: float | None
    tcp_s: float | None
    tcp_algbw: float | None
    tcp_busbw: float | None

    @property
    def ratio(self) -> float | None:
        """The locked transport's bus bandwidth over that of TCP; None where one is missing."""
        if self.locked_busbw is None or self.tcp_busbw is None:
            return None
        return self.locked_busbw / self.tcp_busbw


@dataclass(frozen=True, kw_only=True, slots=True)
class StepPrediction:
    """What one step takes over one transport, in seconds.

    `wire_s` is what its collectives take alone, one after the other; None where a kind of them was not
    measured. `low_s` holds if the network works wholly beside the computing, `high_s` if it never does;
    None without a measured step of the lock.
    """

    arm: str
    wire_s: float | None
    low_s: float | None
    high_s: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Loss:
    """What an hour over TCP loses against the locked transport: shares of it from `low` to `high`.

    Dollars are None without a price.
    """

    low: float
    high: float
    low_usd: Decimal | None
    high_usd: Decimal | None


def tabulate(probe: Probe) -> tuple[Row, ...]:
    """Every kind and size that either arm has, by kind, then by size."""
    keys = {(point.kind, point.size_bytes) for arm in probe.arms for point in arm.points}
    ordered = sorted(keys, key=lambda key: (KINDS.index(key[0]), key[1]))
    return tuple(_row(probe, kind, size) for kind, size in ordered)


def _row(probe: Probe, kind: str, size: int) -> Row:
    locked_s, tcp_s = (_median(arm, kind, size) for arm in (probe.locked, probe.tcp))
    ranks = len(probe.locked.ranks)
    return Row(
        kind=kind,
        size_bytes=size,
        locked_s=locked_s,
        locked_algbw=None if locked_s is None else algorithm_bandwidth(size, locked_s),
        locked_busbw=None if locked_s is None else bus_bandwidth(kind, size, locked_s, ranks),
        tcp_s=tcp_s,
        tcp_algbw=None if tcp_s is None else algorithm_bandwidth(size, tcp_s),
        tcp_busbw=None if tcp_s is None else bus_bandwidth(kind, size, tcp_s, ranks),
    )


def _median(arm: Arm | None, kind: str, size: int) -> float | None:
    point = arm.point(kind, size) if arm else None
    return point.median_s if point else None


def median_step_s(steps: Sequence[Step], *, warmup_steps: int) -> float | None:
    """The median of the measured steps behind the warm-up; None if there is none above 0 s."""
    counted = [step.step_s for step in steps if step.step > warmup_steps]
    median = statistics.median(counted) if counted else 0.0
    return median if median > 0 else None


def traffic_of(probe: Probe, *, rows_per_rank: int, fingerprint_every: int) -> Traffic:
    """The collectives of one step of the recipe on the probe's ranks."""
    arm = probe.locked
    return step_traffic(
        arm.layout,
        ranks=len(arm.ranks),
        nodes=arm.nodes,
        backend=arm.backend,
        rows_per_rank=rows_per_rank,
        fingerprint_every=fingerprint_every,
    )


def call_s(arm: Arm, kind: str, size_bytes: int) -> float | None:
    """The seconds of one call, between the measured sizes in a straight line; None if none was measured.

    Below the smallest size it is the smallest's, since latency rules there; above the largest it grows
    with the size, at the largest's bandwidth.
    """
    known = [
        (point.size_bytes, point.median_s) for point in arm.points if point.kind == kind and point.median_s is not None
    ]
    if not known:
        return None
    if size_bytes <= known[0][0]:
        return known[0][1]
    for (small, small_s), (large, large_s) in pairwise(known):
        if size_bytes <= large:
            return small_s + (large_s - small_s) * (size_bytes - small) / (large - small)
    largest, largest_s = known[-1]
    return largest_s * size_bytes / largest


def wire_s(arm: Arm, traffic: Traffic) -> float | None:
    """What a step's collectives take alone, one after the other; None if a kind of them was not measured."""
    total = 0.0
    for each in traffic.collectives:
        seconds = call_s(arm, each.kind, each.size_bytes)
        if seconds is None:
            return None
        total += seconds * each.count / each.every
    return total


def predict_steps(probe: Probe, traffic: Traffic, *, measured_step_s: float | None) -> tuple[StepPrediction, ...]:
    """The step's time over each transport, from a step that was measured over the locked one.

    Its computing took at most the whole measured step, if the network worked beside it, and at least
    what the network left of it, if it never did. Each end gives one end of the prediction: the larger
    of computing and network, and their sum.
    """
    locked_s = wire_s(probe.locked, traffic)
    return tuple(_predict(arm.name, wire_s(arm, traffic), locked_s, measured_step_s) for arm in probe.arms)


def predict_locked_step(probe: Probe, traffic: Traffic, *, tcp_step_s: float) -> tuple[float, float] | None:
    """The least and the most seconds of a step over the locked transport, from one that was measured over TCP.

    None without an arm of TCP, or where a kind of collective was not measured.
    """
    if probe.tcp is None:
        return None
    step = _predict("locked", wire_s(probe.locked, traffic), wire_s(probe.tcp, traffic), tcp_step_s)
    return None if step.low_s is None or step.high_s is None else (step.low_s, step.high_s)


def _predict(arm: str, wire: float | None, locked_wire: float | None, step: float | None) -> StepPrediction:
    if wire is None or locked_wire is None or step is None:
        return StepPrediction(arm=arm, wire_s=wire, low_s=None, high_s=None)
    low, _ = predicted_step_s(step, wire)
    _, high = predicted_step_s(max(0.0, step - locked_wire), wire)
    return StepPrediction(arm=arm, wire_s=wire, low_s=min(low, high), high_s=max(low, high))


def hourly_loss(
    predictions: Sequence[StepPrediction], *, measured_step_s: float | None, usd_per_h: Decimal | None
) -> Loss | None:
    """What an hour over TCP loses; None where the locked transport is TCP, or no step was measured."""
    tcp = next((each for each in predictions if each.arm == "tcp"), None)
    if tcp is None or tcp.low_s is None or tcp.high_s is None or measured_step_s is None:
        return None
    low, high = (max(0.0, 1 - measured_step_s / seconds) for seconds in (tcp.low_s, tcp.high_s))
    return Loss(low=low, high=high, low_usd=_usd(low, usd_per_h), high_usd=_usd(high, usd_per_h))


def _usd(share: float, usd_per_h: Decimal | None) -> Decimal | None:
    return None if usd_per_h is None else (Decimal(repr(share)) * usd_per_h).quantize(Decimal("0.01"))
