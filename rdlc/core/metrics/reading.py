"""What each rank measured of itself: `workers/<rank>/metrics.json`, untrusted, read into types."""

import math
from dataclasses import dataclass

from rdlc.core.fields import Fields
from rdlc.core.lines import read_json_file, seconds
from rdlc.core.text import one_line
from rdlc.errors import InputError

METRICS_FILE = "metrics.json"
METRICS_LIMIT_BYTES = 1 << 20

_RANKS_LIMIT = 1 << 20
_BYTES_LIMIT = (1 << 63) - 1
_REASONS_LIMIT = 32


@dataclass(frozen=True, kw_only=True, slots=True)
class Timed:
    """Medians of the timed steps after warm-up; `collectives_s` is None where no other rank could be waited for."""

    steps: int
    data_s: float
    collectives_s: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Spread:
    """How long the steps after warm-up took: their median and their 95th percentile."""

    steps: int
    p50: float
    p95: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Memory:
    """Peaks of PyTorch's allocator on the rank's GPU, and how often it had to give memory back to find some."""

    allocated_peak_bytes: int
    reserved_peak_bytes: int
    total_bytes: int
    allocation_retries: int


@dataclass(frozen=True, kw_only=True, slots=True)
class GpuState:
    """How a GPU stands at one moment; `slowed_by` is why its clock is held down, in the recipe's words."""

    clock_mhz: int
    most_clock_mhz: int
    temperature_c: int
    power_w: int
    slowed_by: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class State:
    """A rank's device at one moment; `gpu` is None where that was not measured, and `gpu_why` says why."""

    gpu: GpuState | None
    gpu_why: str
    alone_flops_per_s: int


@dataclass(frozen=True, kw_only=True, slots=True)
class RankMetrics:
    """One rank's measurements in one attempt; what was not measured is None."""

    rank: int
    node_rank: int
    attempt: int
    warmup_steps: int
    timed: Timed | None
    step: Spread | None
    memory: Memory | None
    start: State
    end: State | None


def read_rank_metrics(data: bytes, *, name: str) -> RankMetrics:
    """The measurements in the bytes of a `metrics.json`; raises InputError naming file and field."""
    fields = read_json_file(data, name=name, limit_bytes=METRICS_LIMIT_BYTES)
    try:
        return _read(fields)
    except InputError as error:
        # The file has many lines, and JSON does not say on which one a value stands.
        raise InputError(error.message, hint=error.hint, file=name, field=error.field) from error


def _read(fields: Fields) -> RankMetrics:
    fields.count("format", least=1, most=1)
    return RankMetrics(
        rank=fields.count("rank", most=_RANKS_LIMIT),
        node_rank=fields.count("node_rank", most=_RANKS_LIMIT),
        attempt=fields.count("attempt", least=1),
        warmup_steps=fields.count("warmup_steps"),
        timed=_read_timed(fields.below("timed")) if fields.has("timed") else None,
        step=_read_spread(fields.below("step_s")) if fields.has("step_s") else None,
        memory=_read_memory(fields.below("memory")) if fields.has("memory") else None,
        start=_read_state(fields.below("start")),
        end=_read_state(fields.below("end")) if fields.has("end") else None,
    )


def _read_timed(fields: Fields) -> Timed:
    return Timed(
        steps=fields.count("steps", least=1),
        data_s=seconds(fields, "data_s"),
        collectives_s=seconds(fields, "collectives_s") if fields.has("collectives_s") else None,
    )


def _read_spread(fields: Fields) -> Spread:
    spread = Spread(steps=fields.count("steps", least=1), p50=seconds(fields, "p50"), p95=seconds(fields, "p95"))
    if not 0 < spread.p50 <= spread.p95 or not math.isfinite(spread.p95):
        raise fields.error("p95", "must be at least `p50`, and both above 0")
    return spread


def _read_memory(fields: Fields) -> Memory:
    return Memory(
        allocated_peak_bytes=fields.count("allocated_peak_bytes", most=_BYTES_LIMIT),
        reserved_peak_bytes=fields.count("reserved_peak_bytes", most=_BYTES_LIMIT),
        total_bytes=fields.count("total_bytes", least=1, most=_BYTES_LIMIT),
        allocation_retries=fields.count("allocation_retries"),
    )


def _read_state(fields: Fields) -> State:
    return State(
        gpu=_read_gpu(fields.below("gpu")) if fields.has("gpu") else None,
        gpu_why=one_line(fields.remark("gpu_why")),
        alone_flops_per_s=fields.count("alone_flops_per_s", most=_BYTES_LIMIT),
    )


def _read_gpu(fields: Fields) -> GpuState:
    reasons = fields.texts("slowed_by")
    if len(reasons) > _REASONS_LIMIT:
        raise fields.error("slowed_by", f"must have at most {_REASONS_LIMIT} entries, not {len(reasons)}")
    return GpuState(
        clock_mhz=fields.count("clock_mhz"),
        most_clock_mhz=fields.count("most_clock_mhz"),
        temperature_c=fields.count("temperature_c"),
        power_w=fields.count("power_w"),
        slowed_by=tuple(one_line(reason, limit=60) for reason in reasons),
    )
