"""The processes of one log file while it is read: which line belongs to which rank of which communicator."""

import re
from dataclasses import dataclass, field

from rdlc.core.transport import grammar
from rdlc.core.transport.envelope import Message, Process
from rdlc.core.transport.facts import ChannelFact, Evidence, NetworkFact, ProcessFacts, RankFacts
from rdlc.core.transport.hops import Hop, read_hop

MOST_RANKS = 50_000
TEXT_LIMIT = 400
_MOST_NAMES = 16
_MOST_HOPS = 10_000
# A line's number, its text, and how many like it Ray held back.
_Place = tuple[int, str, int]


@dataclass(slots=True)
class _Channel:
    kind: str
    name: str
    evidence: Evidence
    count: int = 0
    gpu_direct: int = 0
    repeats: int = 0

    def freeze(self) -> ChannelFact:
        return ChannelFact(
            kind=self.kind,
            name=self.name,
            count=self.count,
            gpu_direct=self.gpu_direct,
            repeats=self.repeats,
            evidence=self.evidence,
        )


@dataclass(slots=True)
class _Network:
    name: str
    evidence: Evidence
    repeats: int
    # How many communicators it was announced for that have not been named yet.
    num_waiting: int = 1

    def freeze(self) -> NetworkFact:
        return NetworkFact(name=self.name, repeats=self.repeats, evidence=self.evidence)


@dataclass(slots=True)
class _Rank:
    pointer: str = ""
    comm_id: str = ""
    parent: str = ""
    group: str = ""
    rank: int | None = None
    num_ranks: int | None = None
    num_nodes: int | None = None
    is_multi_node_nvlink: bool = False
    is_complete: bool = False
    repeats: int = 0
    evidence: Evidence | None = None
    networks: dict[str, _Network] = field(default_factory=dict)
    channels: dict[tuple[str, str], _Channel] = field(default_factory=dict)

    def fits(self, rank: int, peer: int) -> bool:
        """Whether a channel line between these ranks can be of this communicator."""
        if self.rank is None or self.num_ranks is None:
            return True
        return self.rank == rank and peer < self.num_ranks

    def freeze(self) -> RankFacts:
        return RankFacts(
            pointer=self.pointer,
            comm_id=self.comm_id,
            parent=self.parent,
            group=self.group,
            rank=self.rank,
            num_ranks=self.num_ranks,
            num_nodes=self.num_nodes,
            is_multi_node_nvlink=self.is_multi_node_nvlink,
            is_complete=self.is_complete,
            repeats=self.repeats,
            networks=tuple(item.freeze() for item in self.networks.values()),
            channels=tuple(item.freeze() for item in self.channels.values()),
            evidence=self.evidence,
        )


@dataclass(slots=True)
class _State:
    ranks: list[_Rank] = field(default_factory=list)
    # The latest of each address in memory.
    by_pointer: dict[str, _Rank] = field(default_factory=dict)
    # Networks announced before the communicator that uses them.
    waiting: dict[str, _Network] = field(default_factory=dict)
    providers: dict[str, Evidence] = field(default_factory=dict)
    fabrics: dict[str, None] = field(default_factory=dict)
    num_nics: int = 0


# A channel line that was read: of whose process, between which ranks, and its text.
Told = tuple[_State, Hop, str]


class Tracker:
    """Puts what messages say of communicators in its place."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._states: dict[Process, _State] = {}
        self.num_ranks = 0
        self.is_cut = False
        self.hosts: dict[str, None] = {}
        self._hops: dict[str, Hop] = {}

    def take(self, message: Message, number: int) -> bool:
        """Notes what a message on that line says of a communicator; False if it says nothing of one."""
        process, text = message.process, message.text
        if process is None:
            return False
        state = self._state(process)
        if state is None:
            return False
        place = (number, text, message.repeats)
        if text.startswith("Using network "):
            return self._take_network(state, place)
        if text.startswith(("Channel ", "CollNet ")):
            hop = read_hop(text)
            return hop is not None and self._count(state, hop, place)
        if "comm 0x" in text:
            return self._take_communicator(state, place)
        if match := grammar.PROVIDER.match(text):
            return _take_provider(state, match, self._evidence(place))
        return False

    def take_channel(self, process: Process, text: str, number: int) -> Told | None:
        """Notes a channel line of which the process is known already; gives what `take_again` needs, if it is one."""
        state = self._state(process)
        hop = self._hops.get(text)
        if hop is None:
            hop = read_hop(text)
            if hop is not None and len(self._hops) < _MOST_HOPS:
                self._hops[text] = hop
        if state is None or hop is None:
            return None
        self._count(state, hop, (number, text, 0))
        return state, hop, text

    def take_again(self, told: Told, number: int) -> None:
        """Notes a channel line that was the same before."""
        state, hop, text = told
        self._count(state, hop, (number, text, 0))

    def freeze(self) -> tuple[ProcessFacts, ...]:
        """All that was noted, in the order in which the processes first spoke."""
        return tuple(
            ProcessFacts(
                process=process,
                ranks=tuple(rank.freeze() for rank in state.ranks),
                stray_networks=tuple(network.freeze() for network in state.waiting.values()),
                providers=dict(state.providers),
                fabrics=tuple(state.fabrics),
                num_nics=state.num_nics,
            )
            for process, state in self._states.items()
        )

    def _state(self, process: Process) -> _State | None:
        state = self._states.get(process)
        if state is None:
            if len(self._states) >= MOST_RANKS:
                self.is_cut = True
                return None
            state = self._states[process] = _State()
            if len(self.hosts) < _MOST_NAMES * 1024:
                self.hosts[process.host] = None
        return state

    def _new_rank(self, state: _State) -> _Rank:
        rank = _Rank()
        if self.num_ranks >= MOST_RANKS:
            self.is_cut = True
            return rank
        self.num_ranks += 1
        state.ranks.append(rank)
        return rank

    def _take_communicator(self, state: _State, place: _Place) -> bool:
        evidence, (_, text, repeats) = self._evidence(place), place
        if match := grammar.COMM_NODES.search(text):
            rank = self._rank_of(state, match, evidence, comm_id="")
            rank.num_nodes = int(match["nodes"])
            rank.is_multi_node_nvlink = rank.is_multi_node_nvlink or (match["mnnvl"] or "0") != "0"
            rank.evidence = evidence
        elif match := grammar.COMM_INIT.search(text):
            comm_id = grammar.COMM_ID.search(match["middle"])
            rank = self._rank_of(state, match, evidence, comm_id=comm_id[1] if comm_id else "")
            if parent := grammar.COMM_PARENT.search(match["middle"]):
                rank.parent = parent[1]
                rank.group = f"{parent[2] or ''}/{parent[3] or ''}"
            rank.is_complete = rank.is_complete or match["state"] == "COMPLETE"
        else:
            return False
        rank.repeats = max(rank.repeats, repeats)
        self._give_waiting(state, rank)
        return True

    def _rank_of(self, state: _State, match: re.Match[str], evidence: Evidence, *, comm_id: str) -> _Rank:
        """The rank that the line is about; another one if its address now is another communicator's."""
        rank = state.by_pointer.get(match["pointer"])
        if rank is not None and comm_id and rank.comm_id not in ("", comm_id):
            rank = None
        if rank is not None and rank.num_ranks not in (None, int(match["ranks"])):
            rank = None
        if rank is None:
            # Channels that were seen before any line named their communicator were of this one.
            is_first = len(state.ranks) == 1 and not state.ranks[0].pointer
            rank = state.ranks[0] if is_first else self._new_rank(state)
            rank.pointer, rank.evidence = match["pointer"], evidence
            if not self.is_cut:
                state.by_pointer[rank.pointer] = rank
        rank.rank, rank.num_ranks = int(match["rank"]), int(match["ranks"])
        rank.comm_id = rank.comm_id or comm_id
        return rank

    def _give_waiting(self, state: _State, rank: _Rank) -> None:
        if rank.networks:
            return
        for name, network in list(state.waiting.items()):
            rank.networks[name] = _Network(name=name, evidence=network.evidence, repeats=network.repeats)
            network.num_waiting -= 1
            if not network.num_waiting:
                del state.waiting[name]

    def _take_network(self, state: _State, place: _Place) -> bool:
        name = grammar.network_name(place[1].removeprefix("Using network "))
        if not name:
            return False
        last = state.ranks[-1] if state.ranks else None
        owner = state.waiting if last is None or last.networks or not last.pointer else last.networks
        if name in owner:
            owner[name].repeats = max(owner[name].repeats, place[2])
            owner[name].num_waiting += 1
        elif len(owner) < _MOST_NAMES:
            owner[name] = _Network(name=name, evidence=self._evidence(place), repeats=place[2])
        return True

    def _count(self, state: _State, hop: Hop, place: _Place) -> bool:
        rank = self._channel_owner(state, hop.own, hop.peer, hop.path[0])
        channel = rank.channels.get(hop.path)
        if channel is None:
            if len(rank.channels) >= _MOST_NAMES:
                self.is_cut = True
                return True
            kind, name = hop.path
            channel = rank.channels[hop.path] = _Channel(kind=kind, name=name, evidence=self._evidence(place))
        channel.count += 1
        channel.gpu_direct += hop.is_gpu_direct
        channel.repeats += place[2]
        return True

    def _evidence(self, place: _Place) -> Evidence:
        number, text, _ = place
        return Evidence(file=self._name, line=number, text=text[:TEXT_LIMIT])

    def _channel_owner(self, state: _State, own: int, peer: int, kind: str) -> _Rank:
        """The latest communicator of the process that the line fits; over the network, one that spans nodes."""
        last = state.ranks[-1] if state.ranks else None
        if last is not None and last.fits(own, peer) and (kind != "NET" or last.num_nodes != 1):
            return last
        # The latest ones, not all: a process may open thousands.
        fitting = [rank for rank in reversed(state.ranks[-64:]) if rank.fits(own, peer)]
        if kind == "NET":
            fitting.sort(key=lambda rank: rank.num_nodes == 1)
        if fitting:
            return fitting[0]
        if last is not None:
            return last
        rank = self._new_rank(state)
        rank.rank = own
        return rank


def _take_provider(state: _State, match: re.Match[str], evidence: Evidence) -> bool:
    if len(state.providers) < _MOST_NAMES:
        state.providers.setdefault(match["name"], evidence)
    state.num_nics = max(state.num_nics, int(match["nics"]))
    if match["fabric"] and len(state.fabrics) < _MOST_NAMES:
        state.fabrics[match["fabric"]] = None
    return True
