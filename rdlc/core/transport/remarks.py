"""What deserves a word beside the verdict: no GPUDirect, odd interfaces, separate worlds, slow paths."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rdlc.core.transport.facts import FileFacts, Note
from rdlc.core.transport.rules import CommunicatorVerdict

# Instance types of which the plugin demands GPUDirect RDMA (its platform map, 1.21).
_GDR_TYPES = re.compile(r"p4d\.|p4de\.|p5\.48|p5e\.|p5en\.|p6|g7e\.(?:12|24|48)")
# How many EFA interfaces an instance of the type can have.
_EFA_INTERFACES = {
    "p4d.24xlarge": 4,
    "p4de.24xlarge": 4,
    "p5.48xlarge": 32,
    "p5e.48xlarge": 32,
    "p5en.48xlarge": 16,
    "p6-b200.48xlarge": 8,
}
# Interfaces that are not a way to another node: loopback, bridges, a pod's link to its node.
VIRTUAL = re.compile(
    r"lo\d*|docker\d*|br-.*|virbr\d*|veth.*|pod-id-link\d*|cni\d*|flannel.*|cilium.*|cali.*|tun\d*|vnet\d*"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Remark:
    """A word for a remark, and the remark as a sentence."""

    word: str
    text: str


def find_remarks(
    files: Sequence[FileFacts], judged: Sequence[CommunicatorVerdict], notes: Sequence[Note]
) -> tuple[Remark, ...]:
    """What deserves a word, in a stated order."""
    remarks = (
        *_gpu_direct(judged, notes),
        *_few_cards(files, notes),
        *_worlds(judged),
        *_interfaces(files),
        *_slow_paths(files, judged),
        *_versions(files, notes),
        *_unread(files),
    )
    return tuple({remark.text: remark for remark in remarks}.values())


def _gpu_direct(judged: Sequence[CommunicatorVerdict], notes: Sequence[Note]) -> Iterator[Remark]:
    types = sorted({note.value for note in notes if note.kind == "platform" and _GDR_TYPES.match(note.value)})
    uses_efa = [comm for comm in judged if comm.transport == "efa" and comm.has_channels]
    if types and uses_efa and not any(comm.gpu_direct for comm in uses_efa):
        named = ", ".join(types)
        text = f"no channel names GPUDirect RDMA (GDRDMA), which {named} has: data goes through the host's memory"
        yield Remark(word="gdrdma-absent", text=text)


def _few_cards(files: Sequence[FileFacts], notes: Sequence[Note]) -> Iterator[Remark]:
    """Processes that found fewer cards than their instance type has; none where no line names the type."""
    types = {note.process: note.value for note in notes if note.kind == "platform"}
    for facts in (facts for file in files for facts in file.processes):
        name = types.get(facts.process, "")
        offered = _EFA_INTERFACES.get(name, 0)
        if any(provider.startswith("efa") for provider in facts.providers) and 0 < facts.num_nics < offered:
            text = f"the plugin found {facts.num_nics} of the {offered} EFA interfaces that {name} can have"
            yield Remark(word="few-nics", text=text)


def _worlds(judged: Sequence[CommunicatorVerdict]) -> Iterator[Remark]:
    """Separate worlds: communicators that were not split from another, started side by side."""
    for attempt in sorted({comm.attempt for comm in judged}):
        roots = [comm for comm in judged if comm.attempt == attempt and not comm.is_split and comm.num_ranks]
        largest = max((comm.num_ranks or 0 for comm in roots), default=0)
        worlds = [comm for comm in roots if comm.num_ranks == largest]
        if len(worlds) > 1 and not _share_processes(worlds):
            text = f"{len(worlds)} separate communicators of {largest} ranks each: they never talk to each other"
            yield Remark(word="world-size", text=text)


def _share_processes(worlds: Iterable[CommunicatorVerdict]) -> bool:
    seen: set[object] = set()
    for comm in worlds:
        if seen & set(comm.processes):
            return True
        seen.update(comm.processes)
    return False


def _interfaces(files: Sequence[FileFacts]) -> Iterator[Remark]:
    names = sorted({name for file in files for name in file.interfaces})
    virtual = [name for name in names if VIRTUAL.fullmatch(name)]
    if virtual:
        text = f"NCCL also took interfaces that lead to no other node: {', '.join(virtual)}; set NCCL_SOCKET_IFNAME"
        yield Remark(word="virtual-interface", text=text)
    elif len(names) > 1:
        yield Remark(word="several-interfaces", text=f"NCCL took several interfaces: {', '.join(names)}")


def _slow_paths(files: Sequence[FileFacts], judged: Sequence[CommunicatorVerdict]) -> Iterator[Remark]:
    is_shm = any("SHM" in comm.channels for comm in judged)
    disabled = any(file.variables.get("NCCL_P2P_DISABLE", {}).keys() & {"1"} for file in files)
    if is_shm and disabled:
        text = "GPUs of a node talk through shared memory, because NCCL_P2P_DISABLE=1 is set"
        yield Remark(word="p2p-disabled", text=text)


def _versions(files: Sequence[FileFacts], notes: Sequence[Note]) -> Iterator[Remark]:
    versions = sorted({version for file in files for version in file.versions})
    if len(versions) > 1 or any(note.kind == "version-mismatch" for note in notes):
        yield Remark(word="version-mismatch", text=f"more than one NCCL in one job: {', '.join(versions)}")


def _unread(files: Sequence[FileFacts]) -> Iterator[Remark]:
    unread = sum(file.num_unread for file in files)
    if unread:
        text = f"{unread} more channel lines like those before them were not counted one by one"
        yield Remark(word="not-all-counted", text=text)
    if any(file.is_cut for file in files):
        yield Remark(word="not-all-kept", text="more ranks or paths are in the logs than are kept")
