"""Bandwidth by size as panels to draw, one for each kind of collective, all on one scale."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rdlc.core.probe.prediction import Row
from rdlc.core.traffic.prediction import KINDS

_BINARY = (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10))
_DECIMAL = (("GB/s", 1e9), ("MB/s", 1e6), ("kB/s", 1e3))
_TIMES = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6))


@dataclass(frozen=True, kw_only=True, slots=True)
class Panel:
    """One kind: for each arm its sizes in bytes with their bus bandwidth in bytes per second, sizes rising."""

    kind: str
    series: Mapping[str, tuple[tuple[int, float], ...]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Scale:
    """What all panels share: the sizes on the axis, and whole powers of ten around the bandwidths."""

    sizes: tuple[int, ...]
    lowest: int
    highest: int

    def across(self, size: int) -> float:
        """Where a size is on its logarithmic axis, from 0 to 1."""
        low, high = math.log2(self.sizes[0]), math.log2(self.sizes[-1])
        return (math.log2(size) - low) / (high - low) if high > low else 0.5

    def up(self, bytes_per_s: float) -> float:
        """Where a bandwidth is on its logarithmic axis, from 0 to 1."""
        return (math.log10(bytes_per_s) - self.lowest) / (self.highest - self.lowest)


def make_panels(rows: Sequence[Row]) -> tuple[Panel, ...]:
    """The panels of a probe's rows; arms and kinds without a figure are left out."""
    panels = []
    for kind in KINDS:
        of_kind = [row for row in rows if row.kind == kind]
        found = {
            "locked": tuple((row.size_bytes, row.locked_busbw) for row in of_kind if row.locked_busbw is not None),
            "tcp": tuple((row.size_bytes, row.tcp_busbw) for row in of_kind if row.tcp_busbw is not None),
        }
        series = {arm: points for arm, points in found.items() if points}
        if series:
            panels.append(Panel(kind=kind, series=series))
    return tuple(panels)


def make_scale(panels: Sequence[Panel]) -> Scale:
    """The scale on which all of them fit; of at least one panel."""
    points = [point for panel in panels for series in panel.series.values() for point in series]
    rates = [rate for _, rate in points]
    lowest = math.floor(math.log10(min(rates)))
    return Scale(
        sizes=tuple(sorted({size for size, _ in points})),
        lowest=lowest,
        highest=max(math.ceil(math.log10(max(rates))), lowest + 1),
    )


def size_words(size_bytes: int) -> str:
    """A size in the largest unit that divides it: `4 MiB`, `1,020 B`."""
    for unit, of in _BINARY:
        if size_bytes % of == 0:
            return f"{size_bytes // of:,} {unit}"
    return f"{size_bytes:,} B"


def rate_words(bytes_per_s: float) -> str:
    """A bandwidth with three digits, in decimal units as nccl-tests has them: `1.23 GB/s`."""
    for unit, of in _DECIMAL:
        if bytes_per_s >= of:
            return f"{_three_digits(bytes_per_s / of)} {unit}"
    return f"{_three_digits(bytes_per_s)} B/s"


def tick_words(exponent: int) -> str:
    """A power of ten bytes per second: `100 MB/s`."""
    for unit, of in _DECIMAL:
        if 10.0**exponent >= of:
            return f"{10.0**exponent / of:,.0f} {unit}"
    return f"{10.0**exponent:,g} B/s"


def time_words(seconds: float) -> str:
    """A time with three digits: `1.23 ms`."""
    for unit, of in _TIMES:
        if seconds >= of:
            return f"{_three_digits(seconds / of)} {unit}"
    return f"{_three_digits(seconds / 1e-6)} us"


def _three_digits(number: float) -> str:
    if number >= 99.95:
        return f"{number:,.0f}"
    return f"{number:.1f}" if number >= 9.995 else f"{number:.2f}"
