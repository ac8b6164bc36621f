"""The least time of a step: what the operations take at the data sheet's peak, and the bytes at line rate."""

from rdlc.core.estimate.hardware import Hardware
from rdlc.core.estimate.settings import TrainingSettings
from rdlc.core.estimate.shapes import plan_layout
from rdlc.core.traffic.floors import compute_floor_s, step_flops, wire_floor_s
from rdlc.core.traffic.layout import DTYPES, Layout
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
    """Bytes that each node sends to the others in a step.

    Sharded over all ranks, one edge of the ring leaves a node: a rank's share of each gather, once or
    twice in every micro-step, and of one reduction. With a copy of the model on each node, only the
    gradients leave it, in an all-reduce over the copies.
    """
    layout = layout_of(settings)
    reduce = DTYPES[settings.reduce_dtype] * sum(unit.padded_parameters for unit in layout.units)
    if settings.replicas > 1 and settings.replicas % nodes == 0:
        return 2 * reduce * (settings.replicas - 1) // settings.replicas
    width = DTYPES[settings.compute_dtype]
    gathers = width * sum(
        unit.padded_parameters * _times(settings, unit.reshard_after_forward) for unit in layout.units
    )
    shards = settings.shards
    sent = (gathers * settings.accumulation + reduce) * (shards - 1) // shards
    # Copies that are spread over nodes themselves reduce what each rank holds over the copies.
    between = 2 * reduce // shards * (settings.replicas - 1) // settings.replicas
    return sent + between


def _times(settings: TrainingSettings, is_let_go: bool) -> int:
    return 2 if is_let_go and settings.reshard != "never" else 1


def layout_of(settings: TrainingSettings) -> Layout:
    """How the model lies on the ranks of one copy."""
    return plan_layout(
        settings.shape,
        ranks=settings.shards,
        compute_dtype=settings.compute_dtype,
        reduce_dtype=settings.reduce_dtype,
    )
