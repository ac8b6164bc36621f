"""The least time of a step: what the operations take at the data sheet's peak, and the bytes at line rate."""

from rdlc.core.estimate.hardware import Hardware
from rdlc.core.estimate.settings import TrainingSettings
from rdlc.core.estimate.shapes import plan_layout
from rdlc.core.traffic.floors import compute_floor_s, step_flops, wire_floor_s
from rdlc.core.traffic.layout import Layout
from rdlc.core.traffic.prediction import step_traffic
from rdlc.core.traffic.rates import peak_flops


def compute_floor(settings: TrainingSettings, hardware: Hardware) -> float | None:
    """Seconds of computing a step; None without a peak. Activations that are computed again are not in it."""
    peak = peak_flops(hardware.device, settings.compute_dtype)
    if peak is None:
        return None
    flops = step_flops(
        layout_of(settings),
        tokens=settings.tokens * settings.accumulation * settings.ranks,
        sequence_length=settings.sequence_length,
    )
    return compute_floor_s(flops, peak * settings.ranks)


def wire_floor(settings: TrainingSettings, hardware: Hardware) -> float | None:
    """Seconds that a step's bytes take between nodes; None on one node or without a rate."""
    if hardware.nodes == 1 or hardware.wire_bytes_per_s is None:
        return None
    return wire_floor_s(node_bytes(settings, hardware.nodes), hardware.wire_bytes_per_s)


def node_bytes(settings: TrainingSettings, nodes: int) -> int:
    """Bytes that each node sends to the others in a step over NCCL."""
    traffic = step_traffic(
        layout_of(settings),
        ranks=settings.ranks,
        nodes=nodes,
        backend="nccl",
        rows_per_rank=settings.rows * settings.accumulation,
        micro_steps=settings.accumulation,
    )
    return traffic.node_bytes


def layout_of(settings: TrainingSettings) -> Layout:
    """How the model lies on the ranks of one copy."""
    return plan_layout(
        settings.shape,
        ranks=settings.shards,
        replicas=settings.replicas,
        reshard=settings.reshard,
        compute_dtype=settings.compute_dtype,
        reduce_dtype=settings.reduce_dtype,
    )
