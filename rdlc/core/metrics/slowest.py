"""Which rank the others wait for: a slow run whose transport was fine has one.

All ranks take the same time for a step, because each collective waits for the last one. The rank that
comes last waits least, so it is the one with the least time in its collectives.
"""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rdlc.core.metrics.reading import RankMetrics, State

# Less than that is what any two ranks differ by.
_LEAST_SHARE, _LEAST_S = 0.10, 0.005
# What a device that is not well differs by, from the median of the others.
_DEVICE_SHARE = 0.10


@dataclass(frozen=True, kw_only=True, slots=True)
class Slowest:
    """The rank that waits least for the others; `stands_out` if they wait for it, `lost_s` a step.

    `signs` says what else is unusual about it.
    """

    rank: int
    node_rank: int
    host: str
    lost_s: float
    step_s: float
    stands_out: bool
    signs: tuple[str, ...]

    @property
    def place(self) -> str:
        """The rank with its node, in words."""
        return f"rank {self.rank} on node {self.node_rank} ({self.host})"


def find_slowest(ranks: Sequence[RankMetrics], hosts: Mapping[int, str]) -> Slowest | None:
    """The slowest of at least two ranks; None where not all of them measured the same attempt."""
    waits = {each.rank: each.timed.collectives_s for each in ranks if each.timed is not None}
    known = {rank: wait for rank, wait in waits.items() if wait is not None}
    if len(ranks) < 2 or len(known) < len(ranks) or len({each.attempt for each in ranks}) > 1:
        return None
    slow = min(ranks, key=lambda each: (known[each.rank], each.rank))
    others = [each for each in ranks if each is not slow]
    if slow.step is None:
        return None
    lost_s = statistics.median(known[each.rank] for each in others) - known[slow.rank]
    return Slowest(
        rank=slow.rank,
        node_rank=slow.node_rank,
        host=hosts.get(slow.rank, "host not known"),
        lost_s=lost_s,
        step_s=slow.step.p50,
        stands_out=lost_s >= max(_LEAST_S, _LEAST_SHARE * slow.step.p50),
        signs=(*_data_signs(slow, others, lost_s), *_device_signs(slow, others)),
    )


def _data_signs(slow: RankMetrics, others: Sequence[RankMetrics], lost_s: float) -> tuple[str, ...]:
    usual = statistics.median(each.timed.data_s for each in others if each.timed is not None)
    if slow.timed is None or slow.timed.data_s - usual < lost_s / 2:
        return ()
    return (f"it waits {slow.timed.data_s * 1000:,.1f} ms for its rows, the others {usual * 1000:,.1f} ms",)


def _device_signs(slow: RankMetrics, others: Sequence[RankMetrics]) -> tuple[str, ...]:
    """What the state of its device says at the end, or at the start where there is no other."""
    state = slow.end or slow.start
    usual = [each.end or each.start for each in others]
    signs = []
    speed = statistics.median(each.alone_flops_per_s for each in usual)
    if state.alone_flops_per_s < (1 - _DEVICE_SHARE) * speed:
        signs.append(f"alone it computes {_tera(state.alone_flops_per_s)}, the others {_tera(speed)}")
    return (*signs, *_gpu_signs(state, usual))


def _gpu_signs(state: State, usual: Sequence[State]) -> tuple[str, ...]:
    clocks = [each.gpu.clock_mhz for each in usual if each.gpu is not None]
    if state.gpu is None:
        return ()
    signs = []
    if clocks and state.gpu.clock_mhz < (1 - _DEVICE_SHARE) * statistics.median(clocks):
        median = round(statistics.median(clocks))
        signs.append(f"its GPU runs at {state.gpu.clock_mhz:,} MHz, the others at {median:,} MHz")
    if state.gpu.slowed_by:
        signs.append(f"its GPU is slowed down by {', '.join(state.gpu.slowed_by)}, at {state.gpu.temperature_c} C")
    return tuple(signs)


def _tera(flops_per_s: float) -> str:
    return f"{flops_per_s / 1e12:,.3g} TFLOP/s"


def describe_slowest(slowest: Slowest) -> str:
    """The sentence for people: who it is and what it costs, or that nobody stands out."""
    step_ms, lost_ms = slowest.step_s * 1000, slowest.lost_s * 1000
    if not slowest.stands_out:
        return (
            f"no rank stands out: their waits for each other differ by {max(lost_ms, 0.0):,.1f} ms "
            f"of a step's {step_ms:,.1f} ms"
        )
    signs = "".join(f"; {sign}" for sign in slowest.signs)
    return f"slowest: {slowest.place}: the others wait {lost_ms:,.1f} ms of a step's {step_ms:,.1f} ms for it{signs}"
