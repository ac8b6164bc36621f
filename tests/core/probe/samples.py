"""Probes as their files hold them, made up."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from rdlc.core.traffic.prediction import Collective, Traffic

# Two gathers, a reduction, and an all-reduce in every other step.
TRAFFIC = Traffic(
    ranks=2,
    nodes=1,
    backend="nccl",
    rank_bytes=6_815_744,
    node_bytes=0,
    control_bytes=0,
    small_bytes=524_288,
    collectives=(
        Collective(kind="all-gather", what="weights", size_bytes=1 << 22, element_bytes=4, count=2),
        Collective(kind="reduce-scatter", what="gradients", size_bytes=1 << 22, element_bytes=4),
        Collective(kind="all-reduce", what="fingerprint", size_bytes=1 << 20, element_bytes=8, every=2),
    ),
)
LAYOUT: Mapping[str, Any] = {
    "parameters": 1000,
    "trainable_tensors": 3,
    "sharding": "fsdp",
    "units": [
        {"name": "block", "parameters": 600, "reshard_after_forward": True},
        {"name": "", "parameters": 400, "reshard_after_forward": False},
    ],
    "dtypes": {"master": "float32", "compute": "float32", "reduce": "float32"},
}


def arm_line(name: str = "locked", *, ranks: int = 2, **changes: Any) -> dict[str, Any]:
    """The line that begins an arm."""
    places = [
        {"rank": rank, "local_rank": rank, "node_rank": 0, "host": "here", "pid": 100 + rank, "device": "cpu"}
        for rank in range(ranks)
    ]
    return {
        "line": "arm",
        "format": 1,
        "arm": name,
        "note": "",
        "variables": {},
        "backend": "gloo",
        "torch": "2.13.0",
        "nccl": None,
        "seen": {"NCCL_ALGO": "Ring"},
        "ranks": places,
        "layout": dict(LAYOUT),
        **changes,
    }


def size_line(kind: str, size_bytes: int, *seconds: float, arm: str = "locked", why: str = "") -> dict[str, Any]:
    """The line of one kind at one size."""
    return {
        "line": "size",
        "arm": arm,
        "kind": kind,
        "size_bytes": size_bytes,
        "calls_per_repeat": 1,
        "seconds": list(seconds),
        "why": why,
    }


def probe_bytes(lines: Sequence[Mapping[str, Any]]) -> bytes:
    """A `probe.jsonl` of these lines."""
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def one_arm() -> bytes:
    """A gloo probe of two sizes; the larger all-reduce was left out."""
    return probe_bytes(
        [
            arm_line(note="gloo moves everything over TCP sockets, so the locked transport is TCP itself"),
            size_line("all-reduce", 1024, 0.001, 0.003, 0.002),
            size_line("all-reduce", 4096, why="the size before took more than 0.25 s"),
            size_line("all-gather", 1024, 0.001),
            size_line("all-gather", 4096, 0.002),
            size_line("reduce-scatter", 1024, 0.002),
            size_line("reduce-scatter", 4096, 0.004),
        ]
    )


def two_arms() -> bytes:
    """An NCCL probe of two sizes, TCP ten times slower, at the larger size."""
    tcp = {"NCCL_NET": "Socket", "NCCL_P2P_DISABLE": "1", "NCCL_SHM_DISABLE": "1"}
    lines: list[dict[str, Any]] = [arm_line(backend="nccl", nccl="2.28.9")]
    kinds = ("all-reduce", "all-gather", "reduce-scatter")
    lines += [size_line(kind, size, seconds) for kind in kinds for size, seconds in ((1 << 20, 1e-3), (1 << 22, 2e-3))]
    lines.append(arm_line("tcp", backend="nccl", nccl="2.28.9", variables=tcp, note="a stand-in"))
    lines += [
        size_line(kind, size, seconds, arm="tcp")
        for kind in kinds
        for size, seconds in ((1 << 20, 2e-3), (1 << 22, 20e-3))
    ]
    return probe_bytes(lines)
