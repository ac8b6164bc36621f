"""NCCL logs made up line by line, in the wording of a version, and judged."""

from collections.abc import Callable, Iterable

from rdlc.core.transport.causes import find_causes
from rdlc.core.transport.scan import Scanner
from rdlc.core.transport.verdict import LogVerdict, judge_logs

COMM_ID = "0x5c2d9a7714e0b36f"


def judge(*texts: str | bytes) -> LogVerdict:
    """The verdict on one job whose files have these texts, named `0.log` and so on."""
    files = []
    for number, text in enumerate(texts):
        scanner = Scanner(f"{number}.log")
        scanner.feed(text.encode() if isinstance(text, str) else text)
        files.append(scanner.finish())
    return judge_logs(files)


def verdict_of(*texts: str | bytes) -> tuple[str, str]:
    """The verdict and the transport."""
    found = judge(*texts)
    return found.verdict, found.transport


def causes_of(*texts: str | bytes) -> list[str]:
    """The words of the likely causes, each with its line."""
    return [f"{cause.word} {cause.evidence.line}" for cause in find_causes(judge(*texts))]


def line(rank: int, text: str, *, per_node: int = 2, host: str = "node", level: str = "INFO") -> str:
    """A line of a rank's process."""
    node, device = divmod(rank, per_node)
    return f"{host}-{node}:{1200 + rank}:{1900 + rank} [{device}] NCCL {level} {text}"


def text_of(lines: Iterable[str]) -> str:
    """A log of these lines."""
    return "".join(f"{line}\n" for line in lines)


def job(
    network: str = "Socket",
    *,
    num_ranks: int = 4,
    per_node: int = 2,
    version: str = "2.29.7",
    provider: str = "",
    networks: dict[int, str] | None = None,
    channels: str | None = None,
    has_nodes_line: bool = True,
    is_complete: bool = True,
    comm_id: str = COMM_ID,
    host: str = "node",
    inside: str = "SHM/direct/direct",
    before: Callable[[int], list[str]] = lambda rank: [],
) -> list[str]:
    """A job's lines, rank by rank: plugin, network, start, size, channels.

    `channels` is the network in channel lines, by default that of the rank; empty for none at all.
    """

    def say(rank: int, text: str) -> str:
        return line(rank, text, per_node=per_node, host=host)

    lines = [] if version else []
    for rank in range(num_ranks):
        name = (networks or {}).get(rank, network)
        lines += [say(rank, f"NCCL version {version}+cuda13.0"), *(say(rank, text) for text in before(rank))]
        if provider and name != "Socket":
            lines.append(say(rank, f"NET/OFI Selected provider is {provider}, fabric is efa (found 1 nics)"))
        if name:
            lines.append(say(rank, f"Using network {name}"))
        start = f"ncclCommInitRankConfig comm 0x{0xA000 + rank:x} rank {rank} nranks {num_ranks} cudaDev {rank % per_node}"
        start += f" nvmlDev {rank % per_node} busId 101c0 commId {comm_id}"
        lines.append(say(rank, f"{start} - Init START"))
        if has_nodes_line:
            sizes = f"nRanks {num_ranks} nNodes {-(-num_ranks // per_node)} localRanks {per_node} localRank {rank % per_node} MNNVL 0"
            lines.append(say(rank, f"comm 0x{0xA000 + rank:x} rank {rank} {sizes}"))
        if is_complete:
            lines.append(say(rank, f"{start} - Init COMPLETE"))
        lines += [say(rank, text) for text in channel_texts(rank, num_ranks, per_node, channels if channels is not None else name, inside)]
    return lines


def channel_texts(rank: int, num_ranks: int, per_node: int, network: str, inside: str) -> list[str]:
    """The channel lines of a rank in a ring."""
    after, before = (rank + 1) % num_ranks, (rank - 1) % num_ranks
    if not network or num_ranks == 1:
        return []
    texts = []
    for channel in range(2):
        if after // per_node == rank // per_node:
            number = f"{channel:02d}" if inside.startswith("SHM") else f"{channel:02d}/0"
            texts.append(f"Channel {number} : {rank}[{rank % per_node}] -> {after}[{after % per_node}] via {inside}")
        else:
            texts.append(f"Channel {channel:02d}/0 : {rank}[{rank % per_node}] -> {after}[{after % per_node}] [send] via NET/{network}/0")
        if before // per_node != rank // per_node:
            texts.append(f"Channel {channel:02d}/0 : {before}[{before % per_node}] -> {rank}[{rank % per_node}] [receive] via NET/{network}/0")
    return texts
