"""Communicators, joined from what each of their ranks said, over all files."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from rdlc.core.transport.envelope import Process
from rdlc.core.transport.facts import Evidence, FileFacts, NetworkFact, ProcessFacts, RankFacts

# Among so many communicators a rank that does not say its own is looked for.
_MOST_HOMES = 1024


@dataclass(frozen=True, kw_only=True, slots=True)
class Member:
    """A process in a communicator, with the libfabric providers that it selected."""

    process: Process
    facts: RankFacts
    providers: Mapping[str, Evidence]


@dataclass(frozen=True, kw_only=True, slots=True)
class Communicator:
    """One communicator; `num_nodes` is what NCCL said, or what the hosts and channels say.

    `attempt` counts starts of the same ranks of hosts, from 1.
    """

    comm_id: str
    attempt: int
    num_ranks: int | None
    num_nodes: int
    is_split: bool
    members: tuple[Member, ...]

    @property
    def ranks_named(self) -> int:
        """How many ranks are known from any line of the communicator."""
        return len({member.facts.rank if member.facts.rank is not None else member.process for member in self.members})

    @property
    def ranks_with_network(self) -> int:
        """How many ranks said which network they use; what Ray held back counts, up to all ranks."""
        told = [member for member in self.members if member.facts.networks]
        direct = len({member.facts.rank if member.facts.rank is not None else member.process for member in told})
        held = sum(network.repeats for member in told for network in member.facts.networks)
        return direct + held if self.num_ranks is None else max(direct, min(direct + held, self.num_ranks))

    @property
    def is_complete(self) -> bool:
        """Whether any rank says that its start was completed."""
        return any(member.facts.is_complete for member in self.members)

    @property
    def has_channels(self) -> bool:
        """Whether any channel line was seen."""
        return any(member.facts.channels for member in self.members)


@dataclass(slots=True)
class _Group:
    key: str
    comm_id: str = ""
    is_split: bool = False
    members: dict[Process, Member] = field(default_factory=dict)
    # Other ranks of processes that are named like a member: in another pod with the same host name.
    namesakes: dict[tuple[Process, int], Member] = field(default_factory=dict)
    # Of all members, kept up to date: there can be thousands, and each new one asks.
    num_ranks: int | None = None
    num_nodes: int | None = None
    taken: set[int] = field(default_factory=set)

    def add(self, member: Member) -> None:
        facts = member.facts
        known = self.members.get(member.process)
        if known is None:
            self.members[member.process] = member
        elif facts.rank is None or known.facts.rank in (None, facts.rank):
            self.members[member.process] = _both(known, member)
        else:
            place = (member.process, facts.rank)
            other = self.namesakes.get(place)
            self.namesakes[place] = member if other is None else _both(other, member)
        self.num_ranks = max(self.num_ranks or 0, facts.num_ranks or 0) or None
        self.num_nodes = max(self.num_nodes or 0, facts.num_nodes or 0) or None
        if facts.rank is not None:
            self.taken.add(facts.rank)


def join_communicators(files: Sequence[FileFacts]) -> tuple[Communicator, ...]:
    """The communicators of a job, in the order in which they first appear."""
    processes = _merge_processes(files)
    groups: dict[str, _Group] = {}
    loose: list[Member] = []
    for facts in processes:
        for rank in facts.ranks:
            member = Member(process=facts.process, facts=rank, providers=facts.providers)
            key = _key(rank, facts)
            if key:
                group = groups.setdefault(key, _Group(key=key, comm_id=rank.comm_id, is_split=bool(rank.group)))
                group.add(member)
            else:
                loose.append(member)
    for member in loose:
        _home(groups, member).add(member)
    for member in _strays(processes):
        _home(groups, member).add(member)
    return tuple(_number(groups.values()))


def _merge_processes(files: Sequence[FileFacts]) -> list[ProcessFacts]:
    """Each process once, though several files tell of it, or only some of its lines name its address."""
    addresses: dict[Process, set[str]] = {}
    for facts in (facts for file in files for facts in file.processes):
        addresses.setdefault(replace(facts.process, address=""), set()).add(facts.process.address)
    merged: dict[Process, ProcessFacts] = {}
    for facts in (facts for file in files for facts in file.processes):
        bare = replace(facts.process, address="")
        known = sorted(addresses[bare] - {""})
        process = replace(bare, address=known[0]) if len(known) == 1 else facts.process
        facts = replace(facts, process=process)
        merged[process] = _both_processes(merged[process], facts) if process in merged else facts
    return list(merged.values())


def _both_processes(first: ProcessFacts, second: ProcessFacts) -> ProcessFacts:
    return ProcessFacts(
        process=first.process,
        ranks=(*first.ranks, *second.ranks),
        stray_networks=(*first.stray_networks, *second.stray_networks),
        providers={**second.providers, **first.providers},
        fabrics=tuple(dict.fromkeys((*first.fabrics, *second.fabrics))),
        num_nics=max(first.num_nics, second.num_nics),
    )


def _key(rank: RankFacts, process: ProcessFacts) -> str:
    """What the ranks of one communicator have in common; empty where no line says it."""
    if rank.comm_id:
        return rank.comm_id
    if not rank.group:
        return ""
    parent = next((other for other in process.ranks if other.pointer == rank.parent and other.comm_id), None)
    return f"split {parent.comm_id if parent else ''} {rank.group} {rank.num_ranks}"


def _home(groups: dict[str, _Group], member: Member) -> _Group:
    """The communicator of a rank whose lines do not say of which it is.

    It is the one of the same size, or the largest; of several, the first that lacks the rank. What fits
    none is one of its own.
    """
    facts = member.facts
    looked_at = list(islice(groups.values(), _MOST_HOMES))
    fitting = [
        group
        for group in looked_at
        if facts.num_ranks in (None, group.num_ranks)
        and (facts.num_ranks is not None or not group.is_split)
        and not _is_taken(group, member)
    ]
    if not fitting:
        fitting = [group for group in looked_at if facts.num_ranks in (None, group.num_ranks)]
    if fitting:
        return max(fitting, key=lambda group: (group.num_nodes != 1, group.num_ranks or 0))
    key = f"of {facts.num_ranks} ranks"
    return groups.setdefault(key, _Group(key=key))


def _is_taken(group: _Group, member: Member) -> bool:
    if member.process in group.members:
        return False
    is_full = group.num_ranks is not None and len(group.taken) >= group.num_ranks
    return member.facts.rank in group.taken or is_full


def _strays(processes: Sequence[ProcessFacts]) -> Iterator[Member]:
    """Networks that a process named outside any communicator of its own that has them."""
    for facts in processes:
        used = {network.name for rank in facts.ranks for network in rank.networks}
        strays = tuple(network for network in facts.stray_networks if network.name not in used)
        if strays:
            rank = RankFacts(networks=strays)
            yield Member(process=facts.process, facts=rank, providers=facts.providers)


def _both(first: Member, second: Member) -> Member:
    """One member of what two records say of the same process in the same communicator."""
    one, two = first.facts, second.facts
    networks = {network.name: network for network in (*two.networks, *one.networks)}
    channels = {(channel.kind, channel.name): channel for channel in (*two.channels, *one.channels)}
    facts = RankFacts(
        pointer=one.pointer or two.pointer,
        comm_id=one.comm_id or two.comm_id,
        parent=one.parent or two.parent,
        group=one.group or two.group,
        rank=one.rank if one.rank is not None else two.rank,
        num_ranks=one.num_ranks or two.num_ranks,
        num_nodes=one.num_nodes or two.num_nodes,
        is_multi_node_nvlink=one.is_multi_node_nvlink or two.is_multi_node_nvlink,
        is_complete=one.is_complete or two.is_complete,
        repeats=max(one.repeats, two.repeats),
        networks=tuple(_stronger(networks[name], one, two) for name in networks),
        channels=tuple(channels.values()),
        evidence=one.evidence or two.evidence,
    )
    return Member(process=first.process, facts=facts, providers={**second.providers, **first.providers})


def _stronger(network: NetworkFact, one: RankFacts, two: RankFacts) -> NetworkFact:
    repeats = [item.repeats for item in (*one.networks, *two.networks) if item.name == network.name]
    return replace(network, repeats=max(repeats))


def _number(groups: Iterable[_Group]) -> Iterator[Communicator]:
    """The communicators, each with its attempt: one more than that of an earlier process in the same place."""
    last: dict[tuple[str, str, int], tuple[int, int]] = {}
    for group in groups:
        attempt = 1
        for process in group.members:
            pid, number = last.get((process.host, process.address, process.device), (process.pid, 1))
            attempt = max(attempt, number if pid == process.pid else number + 1)
        for process in group.members:
            last[process.host, process.address, process.device] = (process.pid, attempt)
        members = (*group.members.values(), *group.namesakes.values())
        yield Communicator(
            comm_id=group.comm_id,
            attempt=attempt,
            num_ranks=group.num_ranks,
            num_nodes=group.num_nodes or _nodes_inferred(members),
            is_split=group.is_split,
            members=members,
        )


def _nodes_inferred(members: Sequence[Member]) -> int:
    """How many nodes hosts, addresses and channels speak of, where NCCL does not say it (before 2.20)."""
    found = count_nodes(member.process for member in members)
    has_network = any(channel.kind == "NET" for member in members for channel in member.facts.channels)
    return max(found, 2 if has_network else 1)


def count_nodes(processes: Iterable[Process]) -> int:
    """How many nodes the processes are on: hosts, or addresses where hosts are named alike."""
    places = {(process.host, process.address) for process in processes}
    per_host = Counter(host for host, address in places if address)
    return sum(max(1, per_host[host]) for host in {host for host, _ in places})
