"""Measures collectives by size, on the ranks of a process group that already exists.

The sizes are those of nccl-tests: an all-reduce's buffer, an all-gather's whole output, a
reduce-scatter's whole input. Each size is made a multiple of all ranks' elements.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
import torch.distributed as dist

from fsdp_qwen.collectives import all_gather, reduce_scatter
from fsdp_qwen.place import Place

KINDS = ("all-reduce", "all-gather", "reduce-scatter")

_KIB, _MIB = 1 << 10, 1 << 20
_LARGEST = {"cpu": 16 * _MIB, "cuda": 256 * _MIB}
# A kind whose one call takes longer is not measured at larger sizes, so that a probe comes to an
# end.
_SLOW_S = {"cpu": 0.25, "cuda": 1.0}
_WARM_UP = 2
_REPEATS = 7
# Small calls are timed many at once: the barrier before them ends on each rank a moment apart.
_TOGETHER = ((64 * _KIB, 20), (_MIB, 5))
_ELEMENT = torch.float32


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """One kind at one size: seconds per call of each repeat, on the slowest rank.

    `why` says why nothing was measured; "" if it was.
    """

    kind: str
    size_bytes: int
    calls_per_repeat: int
    seconds: tuple[float, ...]
    why: str = ""

    def to_json(self) -> dict[str, object]:
        """What the line in `probe.jsonl` says of it."""
        return {
            "kind": self.kind,
            "size_bytes": self.size_bytes,
            "calls_per_repeat": self.calls_per_repeat,
            "seconds": [round(each, 9) for each in self.seconds],
            "why": self.why,
        }


def probe_sizes(device: str) -> tuple[int, ...]:
    """The sizes in bytes: from 1 KiB by factors of 4 to what is quick enough on that kind of device."""
    sizes = [_KIB]
    while sizes[-1] * 4 <= _LARGEST[device]:
        sizes.append(sizes[-1] * 4)
    return tuple(sizes)


def measure_kind(kind: str, place: Place) -> Iterator[Measured]:
    """Every size of one kind, smallest first; all ranks must go through it together."""
    device, last_s = place.device.type, 0.0
    for size in probe_sizes(device):
        shard = shard_elements(size, place.world_size)
        whole_bytes = shard * place.world_size * _ELEMENT.itemsize
        if last_s > _SLOW_S[device]:
            why = f"the size before took more than {_SLOW_S[device]:g} s"
            yield Measured(kind=kind, size_bytes=whole_bytes, calls_per_repeat=0, seconds=(), why=why)
            continue
        calls = next((calls for limit, calls in _TOGETHER if size <= limit), 1)
        seconds = _time(_call(kind, shard, place), place, calls=calls)
        last_s = sorted(seconds)[len(seconds) // 2]
        yield Measured(kind=kind, size_bytes=whole_bytes, calls_per_repeat=calls, seconds=seconds)


def shard_elements(size_bytes: int, ranks: int) -> int:
    """How many elements each rank has of about so many bytes in all; at least one."""
    return max(1, size_bytes // _ELEMENT.itemsize // ranks)


def _call(kind: str, shard: int, place: Place) -> Callable[[], object]:
    """The collective as FSDP2 calls it; on gloo, too, whatever that does inside."""
    # Filled, so that the memory is really there.
    part = torch.empty(shard, dtype=_ELEMENT, device=place.device).fill_(0.0)
    whole = torch.empty(shard * place.world_size, dtype=_ELEMENT, device=place.device).fill_(0.0)
    calls: dict[str, Callable[[], object]] = {
        "all-reduce": lambda: dist.all_reduce(whole),
        "all-gather": lambda: all_gather(whole, part),
        "reduce-scatter": lambda: reduce_scatter(part, whole),
    }
    return calls[kind]


def _time(call: Callable[[], object], place: Place, *, calls: int) -> tuple[float, ...]:
    """Seconds per call of each repeat; the slowest rank's, so all ranks get the same."""
    mark = torch.zeros(1, device=place.device)
    for _ in range(_WARM_UP):
        _repeat(call, mark, calls=calls)
    own = [_repeat(call, mark, calls=calls) / calls for _ in range(_REPEATS)]
    slowest = torch.tensor(own, dtype=torch.float64, device=place.device)
    dist.all_reduce(slowest, op=dist.ReduceOp.MAX)
    return tuple(slowest.tolist())


def _repeat(call: Callable[[], object], mark: torch.Tensor, *, calls: int) -> float:
    # One element from every rank to every rank: the barrier that both backends have.
    dist.all_reduce(mark)
    _wait(mark)
    begun = time.perf_counter()
    for _ in range(calls):
        call()
    _wait(mark)
    return time.perf_counter() - begun


def _wait(mark: torch.Tensor) -> None:
    if mark.is_cuda:
        torch.cuda.synchronize()
