"""What each rank saw the network move: `workers/<rank>/network.json`, untrusted, read into types."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from rdlc.core.fields import Fields
from rdlc.core.lines import read_json_file, seconds
from rdlc.core.text import one_line
from rdlc.core.traffic.layout import Layout, read_layout
from rdlc.core.traffic.prediction import BACKENDS
from rdlc.errors import InputError

NETWORK_FILE = "network.json"
NETWORK_LIMIT_BYTES = 16 << 20

_RANKS_LIMIT = 1 << 20
_READINGS_LIMIT = 1000
_NAMES_LIMIT = 100_000
# What a kernel counts in.
_BYTES_LIMIT = (1 << 64) - 1
_SOURCES = ("sockets", "interfaces", "efa")
_RANK = re.compile("0|[1-9][0-9]{0,6}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Counter:
    """Bytes since some start, without those that moved between steps.

    Below 0 where a socket moved bytes between steps and was closed since: then only `gone` is of use.
    """

    sent: int
    received: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """All counters after `step` updates; None where a source could not be read, and `why` says why.

    `sockets` has a counter per other rank, `gone` the number of sockets between ranks that were
    closed since the reading before, whose bytes are lost. Asking the kernel took `read_s`, and the
    whole reading, with waiting for the other ranks, `took_s`.
    """

    step: int
    sockets: Mapping[int, Counter] | None
    gone: int
    interfaces: Mapping[str, Counter] | None
    efa: Mapping[str, Counter] | None
    why: Mapping[str, str]
    read_s: float
    took_s: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Workload:
    """What the traffic and the FLOPs of a step follow from."""

    layout: Layout
    rows_per_rank: int
    sequence_length: int
    fingerprint_every: int
    micro_steps: int = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Recorded:
    """Collectives of one kind and size in one step, as torch's flight recorder has them."""

    kind: str
    size_bytes: int
    count: int


@dataclass(frozen=True, kw_only=True, slots=True)
class NetworkReport:
    """One rank's readings in one attempt; `recorded` is None where the flight recorder has nothing."""

    rank: int
    attempt: int
    node_rank: int
    world_size: int
    host: str
    backend: str
    workload: Workload
    readings: tuple[Reading, ...]
    recorded: tuple[Recorded, ...] | None


def read_network_report(data: bytes, *, name: str) -> NetworkReport:
    """The report in the bytes of a `network.json`; raises InputError naming file and field."""
    fields = read_json_file(data, name=name, limit_bytes=NETWORK_LIMIT_BYTES)
    try:
        return _read(fields)
    except InputError as error:
        # The file has many lines, and JSON does not say on which one a value stands.
        raise InputError(error.message, hint=error.hint, file=name, field=error.field) from error


def _read(fields: Fields) -> NetworkReport:
    fields.count("format", least=1, most=1)
    world_size = fields.count("world_size", least=1, most=_RANKS_LIMIT)
    workload = fields.below("workload")
    layout = read_layout(workload.below("layout"))
    if world_size % layout.replicas:
        raise workload.below("layout").error(
            "replicas", f"must divide the {world_size} ranks, not be {layout.replicas}"
        )
    return NetworkReport(
        rank=fields.count("rank", most=world_size - 1),
        attempt=fields.count("attempt", least=1),
        node_rank=fields.count("node_rank", most=_RANKS_LIMIT),
        world_size=world_size,
        host=fields.text("host"),
        backend=fields.text("backend", choices=BACKENDS),
        workload=Workload(
            layout=layout,
            rows_per_rank=workload.count("rows_per_rank", least=1, most=1 << 32),
            sequence_length=workload.count("sequence_length", least=1, most=1 << 32),
            fingerprint_every=workload.count("fingerprint_every", least=1, most=1 << 32),
            micro_steps=workload.count("micro_steps", default=1, least=1, most=1 << 20),
        ),
        readings=_read_readings(fields, world_size),
        recorded=_read_recorded(fields.below("flight_recorder")) if fields.has("flight_recorder") else None,
    )


def _read_readings(fields: Fields, world_size: int) -> tuple[Reading, ...]:
    entries = fields.each("readings")
    if len(entries) > _READINGS_LIMIT:
        raise fields.error("readings", f"must have at most {_READINGS_LIMIT} entries, not {len(entries)}")
    readings: list[Reading] = []
    for entry in entries:
        reading = _read_reading(entry, world_size)
        if readings and reading.step <= readings[-1].step:
            raise entry.error("step", f"must rise, not go from {readings[-1].step} to {reading.step}")
        readings.append(reading)
    return tuple(readings)


def _read_reading(fields: Fields, world_size: int) -> Reading:
    counters = {source: _read_counters(fields, source) for source in _SOURCES if fields.has(source)}
    reasons = fields.below("why", default={})
    why = {source: reasons.text(source) for source in _SOURCES if reasons.has(source)}
    for source in _SOURCES:
        if source not in counters:
            why.setdefault(source, "no reason was given")
    return Reading(
        step=fields.count("step"),
        sockets=_by_rank(fields, counters["sockets"], world_size) if "sockets" in counters else None,
        gone=fields.count("gone", default=0),
        interfaces=counters.get("interfaces"),
        efa=counters.get("efa"),
        why=why,
        read_s=seconds(fields, "read_s"),
        took_s=seconds(fields, "took_s"),
    )


def _read_counters(fields: Fields, source: str) -> dict[str, Counter]:
    below = fields.below(source)
    if len(below.values) > _NAMES_LIMIT:
        raise fields.error(source, f"must have at most {_NAMES_LIMIT} entries, not {len(below.values)}")
    return {name: _read_counter(below.below(name)) for name in below.names()}


def _read_counter(fields: Fields) -> Counter:
    return Counter(sent=_in_steps(fields, "sent"), received=_in_steps(fields, "received"))


def _in_steps(fields: Fields, key: str) -> int:
    outside = fields.count(f"outside_{key}", default=0, most=_BYTES_LIMIT)
    return fields.count(key, most=_BYTES_LIMIT) - outside


def _by_rank(fields: Fields, counters: Mapping[str, Counter], world_size: int) -> dict[int, Counter]:
    for name in counters:
        if not _RANK.fullmatch(name) or int(name) >= world_size:
            raise fields.error("sockets", f"`{one_line(name)}` is no rank of a world of {world_size}")
    return {int(name): counter for name, counter in counters.items()}


def _read_recorded(fields: Fields) -> tuple[Recorded, ...]:
    entries = fields.each("collectives")
    if len(entries) > _NAMES_LIMIT:
        raise fields.error("collectives", f"must have at most {_NAMES_LIMIT} entries, not {len(entries)}")
    return tuple(
        Recorded(
            kind=one_line(entry.text("kind")),
            size_bytes=entry.count("bytes", most=_BYTES_LIMIT),
            count=entry.count("count", least=1, most=1 << 32),
        )
        for entry in entries
    )
