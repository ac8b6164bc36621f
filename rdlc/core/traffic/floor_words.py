"""The floors of a step for people: what computing and the wire take at least, so that a network-bound run shows."""

from dataclasses import dataclass

from rdlc.core.traffic.floors import compute_floor_s, step_flops, wire_floor_s
from rdlc.core.traffic.layout import Layout
from rdlc.core.traffic.prediction import Traffic
from rdlc.core.traffic.rates import peak_flops


@dataclass(frozen=True, kw_only=True, slots=True)
class Workload:
    """What one step does, and on what: `device` is the name that PyTorch gives one of `traffic.ranks`.

    `wire_bytes_per_s` is what a node can send, None where that is not known.
    """

    layout: Layout
    traffic: Traffic
    device: str
    tokens: int
    sequence_length: int
    wire_bytes_per_s: int | None


def describe_floors(work: Workload) -> str:
    """Both floors in one sentence; one that has no known rate is said to be not measured."""
    compute, wire = compute_floor(work), wire_floor(work)
    words = f"floors: {_describe_compute(work, compute)}; {_describe_wire(work, wire)}"
    if compute is None or wire is None:
        return words
    return f"{words}: {'network' if wire > compute else 'compute'}-bound"


def compute_floor(work: Workload) -> float | None:
    """The seconds that the step's operations take at least; None if the device's peak is not known."""
    peak = peak_flops(work.device, work.layout.compute_dtype)
    if peak is None:
        return None
    flops = step_flops(work.layout, tokens=work.tokens, sequence_length=work.sequence_length)
    return compute_floor_s(flops, peak * work.traffic.ranks)


def wire_floor(work: Workload) -> float | None:
    """The seconds that the bytes between nodes take at least; None on one node or without a known rate."""
    if work.traffic.nodes == 1 or work.wire_bytes_per_s is None:
        return None
    return wire_floor_s(work.traffic.node_bytes, work.wire_bytes_per_s)


def _describe_compute(work: Workload, floor: float | None) -> str:
    if floor is None:
        return f"compute not measured, no peak rate is known for {work.device} with {work.layout.compute_dtype}"
    return f"compute {floor * 1000:,.1f} ms a step at the peak of {work.traffic.ranks} x {work.device}"


def _describe_wire(work: Workload, floor: float | None) -> str:
    if work.traffic.nodes == 1:
        return f"no wire, one node ({work.traffic.rank_bytes:,} bytes a step between its ranks)"
    moved = f"{work.traffic.node_bytes:,} bytes a step from each node"
    if floor is None or work.wire_bytes_per_s is None:
        return f"wire not measured, no rate is known for {moved}"
    return f"wire {floor * 1000:,.1f} ms a step for {moved} at {work.wire_bytes_per_s * 8 / 1e9:,.0f} Gbit/s"
