"""Network reports for tests, as the recipe writes them."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from rdlc.core.traffic.reading import NetworkReport, read_network_report

LAYOUT: dict[str, Any] = {
    "parameters": 109_120,
    "trainable_tensors": 26,
    "sharding": "fsdp",
    "units": [
        {"name": "model.layers.0", "parameters": 46_336, "padded_parameters": 46_336, "reshard_after_forward": True},
        {"name": "model.layers.1", "parameters": 46_336, "padded_parameters": 46_336, "reshard_after_forward": True},
        {"name": "", "parameters": 16_448, "padded_parameters": 16_448, "reshard_after_forward": False},
    ],
    "dtypes": {"master": "float32", "compute": "float32", "reduce": "float32"},
    "shape": {"blocks": 2, "attention_width": 64},
}
NO_EFA = "there is no RDMA device"


def counter(sent: int, **changes: int) -> dict[str, int]:
    """A counter that was 0 outside of the steps."""
    return {"sent": sent, "received": sent, "outside_sent": 0, "outside_received": 0, **changes}


def reading(step: int, sockets: Mapping[int, int] | None, **changes: Any) -> dict[str, Any]:
    """A reading after so many steps: bytes sent to each peer, and an interface that did nothing."""
    return {
        "step": step,
        "sockets": None
        if sockets is None
        else {str(rank): {"count": 1, **counter(sent)} for rank, sent in sockets.items()},
        "gone": 0,
        "interfaces": {"lo": counter(999), "eth0": counter(0)},
        "efa": None,
        "why": {"efa": NO_EFA},
        "took_s": 0.001,
        **changes,
    }


def document(rank: int, readings: Sequence[Mapping[str, Any]], **changes: Any) -> dict[str, Any]:
    """One rank's `network.json`, in a world of 2 on 2 nodes."""
    return {
        "format": 1,
        "rank": rank,
        "attempt": 1,
        "node_rank": rank,
        "world_size": 2,
        "host": f"host-{rank}",
        "backend": "gloo",
        "workload": {"layout": LAYOUT, "rows_per_rank": 4, "sequence_length": 32, "fingerprint_every": 1},
        "readings": list(readings),
        "flight_recorder": None,
        "flight_recorder_why": "no step was watched",
        **changes,
    }


def report(rank: int, readings: Sequence[Mapping[str, Any]], **changes: Any) -> NetworkReport:
    """The same, read."""
    data = json.dumps(document(rank, readings, **changes)).encode()
    return read_network_report(data, name="network.json")
