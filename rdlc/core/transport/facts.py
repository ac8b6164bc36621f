"""What one log file says, as values: processes, their ranks in communicators, and single notes."""

from collections.abc import Mapping
from dataclasses import dataclass

from rdlc.core.transport.envelope import Process


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """A line of a file that a verdict rests on."""

    file: str
    line: int
    text: str

    @property
    def place(self) -> str:
        """`file:line`."""
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Note:
    """A line that says something beside a communicator; the kinds are those of `grammar.NOTE_RULES`."""

    kind: str
    value: str
    evidence: Evidence
    process: Process | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ChannelFact:
    """The channel lines of one rank over one path: `kind` is `P2P`, `SHM`, `NET` or `COLLNET`.

    `name` is the network's for `NET`, else how (`CUMEM`, `direct`). `repeats` were held back by Ray.
    """

    kind: str
    name: str
    count: int
    gpu_direct: int
    repeats: int
    evidence: Evidence


@dataclass(frozen=True, kw_only=True, slots=True)
class NetworkFact:
    """A line `Using network NAME`, and how many like it Ray held back."""

    name: str
    repeats: int
    evidence: Evidence


@dataclass(frozen=True, kw_only=True, slots=True)
class RankFacts:
    """One rank in one communicator, as its process tells of it. What was not said is None or empty.

    `group` names a communicator that was split from another: the parent, the split and the color.
    """

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
    networks: tuple[NetworkFact, ...] = ()
    channels: tuple[ChannelFact, ...] = ()
    evidence: Evidence | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ProcessFacts:
    """One process: its communicators in their order, and networks that belong to none of them.

    `num_nics` is how many network cards libfabric's provider found, 0 where no line says it.
    """

    process: Process
    ranks: tuple[RankFacts, ...] = ()
    stray_networks: tuple[NetworkFact, ...] = ()
    providers: Mapping[str, Evidence]
    fabrics: tuple[str, ...] = ()
    num_nics: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class FileFacts:
    """All that is kept of one file, however long it was.

    `is_cut` says that more was said than is kept; `num_unread` counts channel lines beyond those that were
    read one by one; `has_nccl` that NCCL spoke, `mentions_nccl` that
    somebody spoke of it, `has_gloo` that gloo did.
    """

    name: str
    num_bytes: int
    num_lines: int
    has_nccl: bool
    mentions_nccl: bool
    has_gloo: bool
    is_cut: bool
    num_unread: int
    processes: tuple[ProcessFacts, ...]
    notes: tuple[Note, ...]
    versions: Mapping[str, Evidence]
    plugins: Mapping[str, Evidence]
    plugin_paths: Mapping[str, Evidence]
    plugin_names: Mapping[str, Evidence]
    libfabrics: Mapping[str, Evidence]
    interfaces: Mapping[str, Evidence]
    variables: Mapping[str, Mapping[str, Evidence]]
