"""What torch's flight recorder has of one step: each collective by kind, with the bytes of the whole.

It is on where `TORCH_FR_BUFFER_SIZE` is above 0 (torch's own choice, not the recipe's). Its interface
is private, so whatever it does or no longer has leads to a reason, and never ends a run.
"""

import pickle
from dataclasses import dataclass
from typing import Any

_ELEMENT_BYTES = {
    "Double": 8,
    "Long": 8,
    "Float": 4,
    "Int": 4,
    "BFloat16": 2,
    "Half": 2,
    "Short": 2,
    "Byte": 1,
    "Char": 1,
    "Bool": 1,
}
# By what follows the backend in a collective's name, and whether its output is the whole.
_KINDS = {
    "all_reduce": ("all-reduce", False),
    "all_gather": ("all-gather", True),
    "_all_gather_base": ("all-gather", True),
    "all_gather_into_tensor": ("all-gather", True),
    "reduce_scatter": ("reduce-scatter", False),
    "_reduce_scatter_base": ("reduce-scatter", False),
    "reduce_scatter_tensor": ("reduce-scatter", False),
}


@dataclass(kw_only=True, slots=True)
class Watch:
    """Watches the first step after each reading; keeps what it saw of the newest such step."""

    _last: int | None = None
    _found: dict[str, object] | None = None
    _why: str = "no step was watched"

    def begin(self, backend: str) -> None:
        """What is recorded up to now belongs to no step."""
        entries = self._read(backend)
        self._last = max((entry["record_id"] for entry in entries), default=-1) if entries is not None else None

    def end(self, step: int, backend: str) -> None:
        """What was recorded since belongs to this step."""
        if self._last is None:
            return
        last, self._last = self._last, None
        entries = self._read(backend)
        if entries is None:
            return
        new = [entry for entry in entries if entry["record_id"] > last]
        if len(new) != max(entry["record_id"] for entry in entries) - last:
            self._found, self._why = None, "its buffer is too small for the collectives of a step"
            return
        try:
            self._found, self._why = {"step": step, "collectives": summarize(new)}, ""
        except Exception as error:  # noqa: BLE001 - a private format that may change
            self._found, self._why = None, f"the entries cannot be read: {error!r}"

    def to_json(self) -> dict[str, object]:
        """The fields `flight_recorder`, and why it is null."""
        return {"flight_recorder": self._found, "flight_recorder_why": self._why}

    def _read(self, backend: str) -> list[dict[str, Any]] | None:
        try:
            entries = read_entries(backend)
        except Exception as error:  # noqa: BLE001 - a private function that may change
            self._why = f"it cannot be read: {error!r}"
            return None
        if not entries:
            self._why = "it is off, or recorded nothing"
            return None
        return entries


def read_entries(backend: str) -> list[dict[str, Any]]:
    """The recorder's entries of this process, oldest first."""
    import torch._C._distributed_c10d as c10d

    name = "_dump_nccl_trace" if backend == "nccl" else "_dump_fr_trace"
    dump = getattr(c10d, name)(includeCollectives=True, includeStackTraces=False, onlyActive=False)
    # Made by torch in this process: nobody else's bytes.
    entries: list[dict[str, Any]] = pickle.loads(dump).get("entries", [])  # noqa: S301
    return entries


def summarize(entries: list[dict[str, Any]]) -> list[dict[str, object]]:
    """How often each kind of collective ran with each size; `bytes` is the whole of one of them."""
    counts: dict[tuple[str, int], int] = {}
    for entry in entries:
        kind, is_output = _KINDS.get(entry["profiling_name"].partition(":")[2], ("", False))
        kind = kind or entry["profiling_name"]
        side = "output" if is_output else "input"
        size = sum(
            _elements(sizes) * _ELEMENT_BYTES[dtype]
            for sizes, dtype in zip(entry[f"{side}_sizes"], entry[f"{side}_dtypes"], strict=False)
        )
        counts[kind, size] = counts.get((kind, size), 0) + 1
    return [{"kind": kind, "bytes": size, "count": count} for (kind, size), count in sorted(counts.items())]


def _elements(sizes: list[int]) -> int:
    elements = 1
    for size in sizes:
        elements *= size
    return elements
