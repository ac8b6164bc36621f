"""Why a job fell back, where its logs show it: the likely causes, each with its fix and the line."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rdlc.core.transport.facts import Evidence, Note
from rdlc.core.transport.remarks import VIRTUAL
from rdlc.core.transport.verdict import LogVerdict


@dataclass(frozen=True, kw_only=True, slots=True)
class Cause:
    """A likely cause: its word, what is the matter, what to do, and the line that shows it."""

    word: str
    text: str
    fix: str
    evidence: Evidence


_ASK_FOR_EFA = "ask for EFA in the pod (resources.limits `vpc.amazonaws.com/efa`)"
# What stands in a note, by the note's kind: the cause's word, what is the matter, what to do.
_OF_NOTES = {
    "gdr-check-failed": (
        "gdr-check-failed",
        "the plugin gave up: GPUDirect RDMA is off on {value}, which has it",
        (
            "install the EFA and nvidia-peermem (or DMA-BUF) drivers of the node's AMI; "
            "OFI_NCCL_DISABLE_GDR_REQUIRED_CHECK=1 lets it go on without"
        ),
    ),
    "memory-lock": (
        "memory-lock",
        "memory could not be locked for RDMA ({value})",
        (
            "give the container an unlimited memory lock: `ulimit -l unlimited`, "
            "or CAP_IPC_LOCK and enough huge pages in the pod"
        ),
    ),
    "ofi-failed": (
        "plugin-init-failed",
        "the plugin aws-ofi-nccl could not start: {value}",
        "make the image's CUDA runtime and a libfabric as new as it asks for loadable (LD_LIBRARY_PATH)",
    ),
    "ofi-no-provider": (
        "efa-not-requested",
        "the plugin found no EFA device: {value}",
        (
            "ask for it in the pod (resources.limits `vpc.amazonaws.com/efa`), "
            "and see that the node has its device plugin and interface"
        ),
    ),
    "plugin-load-failed": (
        "plugin-load-failed",
        "the plugin is there and cannot be loaded: {value}",
        "make the library that it misses loadable, in the version it wants (libfabric, libcudart, glibc)",
    ),
    "plugin-refused": (
        "plugin-refused",
        "NCCL refused the plugin: {value}",
        "use an aws-ofi-nccl made for this NCCL",
    ),
    "network-missing": (
        "network-missing",
        "the network that NCCL_NET demands is not there {value}",
        "make the plugin loadable, or take NCCL_NET back",
    ),
    "security-group": (
        "security-group",
        "EFA's packets do not get through ({value})",
        "let the nodes' security group send all traffic to itself and receive all from itself",
    ),
    "ib-unusable": (
        "device-rights",
        "the RDMA device cannot be opened: {value}",
        "give the container /dev/infiniband, and the right to use it",
    ),
    "shm": (
        "shm",
        "shared memory could not be had {value}",
        "enlarge the container's /dev/shm (an emptyDir of medium Memory, or `--shm-size`)",
    ),
    "no-interface": (
        "wrong-interface",
        "NCCL_SOCKET_IFNAME names no interface of this node",
        "set NCCL_SOCKET_IFNAME to one that `ip link` shows, or `^lo,docker`",
    ),
    "version-mismatch": (
        "version-mismatch",
        "the ranks do not have the same NCCL: {value}",
        "install the same packages on every worker",
    ),
}
# Variables that switch a fast path off: the value that does it, and what it does.
_SWITCHES: Mapping[str, tuple[Callable[[str], bool], str]] = {
    "NCCL_IB_DISABLE": (lambda value: value not in {"", "0"}, "switches InfiniBand and RoCE off"),
    "NCCL_NET": (lambda value: value.lower() == "socket", "demands sockets"),
    "NCCL_NET_PLUGIN": (lambda value: value.lower() == "none", "keeps every plugin out"),
    "FI_PROVIDER": (lambda value: "efa" not in value.lower(), "keeps libfabric from EFA"),
    "NCCL_P2P_DISABLE": (lambda value: value not in {"", "0"}, "keeps the GPUs of a node from each other"),
    "NCCL_SHM_DISABLE": (lambda value: value not in {"", "0"}, "keeps the ranks of a node off shared memory"),
}
_IN_NODE = frozenset({"NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE"})


def find_causes(verdict: LogVerdict) -> tuple[Cause, ...]:
    """The likely causes of a fallback, a mix or a failure; the most telling first, none where all is well.

    They are read from the lines of the very job, so each of them is a fact; that it is the cause is likely.
    """
    if verdict.verdict == "ok" or not verdict.is_applicable:
        return ()
    found: dict[str, Cause] = {}
    for search in _SEARCHES:
        for cause in search(verdict):
            found.setdefault(f"{cause.word} {cause.text}", cause)
    by_word: dict[str, Cause] = {}
    for cause in found.values():
        by_word.setdefault(cause.word, cause)
    return tuple(by_word.values())


def _variables(verdict: LogVerdict) -> Iterator[Cause]:
    is_one_node = verdict.num_nodes == 1
    for file in verdict.facts:
        for name, values in file.variables.items():
            for value, evidence in values.items():
                if name not in _SWITCHES or (name in _IN_NODE and not is_one_node):
                    continue
                does, words = _SWITCHES[name]
                if not does(value):
                    continue
                yield Cause(
                    word="variable",
                    text=f"{name}={value} {words}",
                    fix=f"take {name} out of the image, the pod or the launcher",
                    evidence=evidence,
                )


def _provider_tcp(verdict: LogVerdict) -> Iterator[Cause]:
    for file in verdict.facts:
        for process in file.processes:
            for name, evidence in process.providers.items():
                if not name.startswith("efa") and "ofi-tcp" in verdict.transport:
                    yield Cause(
                        word="provider-tcp",
                        text=f"the plugin works, but libfabric gave it the provider `{name}`: no EFA device was found",
                        fix=f"{_ASK_FOR_EFA}, and set FI_PROVIDER=efa",
                        evidence=evidence,
                    )


def _one_sided(verdict: LogVerdict) -> Iterator[Cause]:
    """A network that only some hosts of a communicator have."""
    for comm in verdict.communicators:
        if comm.verdict != "mixed" or "socket" not in comm.transport.split("+"):
            continue
        hosts: dict[str, set[str]] = {}
        lines: dict[str, Evidence] = {}
        for host, name, evidence in comm.network_hosts:
            hosts.setdefault(name, set()).add(host)
            lines.setdefault(name, evidence)
        slow = sorted(hosts.get("Socket", ()))
        if slow and "Socket" in lines:
            others = ", ".join(sorted(set(hosts) - {"Socket"}))
            yield Cause(
                word="one-host-only",
                text=f"sockets on {', '.join(slow)}, {others} on the others: "
                "the driver, device or plugin is not on every node",
                fix=f"give {', '.join(slow)} what the others have: the EFA resource, the plugin, the device nodes",
                evidence=lines["Socket"],
            )


def _from_notes(*kinds: str) -> Callable[[LogVerdict], Iterator[Cause]]:
    def search(verdict: LogVerdict) -> Iterator[Cause]:
        for kind in kinds:
            for note in verdict.notes:
                if note.kind == kind:
                    yield _of_note(note)

    return search


def _of_note(note: Note) -> Cause:
    word, text, fix = _OF_NOTES[note.kind]
    # Not str.format: what a log says may hold braces.
    return Cause(word=word, text=text.replace("{value}", note.value).strip(), fix=fix, evidence=note.evidence)


def _plugin_missing(verdict: LogVerdict) -> Iterator[Cause]:
    """No plugin: said by most jobs on InfiniBand, too, so it is a cause only where sockets were used."""
    if "socket" not in verdict.transport.split("+"):
        return
    for note in verdict.notes:
        if note.kind == "plugin-missing":
            name = note.value or "libnccl-net.so"
            yield Cause(
                word="plugin-missing",
                text=f"NCCL found no network plugin ({name})",
                fix="put aws-ofi-nccl into the image and its folder into LD_LIBRARY_PATH "
                "(/opt/amazon/ofi-nccl/lib64), or set NCCL_NET_PLUGIN to its path",
                evidence=note.evidence,
            )


def _no_device(verdict: LogVerdict) -> Iterator[Cause]:
    if "socket" not in verdict.transport.split("+"):
        return
    for note in verdict.notes:
        if note.kind == "ib-no-device":
            yield Cause(
                word="no-device",
                text="no RDMA device can be seen from the process",
                fix="give the container its device nodes (/dev/infiniband): "
                "on EKS through the resource `vpc.amazonaws.com/efa`",
                evidence=note.evidence,
            )


def _interfaces(verdict: LogVerdict) -> Iterator[Cause]:
    for file in verdict.facts:
        for name, evidence in file.interfaces.items():
            if VIRTUAL.fullmatch(name):
                yield Cause(
                    word="wrong-interface",
                    text=f"NCCL took the interface {name}, which leads to no other node",
                    fix="set NCCL_SOCKET_IFNAME to the interface that the nodes share, as `eth0`",
                    evidence=evidence,
                )


def _errors(verdict: LogVerdict) -> Iterator[Cause]:
    """What NCCL itself says of a run that failed."""
    if not verdict.has_failed:
        return
    for note in verdict.notes:
        if note.kind == "warning":
            yield Cause(
                word="nccl-error",
                text=f"NCCL stopped: {note.value}",
                fix="mend this first: the run moved no data, so nothing can be said of its speed",
                evidence=note.evidence,
            )


_Search = Callable[[LogVerdict], Iterator[Cause]]
_SEARCHES: Sequence[_Search] = (
    _variables,
    _from_notes("network-missing", "no-interface", "memory-lock", "gdr-check-failed", "security-group", "ofi-failed"),
    _one_sided,
    _provider_tcp,
    _from_notes("ofi-no-provider", "plugin-load-failed", "plugin-refused", "ib-unusable"),
    _plugin_missing,
    _from_notes("shm", "version-mismatch"),
    _interfaces,
    _no_device,
    _errors,
)
