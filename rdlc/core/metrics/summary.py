"""The speed and the memory of a run in the figures that people compare, each measured or said not to be."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rdlc.core.canonical import Json
from rdlc.core.fields import Fields
from rdlc.core.metrics.reading import Memory, RankMetrics
from rdlc.core.metrics.slowest import Slowest, describe_slowest, find_slowest
from rdlc.core.outcome import Step
from rdlc.core.traffic.floors import step_flops
from rdlc.core.traffic.layout import Layout
from rdlc.core.traffic.rates import peak_flops

NOT_MEASURED = "not measured"
_GIB = 1 << 30


@dataclass(frozen=True, kw_only=True, slots=True)
class Work:
    """What one step of all ranks does, on which device by the name that PyTorch gives it."""

    layout: Layout
    tokens: int
    sequence_length: int
    device: str


@dataclass(frozen=True, kw_only=True, slots=True)
class MetricsReport:
    """The figures of a run by name, those of each rank, and the sentences for people.

    All values are text, as a record keeps them; what was not measured is "not measured".
    """

    run: Mapping[str, str]
    ranks: tuple[Mapping[str, str], ...]
    slowest: str
    sentences: tuple[str, ...] = ()

    def payload(self) -> dict[str, Json]:
        """The mapping in `record.json`."""
        return {
            "run": dict(self.run),
            "ranks": [dict(rank) for rank in self.ranks],
            "slowest": self.slowest,
        }


def read_metrics_report(fields: Fields) -> MetricsReport:
    """The report in a record's `metrics`; its sentences stand among the record's remarks."""
    report = MetricsReport(
        run=fields.table("run"),
        ranks=tuple({name: each.text(name) for name in each.names()} for each in fields.each("ranks")),
        slowest=fields.remark("slowest"),
    )
    fields.finish()
    return report


def summarize(
    ranks: Sequence[RankMetrics], *, hosts: Mapping[int, str], work: Work | None, last: Step | None
) -> MetricsReport | None:
    """What the ranks' measurements say; None if there are none.

    `work` is None where the ranks do not agree on it, `last` is the last step of the run.
    """
    if not ranks:
        return None
    first = min(ranks, key=lambda each: each.rank)
    slowest = find_slowest(ranks, hosts)
    utilization, sentence = _utilization(first, work, len(ranks))
    memory = _fullest(ranks)
    stands_out = slowest is not None and slowest.stands_out
    return MetricsReport(
        run={
            **_speed(first, work, len(ranks)),
            "mfu": utilization,
            "device": work.device if work else NOT_MEASURED,
            **_memory_figures(memory, ranks),
            "loss": _decimal(last.loss) if last else NOT_MEASURED,
            "gradient_norm": _decimal(last.gradient_norm) if last else NOT_MEASURED,
            "learning_rate": last.learning_rate if last else NOT_MEASURED,
        },
        ranks=tuple(_rank_figures(each, hosts) for each in sorted(ranks, key=lambda each: each.rank)),
        slowest=slowest.place if slowest is not None and stands_out else "none" if slowest else NOT_MEASURED,
        sentences=(
            *_describe_speed(first, work, len(ranks), sentence),
            *_describe_memory(memory, ranks),
            *_describe_slowest(slowest, len(ranks)),
        ),
    )


def _speed(first: RankMetrics, work: Work | None, ranks: int) -> dict[str, str]:
    figures = {"warmup_steps_left_out": str(first.warmup_steps)}
    if first.step is None:
        names = ("counted_steps", "step_s_p50", "step_s_p95", "tokens_per_s", "tokens_per_s_per_rank")
        return {**figures, **dict.fromkeys(names, NOT_MEASURED)}
    rate = None if work is None else work.tokens / first.step.p50
    return {
        **figures,
        "counted_steps": str(first.step.steps),
        "step_s_p50": f"{first.step.p50:.6f}",
        "step_s_p95": f"{first.step.p95:.6f}",
        "tokens_per_s": NOT_MEASURED if rate is None else f"{rate:.1f}",
        "tokens_per_s_per_rank": NOT_MEASURED if rate is None else f"{rate / ranks:.1f}",
    }


def _utilization(first: RankMetrics, work: Work | None, ranks: int) -> tuple[str, str]:
    """The MFU as a share, and the sentence about it; both say so where it is not measured."""
    if first.step is None or work is None:
        return NOT_MEASURED, "MFU not measured"
    dtype = work.layout.compute_dtype
    peak = peak_flops(work.device, dtype)
    if peak is None:
        return NOT_MEASURED, f"MFU not measured: no data sheet is known for {work.device} with {dtype}"
    flops = step_flops(work.layout, tokens=work.tokens, sequence_length=work.sequence_length)
    share = flops / (first.step.p50 * peak * ranks)
    words = f"MFU {share:.1%} of the {peak / 1e12:,.4g} TFLOP/s of {work.device} ({dtype}, dense, by its data sheet)"
    return f"{share:.4f}", words


def _describe_speed(first: RankMetrics, work: Work | None, ranks: int, utilization: str) -> tuple[str, ...]:
    if first.step is None:
        return ()
    unit = "rank" if work is None or work.device == "cpu" else "GPU"
    rate = "" if work is None else f"{work.tokens / first.step.p50 / ranks:,.0f} tokens/s per {unit}, "
    spread = f"p50 {first.step.p50 * 1000:,.1f} ms and p95 {first.step.p95 * 1000:,.1f} ms a step"
    return (f"{rate}{spread}; {utilization}",)


def _fullest(ranks: Sequence[RankMetrics]) -> Memory | None:
    """The memory of the rank that had the most; None unless all ranks measured theirs."""
    known = [each.memory for each in ranks if each.memory is not None]
    if len(known) < len(ranks):
        return None
    return max(known, key=lambda each: (each.allocated_peak_bytes, each.reserved_peak_bytes))


def _retries(ranks: Sequence[RankMetrics]) -> dict[int, int]:
    return {each.rank: each.memory.allocation_retries for each in ranks if each.memory is not None}


def _memory_figures(memory: Memory | None, ranks: Sequence[RankMetrics]) -> dict[str, str]:
    names = ("memory_allocated_peak_bytes", "memory_reserved_peak_bytes", "memory_total_bytes", "allocation_retries")
    if memory is None:
        return dict.fromkeys(names, NOT_MEASURED)
    values = (
        memory.allocated_peak_bytes,
        memory.reserved_peak_bytes,
        memory.total_bytes,
        sum(_retries(ranks).values()),
    )
    return {name: str(value) for name, value in zip(names, values, strict=True)}


def _describe_memory(memory: Memory | None, ranks: Sequence[RankMetrics]) -> tuple[str, ...]:
    if memory is None:
        return ()
    sizes = (memory.allocated_peak_bytes, memory.reserved_peak_bytes, memory.total_bytes)
    allocated, reserved, total = (f"{size / _GIB:,.1f}" for size in sizes)
    words = f"GPU memory: at most {allocated} GiB allocated, {reserved} GiB reserved, of {total} GiB"
    retried = {rank: count for rank, count in sorted(_retries(ranks).items()) if count}
    if not retried:
        return (words,)
    named = ", ".join(f"{count} on rank {rank}" for rank, count in retried.items())
    warning = (
        f"warning: allocation retries, {named}: the memory is nearly full, and steps wait for it to be given back; "
        "a smaller batch, chunked loss or activation checkpointing takes less"
    )
    return (words, warning)


def _describe_slowest(slowest: Slowest | None, ranks: int) -> tuple[str, ...]:
    if slowest is not None:
        return (describe_slowest(slowest),)
    return () if ranks == 1 else ("slowest rank not measured",)


def _rank_figures(each: RankMetrics, hosts: Mapping[int, str]) -> dict[str, str]:
    timed, step = each.timed, each.step
    waits = timed.collectives_s if timed else None
    # On gloo all that is not data or collectives is computing; on a GPU both go on at once.
    is_blocking = each.memory is None and timed is not None and step is not None and waits is not None
    compute = step.p50 - timed.data_s - waits if is_blocking and step and timed and waits is not None else None
    figures = {
        "rank": str(each.rank),
        "node": str(each.node_rank),
        "host": hosts.get(each.rank, NOT_MEASURED),
        "data_s": _seconds(timed.data_s if timed else None),
        "compute_s": _seconds(compute if compute is None else max(compute, 0.0)),
        "collectives_s": _seconds(waits),
    }
    for moment, state in (("start", each.start), ("end", each.end)):
        gpu = state.gpu if state else None
        figures |= {
            f"{moment}_alone_flops_per_s": str(state.alone_flops_per_s) if state else NOT_MEASURED,
            f"{moment}_clock_mhz": str(gpu.clock_mhz) if gpu else NOT_MEASURED,
            f"{moment}_temperature_c": str(gpu.temperature_c) if gpu else NOT_MEASURED,
            f"{moment}_slowed_by": (", ".join(gpu.slowed_by) or "nothing") if gpu else NOT_MEASURED,
        }
    return figures


def _seconds(value: float | None) -> str:
    return NOT_MEASURED if value is None else f"{value:.6f}"


def _decimal(hexadecimal: str) -> str:
    return f"{float.fromhex(hexadecimal):.6g}"
