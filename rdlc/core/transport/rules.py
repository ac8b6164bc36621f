"""The verdict on one communicator: alarm on the first sign of TCP, certify only what all ranks and channels show."""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from rdlc.core.transport.communicators import Communicator
from rdlc.core.transport.envelope import Process
from rdlc.core.transport.facts import ChannelFact, Evidence
from rdlc.core.transport.words import INTRA_NODE, TCP, is_external, joined, transport_of

_MOST_EVIDENCE = 12


@dataclass(frozen=True, kw_only=True, slots=True)
class CommunicatorVerdict:
    """What one communicator used.

    `verdict` is `ok`, `fallback`, `mixed` or `unknown`; `channels` counts channel lines by path.
    `ranks_seen` is how many ranks said which network they have; `num_ranks` None if no line says how
    many there are. `network_hosts` says on which host which network was named. `has_failed` says that it
    did not get as far as moving data, and why is known.
    """

    comm_id: str
    attempt: int
    ranks_seen: int
    num_ranks: int | None
    num_nodes: int
    is_split: bool
    is_complete: bool
    verdict: str
    transport: str
    networks: tuple[str, ...]
    channels: Mapping[str, int]
    gpu_direct: int
    reason: str
    evidence: tuple[Evidence, ...]
    has_failed: bool
    processes: tuple[Process, ...]
    network_hosts: tuple[tuple[str, str, Evidence], ...]

    @property
    def has_channels(self) -> bool:
        """Whether any channel line was seen."""
        return bool(self.channels)

    @property
    def is_one_node(self) -> bool:
        """Whether all its ranks are on one node."""
        return self.num_nodes == 1


@dataclass(frozen=True, kw_only=True, slots=True)
class _View:
    """A communicator with its transports named."""

    comm: Communicator
    by_network: frozenset[str]
    by_channel: frozenset[str]
    unproven: frozenset[str]
    is_covered: bool
    has_failed: bool

    @property
    def transports(self) -> frozenset[str]:
        return self.by_network | self.by_channel

    @property
    def has_network_channels(self) -> bool:
        return any(channel.kind == "NET" for channel in channels_of(self.comm))


def judge_communicator(
    comm: Communicator, *, providers: Collection[str], is_all_told: bool, has_error: bool
) -> CommunicatorVerdict:
    """The verdict on a communicator.

    `providers` are those of the whole job; `is_all_told` says that nothing that Ray held back can be of
    another network; `has_error` that NCCL reported an error.
    """
    view = _look(comm, providers, is_all_told=is_all_told, has_error=has_error)
    verdict, transport, reason = (_judge_one_node if comm.num_nodes == 1 else _judge_nodes)(view)
    if verdict == "unknown" and view.has_failed:
        transport = "none"
    is_hanging = verdict == "mixed" and not comm.is_complete
    return CommunicatorVerdict(
        comm_id=comm.comm_id,
        attempt=comm.attempt,
        ranks_seen=_covered(comm),
        num_ranks=comm.num_ranks,
        num_nodes=comm.num_nodes,
        is_split=comm.is_split,
        is_complete=comm.is_complete,
        verdict=verdict,
        transport=transport,
        networks=tuple(sorted({network.name for member in comm.members for network in member.facts.networks})),
        channels=dict(sorted(_count_channels(comm).items())),
        gpu_direct=sum(channel.gpu_direct for channel in channels_of(comm)),
        reason=reason,
        evidence=_evidence(comm),
        has_failed=view.has_failed or is_hanging,
        processes=tuple(sorted(member.process for member in comm.members)),
        network_hosts=_network_hosts(comm),
    )


def channels_of(comm: Communicator) -> tuple[ChannelFact, ...]:
    """The channel lines of all ranks."""
    return tuple(channel for member in comm.members for channel in member.facts.channels)


def _look(comm: Communicator, providers: Collection[str], *, is_all_told: bool, has_error: bool) -> _View:
    by_network: set[str] = set()
    by_channel: set[str] = set()
    unproven: set[str] = set()
    named = {network.name for member in comm.members for network in member.facts.networks}
    for member in comm.members:
        own = member.providers or (providers if len(providers) == 1 else ())
        channels = [channel.name for channel in member.facts.channels if channel.kind == "NET"]
        paths = [(name, by_channel) for name in channels if not _is_damaged(name, named)]
        names = [(network.name, by_network) for network in member.facts.networks]
        for name, target in (*names, *paths):
            found = transport_of(name, own)
            target.update(found)
            if not found:
                unproven.add(name)
    has_channels = bool(channels_of(comm))
    is_covered = comm.num_ranks is not None and _covered(comm) >= comm.num_ranks
    return _View(
        comm=comm,
        by_network=frozenset(by_network),
        by_channel=frozenset(by_channel),
        unproven=frozenset(unproven),
        is_covered=is_covered and (is_all_told or comm.ranks_named >= (comm.num_ranks or 0)),
        has_failed=has_error and not has_channels,
    )


def _is_damaged(name: str, named: Collection[str]) -> bool:
    """Whether the name is of no network: it is not known, and the ranks that say what they have do not have it."""
    return bool(named) and name not in named and any(map(is_external, transport_of(name, ())))


def _covered(comm: Communicator) -> int:
    """How many ranks are accounted for; in one node a rank's own lines do, without its network's name."""
    return max(comm.ranks_with_network, comm.ranks_named) if comm.num_nodes == 1 else comm.ranks_with_network


def _judge_one_node(view: _View) -> tuple[str, str, str]:
    comm, used = view.comm, view.by_channel
    if comm.num_ranks == 1:
        return "unknown", "none", "one rank alone: there is no peer to move data to"
    if used & TCP and not used - TCP:
        return _alarm(used, f"all ranks are on one node, and their channels still go over {_tcp_words(used)}")
    if used & TCP:
        return "mixed", joined(used), f"within one node, channels use {_listed(used)}"
    return _judge_quiet_node(view)


def _judge_quiet_node(view: _View) -> tuple[str, str, str]:
    """One node of whose channels none goes over TCP."""
    comm, used = view.comm, view.by_channel
    if not comm.has_channels:
        return "unknown", "unknown", "one node, and no channel line shows how its ranks are connected"
    if view.unproven and view.has_network_channels:
        return _no_provider(view)
    if not view.is_covered:
        return "unknown", "unknown", _gap(view)
    if len(used) > 1:
        return "mixed", joined(used), f"within one node, channels use {_listed(used)}"
    if used:
        return "ok", joined(used), f"one node; channels go through the network card ({joined(used)}), not over TCP"
    return "ok", INTRA_NODE, "one node: all channels stay inside it, and no network was used"


def _judge_nodes(view: _View) -> tuple[str, str, str]:
    comm, used = view.comm, view.transports
    if len(used) > 1 or (used & TCP and view.unproven):
        transport = joined(used) if len(used) > 1 else "unknown"
        return "mixed", transport, f"its ranks do not agree on a network: {_listed({*used, *view.unproven})}"
    if _is_all_nvlink(view):
        return "ok", INTRA_NODE, "multi-node NVLink carries all channels, and no network was used"
    if used & TCP and (view.has_network_channels or comm.is_complete):
        return _alarm(used, f"ranks on {comm.num_nodes} nodes talk over {_tcp_words(used)}")
    if used & TCP:
        return "unknown", "unknown", f"{_tcp_words(used)} was chosen, but the communicator never got started"
    return _certify_nodes(view)


def _certify_nodes(view: _View) -> tuple[str, str, str]:
    """Several nodes that show no sign of TCP: certain only if all ranks are covered and channels are there."""
    comm, used = view.comm, view.transports
    if view.unproven:
        return _no_provider(view)
    if not used:
        return "unknown", "unknown", "no line says which network its ranks use"
    if not view.has_network_channels:
        return "unknown", "unknown", f"{_listed(used)} was chosen, and no channel line shows that it was used"
    if not view.is_covered:
        return "unknown", "unknown", _gap(view)
    return "ok", joined(used), f"all {comm.num_ranks} ranks on {comm.num_nodes} nodes use {_listed(used)}"


def _alarm(used: frozenset[str], reason: str) -> tuple[str, str, str]:
    return ("fallback" if len(used) == 1 else "mixed"), joined(used), reason


def _is_all_nvlink(view: _View) -> bool:
    """Whether every rank has channels, and all of them are NVLink's across nodes or inside one."""
    members = [member for member in view.comm.members if member.facts.channels]
    has_mnnvl = any(channel.name == "MNNVL" for member in members for channel in member.facts.channels) and any(
        member.facts.is_multi_node_nvlink for member in members
    )
    ranks = {member.facts.rank for member in members} - {None}
    return has_mnnvl and not view.has_network_channels and len(ranks) == view.comm.num_ranks


def _no_provider(view: _View) -> tuple[str, str, str]:
    return "unknown", "unknown", f"no line names libfabric's provider, and {_listed(view.unproven)} alone may be TCP"


def _gap(view: _View) -> str:
    comm = view.comm
    if comm.num_ranks is None:
        return "no line says how many ranks it has"
    if _covered(comm) >= comm.num_ranks:
        return "lines were held back by Ray, and other networks may be among them"
    return f"only {_covered(comm)} of its {comm.num_ranks} ranks say which network they use"


def _tcp_words(used: Collection[str]) -> str:
    words = {"socket": "TCP sockets", "ofi-tcp": "libfabric's TCP provider"}
    return " and ".join(words.get(word, word) for word in sorted(used))


def _listed(words: Collection[str]) -> str:
    return ", ".join(sorted(words))


def _count_channels(comm: Communicator) -> Counter[str]:
    counted: Counter[str] = Counter()
    for channel in channels_of(comm):
        name = channel.name if channel.kind != "SHM" else ""
        counted[f"{channel.kind}/{name}" if name else channel.kind] += channel.count + channel.repeats
    return counted


def _network_hosts(comm: Communicator) -> tuple[tuple[str, str, Evidence], ...]:
    """On which host which network was named, each once with its first line."""
    found: dict[tuple[str, str], Evidence] = {}
    for member in comm.members:
        for network in member.facts.networks:
            found.setdefault((member.process.host, network.name), network.evidence)
    return tuple((host, name, evidence) for (host, name), evidence in sorted(found.items(), key=_place))


def _place(item: tuple[tuple[str, str], Evidence]) -> tuple[str, str]:
    return item[0]


def _evidence(comm: Communicator) -> tuple[Evidence, ...]:
    """The first line of each kind that the verdict rests on: size, networks, providers, channels."""
    found: dict[str, Evidence] = {}
    for member in comm.members:
        facts = member.facts
        if facts.evidence is not None and facts.num_nodes is not None:
            found.setdefault("nodes", facts.evidence)
        for network in facts.networks:
            found.setdefault(f"network {network.name}", network.evidence)
        for provider, evidence in member.providers.items():
            found.setdefault(f"provider {provider}", evidence)
        for channel in facts.channels:
            found.setdefault(f"channel {channel.kind} {channel.name}", channel.evidence)
    return tuple(found.values())[:_MOST_EVIDENCE]
