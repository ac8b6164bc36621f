"""Measurements of ranks, as the recipe writes them."""

import json
from typing import Any

from rdlc.core.metrics.reading import RankMetrics, read_rank_metrics

NAME = "runs/r1/workers/0/metrics.json"


def state(**gpu: Any) -> dict[str, Any]:
    """A device as it is at one moment, an H200 that is well unless its values are changed."""
    alone = gpu.pop("alone_flops_per_s", 690 * 10**12)
    well = {"clock_mhz": 1980, "most_clock_mhz": 1980, "temperature_c": 60, "power_w": 500, "slowed_by": []}
    return {"gpu": {**well, **gpu}, "gpu_why": "", "alone_flops_per_s": alone}


def document(rank: int = 0, *, collectives_s: float | None = 0.05, **changes: Any) -> dict[str, Any]:
    """What a rank writes when training has ended."""
    return {
        "format": 1,
        "rank": rank,
        "node_rank": rank // 2,
        "attempt": 1,
        "warmup_steps": 5,
        "timed": {"steps": 20, "data_s": 0.001, "collectives_s": collectives_s},
        "step_s": {"steps": 95, "p50": 0.3488, "p95": 0.352},
        "memory": {
            "allocated_peak_bytes": 53472 << 20,
            "reserved_peak_bytes": 55000 << 20,
            "total_bytes": 143156 << 20,
            "allocation_retries": 0,
        },
        "start": state(),
        "end": state(),
        **changes,
    }


def rank(number: int = 0, *, collectives_s: float | None = 0.05, **changes: Any) -> RankMetrics:
    """What is read of such a file."""
    text = json.dumps(document(number, collectives_s=collectives_s, **changes))
    return read_rank_metrics(text.encode(), name=NAME)


HOSTS = {0: "a", 1: "a", 2: "b", 3: "b"}
