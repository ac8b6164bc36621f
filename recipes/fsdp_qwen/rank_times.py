"""Where a rank's time goes: waiting for rows, in the collectives of weights, gradients and norms, computing.

All ranks take the same time for a step, because they wait for each other. A rank that is slower than
the others shows in its collectives: it comes last, so it waits least. On gloo a collective blocks, so
its time is taken around the call. On a GPU two events stand around it in its own stream, and are read
when they have long passed: nothing waits for them, and only every few steps have them.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.fsdp import FSDPModule

from fsdp_qwen.collectives import all_gather, reduce_scatter

# Of so many steps, one is timed on a GPU: two hundred pairs of events cost about a millisecond.
GPU_EVERY = 4

Pair = tuple[torch.cuda.Event, torch.cuda.Event]


@dataclass(frozen=True, kw_only=True, slots=True)
class StepTimes:
    """One timed step: `collectives_s` is the time inside of them, with the waiting for other ranks."""

    step: int
    data_s: float
    collectives_s: float


@dataclass(kw_only=True, slots=True)
class RankTimes:
    """Takes one rank's times; no method is a collective, and none waits for the device but `finish`."""

    device: torch.device
    every: int
    has_collectives: bool = False
    _step: int = 0
    _is_timed: bool = False
    _started: float = 0.0
    _data_s: float = 0.0
    _blocked_s: float = 0.0
    _pairs: list[Pair] = field(default_factory=list)
    # Steps whose events may not have passed yet.
    _open: list[tuple[int, float, list[Pair]]] = field(default_factory=list)
    _done: list[StepTimes] = field(default_factory=list)

    @classmethod
    def watching(cls, module: nn.Module, device: torch.device) -> "RankTimes":
        """Times the collectives of a sharded model from its next step on."""
        times = cls(device=device, every=GPU_EVERY if device.type == "cuda" else 1)
        # Named so since PyTorch 2.9; an older one's collectives are not timed.
        parts = [part for part in module.modules() if isinstance(part, FSDPModule)]
        times.has_collectives = bool(parts) and all(hasattr(part, "set_custom_all_gather") for part in parts)
        if times.has_collectives:
            for part in parts:
                part.set_custom_all_gather(TimedAllGather(times))  # type: ignore[arg-type] # has its methods
                part.set_custom_reduce_scatter(TimedReduceScatter(times))  # type: ignore[arg-type] # the same
        return times

    def begin(self, step: int) -> None:
        """A step begins, with the reading of its rows."""
        self._step, self._is_timed = step, step % self.every == 0
        self._data_s = self._blocked_s = 0.0
        self._pairs = []
        self._started = time.perf_counter()

    def rows_ready(self) -> None:
        """The step has its rows."""
        self._data_s += time.perf_counter() - self._started

    @contextmanager
    def preparing(self) -> Iterator[None]:
        """Rows are made ahead inside: that is waiting, at most so long, only if the device has run out of work."""
        started = time.perf_counter()
        queued = None
        if self.device.type == "cuda":
            queued = torch.cuda.Event()
            queued.record()
        yield
        if queued is None or queued.query():
            self._data_s += time.perf_counter() - started

    def end(self) -> None:
        """The step has ended, at least on the host."""
        if self._is_timed and self.device.type != "cuda":
            self._done.append(StepTimes(step=self._step, data_s=self._data_s, collectives_s=self._blocked_s))
        elif self._is_timed:
            self._open.append((self._step, self._data_s, self._pairs))
            self._collect(is_over=False)
        self._is_timed = False

    def finish(self) -> Sequence[StepTimes]:
        """All timed steps, in order; waits for the device."""
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        self._collect(is_over=True)
        return tuple(self._done)

    @contextmanager
    def collective(self) -> Iterator[None]:
        """The time inside belongs to a collective of the current step."""
        if not self._is_timed:
            yield
        elif self.device.type == "cuda":
            pair = (torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True))
            pair[0].record()
            yield
            pair[1].record()
            self._pairs.append(pair)
        else:
            started = time.perf_counter()
            yield
            self._blocked_s += time.perf_counter() - started

    def _collect(self, *, is_over: bool) -> None:
        while self._open:
            step, data_s, pairs = self._open[0]
            if not is_over and not all(last.query() for _, last in pairs):
                return
            milliseconds = sum(first.elapsed_time(last) for first, last in pairs)
            self._done.append(StepTimes(step=step, data_s=data_s, collectives_s=milliseconds / 1000))
            del self._open[0]


class _Allocating:
    """What FSDP asks of a collective besides the call; as its own ones do it."""

    def __init__(self, times: RankTimes) -> None:
        self._times = times

    def allocate(self, size: Sequence[int], *, dtype: torch.dtype, device: torch.device) -> Tensor:
        """An empty buffer on the device."""
        return torch.empty(*size, dtype=dtype, device=device)


class TimedAllGather(_Allocating):
    """FSDP's own all-gather, timed."""

    def __call__(
        self, output_tensor: Tensor, input_tensor: Tensor, group: dist.ProcessGroup, async_op: bool = False
    ) -> object:
        """The work if `async_op`, which FSDP does not ask for by default."""
        with self._times.collective():
            return all_gather(output_tensor, input_tensor, group=group, async_op=async_op)


class TimedReduceScatter(_Allocating):
    """FSDP's own reduce-scatter, timed."""

    def __call__(
        self,
        output_tensor: Tensor,
        input_tensor: Tensor,
        group: dist.ProcessGroup,
        op: dist.ReduceOp,
        async_op: bool = False,
    ) -> object:
        """The work if `async_op`, which FSDP does not ask for by default."""
        with self._times.collective():
            return reduce_scatter(output_tensor, input_tensor, group=group, op=op, async_op=async_op)
