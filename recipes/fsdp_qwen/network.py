"""What the network really moved between the ranks: readings of counters, in `network.json`.

A reading is taken before the first step, at the end of the warm-up and after the last step, each
time between two steps and outside their time. What a rank's sockets moved to another rank is
matched by address: all ranks tell each other which sockets they have, so that storage, metrics and
whatever else the process talks to is left out. What moves between two readings but outside of the
steps (checkpoints, the readings themselves) is counted apart.

A source that cannot be read gives null and the reason, never 0, and never ends a run.
"""

import os
import socket
import struct
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import torch
import torch.distributed as dist

from fsdp_qwen import flight
from fsdp_qwen.interfaces import Counters, read_efa, read_interfaces
from fsdp_qwen.place import Place
from fsdp_qwen.records import Output, write_document
from fsdp_qwen.sockets import Socket, read_sockets

# A connection by its two ends, seen from this process.
Ends = tuple[str, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Announcement:
    """What a rank tells the others: its network namespace, and the ends of its sockets."""

    namespace: str
    ends: tuple[Ends, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Snapshot:
    """All counters at one moment, by source; a source that could not be read has a reason."""

    sockets: Mapping[Ends, Socket] | None
    interfaces: Counters | None
    efa: Counters | None
    why: Mapping[str, str]


@dataclass(kw_only=True, slots=True)
class Recorder:
    """Takes one rank's readings; all ranks call it in the same order."""

    place: Place
    output: Output
    workload: Mapping[str, object]
    _readings: list[dict[str, object]] = field(default_factory=list)
    _peers: dict[Ends, int] = field(default_factory=dict)
    # Bytes that moved outside of the steps, by source and name.
    _outside: dict[str, Counters] = field(default_factory=dict)
    _flight: flight.Watch = field(default_factory=flight.Watch)

    def read(self, step: int) -> None:
        """A reading after `step` updates; a collective."""
        started = time.perf_counter()
        synchronize(self.place.device)
        asked = time.perf_counter()
        before = take_snapshot()
        read_s = time.perf_counter() - asked
        known = self._peers
        everyone = _exchange(before, self.place)
        self._peers = match(self.place.rank, everyone)
        reading = self._describe(step, before, gone=len(known.keys() - self._peers.keys()), everyone=everyone)
        self._readings.append(reading)
        # Asking the kernel, and all of it: with telling the others, and waiting for them.
        reading["read_s"] = round(read_s, 6)
        reading["took_s"] = round(time.perf_counter() - started, 6)
        self._write()
        # The others may not go on before the counters that the next interval starts from are read.
        synchronize(self.place.device)
        self._add_outside(before, take_snapshot())
        synchronize(self.place.device)
        self._flight.begin(dist.get_backend())

    @contextmanager
    def outside(self) -> Iterator[None]:
        """What moves meanwhile does not count as a step's."""
        before = take_snapshot()
        yield
        self._add_outside(before, take_snapshot())

    def end_step(self, step: int) -> None:
        """Looks at what the flight recorder has of the step after a reading, if it is on; not a collective."""
        self._flight.end(step, dist.get_backend())

    def _describe(
        self, step: int, snapshot: Snapshot, *, gone: int, everyone: Sequence[Announcement]
    ) -> dict[str, object]:
        why = dict(snapshot.why)
        by_peer = None if snapshot.sockets is None else self._by_peer(snapshot.sockets)
        if by_peer is not None and not by_peer and self.place.world_size > 1:
            own = len(everyone[self.place.rank].ends)
            why["sockets"] = f"none of this process's {own} TCP sockets leads to another rank's"
            by_peer = None
        counts: dict[str, int] = {}
        for peer in self._peers.values():
            counts[str(peer)] = counts.get(str(peer), 0) + 1
        return {
            "step": step,
            "sockets": self._counted("sockets", by_peer, counts),
            "gone": gone,
            "interfaces": self._counted("interfaces", snapshot.interfaces, {}),
            "efa": self._counted("efa", snapshot.efa, {}),
            "why": why,
        }

    def _counted(self, source: str, counters: Counters | None, counts: Mapping[str, int]) -> object:
        if counters is None:
            return None
        outside = self._outside.get(source, {})
        rows = {}
        for name, (sent, received) in sorted(counters.items()):
            outside_sent, outside_received = outside.get(name, (0, 0))
            rows[name] = {
                **({"count": counts[name]} if counts else {}),
                "sent": sent,
                "received": received,
                "outside_sent": outside_sent,
                "outside_received": outside_received,
            }
        return rows

    def _by_peer(self, sockets: Mapping[Ends, Socket]) -> Counters:
        totals: Counters = {}
        for ends, peer in self._peers.items():
            if ends in sockets:
                sent, received = totals.get(str(peer), (0, 0))
                totals[str(peer)] = (sent + sockets[ends].sent, received + sockets[ends].received)
        return totals

    def _add_outside(self, before: Snapshot, after: Snapshot) -> None:
        pairs: dict[str, tuple[Counters | None, Counters | None]] = {
            "interfaces": (before.interfaces, after.interfaces),
            "efa": (before.efa, after.efa),
        }
        if before.sockets is not None and after.sockets is not None:
            # Without those that are gone by now, whose bytes are gone too.
            kept = {ends: each for ends, each in before.sockets.items() if ends in after.sockets}
            pairs["sockets"] = (self._by_peer(kept), self._by_peer(after.sockets))
        for source, (old, new) in pairs.items():
            if old is None or new is None:
                continue
            totals = self._outside.setdefault(source, {})
            for name, (sent, received) in new.items():
                old_sent, old_received = old.get(name, (0, 0))
                outside_sent, outside_received = totals.get(name, (0, 0))
                totals[name] = (outside_sent + sent - old_sent, outside_received + received - old_received)

    def _write(self) -> None:
        place = self.place
        document = {
            "format": 1,
            "rank": place.rank,
            "attempt": place.attempt,
            "node_rank": place.node_rank,
            "world_size": place.world_size,
            "host": socket.gethostname(),
            "backend": dist.get_backend(),
            "workload": dict(self.workload),
            "readings": self._readings,
            **self._flight.to_json(),
        }
        write_document(self.output.network(place.rank), document)


def take_snapshot() -> Snapshot:
    """All counters as they are now."""
    why: dict[str, str] = {}
    sockets, interfaces, efa = None, None, None
    try:
        sockets = {(each.local, each.remote): each for each in read_sockets()}
    except (OSError, ValueError, IndexError, struct.error) as error:
        why["sockets"] = f"the kernel's socket diagnostics: {error}"
    try:
        interfaces = read_interfaces()
    except (OSError, ValueError, IndexError) as error:
        why["interfaces"] = str(error)
    try:
        efa = read_efa()
    except (OSError, ValueError) as error:
        why["efa"] = str(error)
    return Snapshot(sockets=sockets, interfaces=interfaces, efa=efa, why=why)


def match(rank: int, everyone: Sequence[Announcement]) -> dict[Ends, int]:
    """Which of a rank's sockets lead to which other rank: the other has one with the ends swapped."""
    own = everyone[rank]
    others = {
        (_scope(local, each.namespace), remote, local): peer
        for peer, each in enumerate(everyone)
        if peer != rank
        for local, remote in each.ends
    }
    found = {(local, remote): others.get((_scope(local, own.namespace), local, remote)) for local, remote in own.ends}
    return {ends: peer for ends, peer in found.items() if peer is not None}


def _scope(end: str, namespace: str) -> str:
    """Loopback addresses mean something in their own network namespace only; all others, everywhere."""
    return namespace if end.startswith(("127.", "::1:")) else ""


def _exchange(snapshot: Snapshot, place: Place) -> list[Announcement]:
    mine = Announcement(namespace=_namespace(), ends=tuple(snapshot.sockets or ()))
    everyone: list[Announcement] = [mine] * place.world_size
    dist.all_gather_object(everyone, mine)
    return everyone


def _namespace() -> str:
    """A name of this network namespace that no other machine has; an unreadable part is left out."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
        return f"{boot}/{os.stat('/proc/self/ns/net').st_ino}"  # noqa: PTH116 - it is no file to open
    except OSError:
        return socket.gethostname()


def synchronize(device: torch.device) -> None:
    """Returns when all ranks have come here, with the work queued on their devices done."""
    dist.all_reduce(token := torch.zeros(1, device=device))
    token.item()
