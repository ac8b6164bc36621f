"""`probe.jsonl`: what a probe measured, a line per transport and a line per kind and size.

The first line of an arm says what was measured, on which ranks; its sizes follow.
"""

import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass, replace

from rdlc.core.canonical import Json
from rdlc.core.fields import Fields
from rdlc.core.lines import Decimal, read_json_lines
from rdlc.core.record import Rank
from rdlc.core.text import one_line
from rdlc.core.traffic.layout import Layout, read_layout
from rdlc.core.traffic.prediction import BACKENDS, KINDS
from rdlc.errors import InputError

PROBE_FILE = "probe.jsonl"
LIMIT_BYTES = 16 << 20
FORMAT = 1
# `locked` is the transport that the lock asks for; `tcp` is what a fallback would use.
ARMS = ("locked", "tcp")
_SIZE_LIMIT = 1 << 40
_RANKS_LIMIT = 1 << 16
_REPEATS_LIMIT = 10_000
_POINTS_LIMIT = 1_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Point:
    """One kind of collective at one size: seconds of one call, by repeat; `why` if there are none."""

    kind: str
    size_bytes: int
    seconds: tuple[float, ...]
    why: str = ""

    @property
    def median_s(self) -> float | None:
        """The median of the repeats; None if it was not measured."""
        return statistics.median(self.seconds) if self.seconds else None


@dataclass(frozen=True, kw_only=True, slots=True)
class Arm:
    """What was measured over one transport.

    `variables` were set for it beside the locked ones, `seen` are those that rank 0 had. `note` says
    what has to be known to read the figures. `processes` are the pids by rank, `devices` their devices.
    """

    name: str
    note: str
    variables: Mapping[str, str]
    seen: Mapping[str, str]
    backend: str
    torch: str
    nccl: str
    ranks: tuple[Rank, ...]
    processes: tuple[int, ...]
    devices: tuple[str, ...]
    layout: Layout
    points: tuple[Point, ...]

    @property
    def nodes(self) -> int:
        """On how many nodes the ranks were."""
        return len({rank.node_rank for rank in self.ranks})

    def point(self, kind: str, size_bytes: int) -> Point | None:
        """What was measured of that kind at that size."""
        found = (each for each in self.points if (each.kind, each.size_bytes) == (kind, size_bytes))
        return next(found, None)


@dataclass(frozen=True, kw_only=True, slots=True)
class Probe:
    """All that a probe measured; `tcp` is None where the locked transport is TCP itself."""

    locked: Arm
    tcp: Arm | None

    @property
    def arms(self) -> tuple[Arm, ...]:
        """The arms, the locked one first."""
        return (self.locked, self.tcp) if self.tcp else (self.locked,)


def read_probe(data: bytes, *, name: str) -> Probe:
    """What stands in the bytes of a `probe.jsonl`; raises InputError for a line that cannot be so."""
    arms: list[Arm] = []
    for fields in read_json_lines(data, name=name, limit_bytes=LIMIT_BYTES):
        if fields.text("line", choices=("arm", "size")) == "arm":
            arms.append(_read_arm(fields, arms))
        elif not arms:
            raise fields.error("line", "an arm is due before its sizes")
        else:
            arms[-1] = _with_point(fields, arms[-1])
    if not arms:
        raise InputError("the probe measured nothing", file=name)
    return Probe(locked=arms[0], tcp=arms[1] if len(arms) > 1 else None)


def _read_arm(fields: Fields, before: list[Arm]) -> Arm:
    if fields.count("format") != FORMAT:
        raise fields.error("format", f"this rdlc reads format {FORMAT}", "`pip install --upgrade rdlc`")
    if len(before) == len(ARMS):
        raise fields.error("line", f"there are {len(ARMS)} arms at most")
    name = fields.text("arm")
    if name != ARMS[len(before)]:
        raise fields.error("arm", f"must be `{ARMS[len(before)]}` here, not `{one_line(name)}`")
    ranks = fields.each("ranks")
    if not 2 <= len(ranks) <= _RANKS_LIMIT:
        raise fields.error("ranks", f"must have from 2 to {_RANKS_LIMIT} entries, not {len(ranks)}")
    arm = Arm(
        name=name,
        note=fields.remark("note"),
        variables=fields.remarks("variables"),
        seen=fields.remarks("seen"),
        backend=fields.text("backend", choices=BACKENDS),
        torch=fields.text("torch"),
        nccl=fields.remark("nccl"),
        ranks=tuple(_read_rank(each, number) for number, each in enumerate(ranks)),
        processes=tuple(each.count("pid") for each in ranks),
        devices=tuple(each.text("device") for each in ranks),
        layout=read_layout(fields.below("layout")),
        points=(),
    )
    if before and (arm.backend, len(arm.ranks)) != (before[0].backend, len(before[0].ranks)):
        raise fields.error("ranks", "must be as many, with the same backend, as in the arm before")
    return arm


def _read_rank(fields: Fields, number: int) -> Rank:
    if (found := fields.count("rank")) != number:
        raise fields.error("rank", f"rank {number} is due here, not {found}")
    return Rank(
        rank=number,
        local_rank=fields.count("local_rank"),
        node_rank=fields.count("node_rank"),
        host=fields.text("host"),
    )


def _with_point(fields: Fields, arm: Arm) -> Arm:
    if (name := fields.text("arm")) != arm.name:
        raise fields.error("arm", f"stands below the arm `{arm.name}`, not `{one_line(name)}`")
    if len(arm.points) >= _POINTS_LIMIT:
        raise fields.error("line", f"an arm has {_POINTS_LIMIT} sizes at most")
    point = Point(
        kind=fields.text("kind", choices=KINDS),
        size_bytes=fields.count("size_bytes", least=1, most=_SIZE_LIMIT),
        seconds=_read_seconds(fields),
        why=fields.remark("why"),
    )
    if not point.seconds and not point.why:
        raise fields.error("seconds", "must not be empty without a reason in `why`")
    last = max((each.size_bytes for each in arm.points if each.kind == point.kind), default=0)
    if point.size_bytes <= last:
        raise fields.error("size_bytes", f"must rise within a kind, not go from {last} to {point.size_bytes}")
    return replace(arm, points=(*arm.points, point))


def _read_seconds(fields: Fields) -> tuple[float, ...]:
    items = fields.items("seconds")
    if len(items) > _REPEATS_LIMIT:
        raise fields.error("seconds", f"must have {_REPEATS_LIMIT} entries at most, not {len(items)}")
    return tuple(_second(fields, index, item) for index, item in enumerate(items))


def _second(fields: Fields, index: int, item: Json) -> float:
    if isinstance(item, int | Decimal) and not isinstance(item, bool):
        number = float(str(item))
        if math.isfinite(number) and number > 0:
            return number
    raise fields.item_error("seconds", index, "must be a number of seconds above 0")
