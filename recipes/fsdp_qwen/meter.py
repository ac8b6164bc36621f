"""What one rank measures of itself, in `workers/<rank>/metrics.json`: times, memory, the state of its device.

Written when training begins, and again when it has ended: a rank that was killed leaves what it was
like at its start. Times leave out the warm-up steps, and say how many.
"""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import nn

from fsdp_qwen.event_file import EventFile
from fsdp_qwen.gpu_state import read_gpu_state
from fsdp_qwen.place import Place
from fsdp_qwen.rank_alone import flops_alone
from fsdp_qwen.rank_times import RankTimes, StepTimes
from fsdp_qwen.records import Output, StepRecord, write_document


@dataclass(kw_only=True, slots=True)
class Meter:
    """One rank's measuring: `times` in each step, all else at the start and at the end."""

    place: Place
    output: Output
    warmup_steps: int
    times: RankTimes
    events: EventFile | None
    _document: dict[str, object] = field(default_factory=dict)

    @classmethod
    def start(cls, module: nn.Module, place: Place, output: Output, *, warmup_steps: int, has_events: bool) -> "Meter":
        """Begins to measure; training begins now. `has_events` asks rank 0 for files for TensorBoard."""
        meter = cls(
            place=place,
            output=output,
            warmup_steps=warmup_steps,
            times=RankTimes.watching(module, place.device),
            events=EventFile.open(output.events) if has_events and place.rank == 0 else None,
        )
        meter._document = {
            "format": 1,
            "rank": place.rank,
            "node_rank": place.node_rank,
            "attempt": place.attempt,
            "warmup_steps": warmup_steps,
            "timed": None,
            "step_s": None,
            "memory": None,
            "start": _state(place.device),
            "end": None,
        }
        meter._write()
        return meter

    def show(self, record: StepRecord) -> None:
        """Shows a step in TensorBoard, if that was asked for."""
        if self.events is not None:
            self.events.add(record, self.place.world_size)

    def finish(self, seconds: Sequence[float], *, first_step: int) -> None:
        """Writes what was measured; `seconds` are those of the steps from `first_step` on. Not a collective."""
        if self.events is not None:
            self.events.close()
        counted = seconds[self.warmup_steps :]
        timed = [each for each in self.times.finish() if each.step >= first_step + self.warmup_steps]
        is_alone = self.place.world_size == 1 or not self.times.has_collectives
        self._document |= {
            "timed": _timed(timed, is_alone=is_alone),
            "step_s": _spread(counted),
            "memory": _memory(self.place.device),
            "end": _state(self.place.device),
        }
        self._write()

    def _write(self) -> None:
        write_document(self.output.rank_metrics(self.place.rank), self._document)


def _state(device: torch.device) -> dict[str, object]:
    gpu, why = read_gpu_state(device)
    return {"gpu": gpu, "gpu_why": why, "alone_flops_per_s": round(flops_alone(device))}


def _timed(timed: Sequence[StepTimes], *, is_alone: bool) -> dict[str, object] | None:
    """The medians of the timed steps; `collectives_s` is null where no other rank could be waited for."""
    if not timed:
        return None
    return {
        "steps": len(timed),
        "data_s": _rounded(statistics.median(each.data_s for each in timed)),
        "collectives_s": None if is_alone else _rounded(statistics.median(each.collectives_s for each in timed)),
    }


def _spread(seconds: Sequence[float]) -> dict[str, object] | None:
    """Median and 95th percentile of the counted steps; the latter is the least value that 95 % do not pass."""
    if not seconds:
        return None
    ordered = sorted(seconds)
    return {
        "steps": len(ordered),
        "p50": _rounded(statistics.median(ordered)),
        "p95": _rounded(ordered[-(-95 * len(ordered) // 100) - 1]),
    }


def _memory(device: torch.device) -> dict[str, object] | None:
    """The peaks of PyTorch's allocator, and how often it had to give memory back to find some; None on a CPU."""
    if device.type != "cuda":
        return None
    return {
        "allocated_peak_bytes": torch.cuda.max_memory_allocated(device),
        "reserved_peak_bytes": torch.cuda.max_memory_reserved(device),
        "total_bytes": torch.cuda.get_device_properties(device).total_memory,
        "allocation_retries": torch.cuda.memory_stats(device).get("num_alloc_retries", 0),
    }


def _rounded(value: float) -> float:
    return round(value, 6)
