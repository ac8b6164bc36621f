"""The verdict on a job: its communicators judged, those that say nothing left aside, attempts told apart."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rdlc.core.transport.communicators import Communicator, count_nodes, join_communicators
from rdlc.core.transport.facts import Evidence, FileFacts, Note
from rdlc.core.transport.remarks import find_remarks
from rdlc.core.transport.rules import CommunicatorVerdict, channels_of, judge_communicator
from rdlc.core.transport.words import INTRA_NODE, joined


@dataclass(frozen=True, kw_only=True, slots=True)
class Attempt:
    """What one attempt of a job used; `comm_id` is of its largest communicator."""

    number: int
    comm_id: str
    verdict: str
    transport: str


@dataclass(frozen=True, kw_only=True, slots=True)
class LogVerdict:
    """What the logs of a job prove.

    `verdict` is `ok`, `fallback`, `mixed` or `unknown`, `transport` a word of `words.py`, `none` or
    `unknown`. Where `is_applicable` is False there was no transport to judge: no NCCL, or one rank alone.
    `warnings` are sentences, `warning_words` what each is called; `variables` are the names and values of
    NCCL_*, FI_* and OFI_NCCL_* that NCCL said were set.
    """

    verdict: str
    transport: str
    is_applicable: bool
    reason: str
    communicators: tuple[CommunicatorVerdict, ...]
    attempts: tuple[Attempt, ...]
    num_nodes: int | None
    nccl_versions: tuple[str, ...]
    providers: tuple[str, ...]
    fabrics: tuple[str, ...]
    plugin_names: tuple[str, ...]
    plugin_paths: tuple[str, ...]
    plugin_versions: tuple[str, ...]
    libfabric_versions: tuple[str, ...]
    interfaces: tuple[str, ...]
    variables: Mapping[str, tuple[str, ...]]
    has_failed: bool
    warnings: tuple[str, ...]
    warning_words: tuple[str, ...]
    notes: tuple[Note, ...]
    facts: tuple[FileFacts, ...]

    @property
    def gpu_direct(self) -> int:
        """How many channel lines name GPUDirect RDMA."""
        return sum(comm.gpu_direct for comm in self.communicators)

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """The lines that the verdict rests on."""
        return tuple(dict.fromkeys(line for comm in self.communicators for line in comm.evidence))


@dataclass(frozen=True, kw_only=True, slots=True)
class _Decision:
    verdict: str
    transport: str
    reason: str
    is_applicable: bool = True


def judge_logs(files: Sequence[FileFacts]) -> LogVerdict:
    """What the logs of one job prove of its transport."""
    comms = join_communicators(files)
    notes = tuple(note for file in files for note in file.notes)
    providers = _names(provider for file in files for facts in file.processes for provider in facts.providers)
    has_error = has_hard_error(notes)
    is_all_told = _is_all_told(comms)
    judged = tuple(
        judge_communicator(comm, providers=providers, is_all_told=is_all_told, has_error=has_error) for comm in comms
    )
    decision = _decide(files, judged, has_error=has_error)
    remarks = find_remarks(files, judged, notes)
    return LogVerdict(
        verdict=decision.verdict,
        transport=decision.transport,
        is_applicable=decision.is_applicable,
        reason=decision.reason,
        communicators=judged,
        attempts=_attempts(judged),
        num_nodes=_num_nodes(files, judged),
        nccl_versions=_names(version for file in files for version in file.versions),
        providers=providers,
        fabrics=_names(fabric for file in files for facts in file.processes for fabric in facts.fabrics),
        plugin_names=_names(name for file in files for name in file.plugin_names),
        plugin_paths=_names(path for file in files for path in file.plugin_paths),
        plugin_versions=_names(version for file in files for version in file.plugins),
        libfabric_versions=_names(version for file in files for version in file.libfabrics),
        interfaces=_names(name for file in files for name in file.interfaces),
        variables=_variables(files),
        has_failed=_has_failed(judged, notes, has_error=has_error),
        warnings=tuple(remark.text for remark in remarks),
        warning_words=tuple(remark.word for remark in remarks),
        notes=notes,
        facts=tuple(files),
    )


def has_hard_error(notes: Iterable[Note]) -> bool:
    """Whether NCCL itself gave up: a warning of its own, a missing network, no interface; not a plugin's."""
    return any(note.kind in {"warning", "network-missing", "no-interface", "memory-lock"} for note in notes)


def _decide(files: Sequence[FileFacts], judged: Sequence[CommunicatorVerdict], *, has_error: bool) -> _Decision:
    if not judged:
        return _without_communicators(files, has_error=has_error)
    weighty = _weighty(judged)
    if not weighty:
        word = "none" if has_error or all(comm.transport == "none" for comm in judged) else "unknown"
        is_alone = len(judged) == 1 and judged[0].num_ranks == 1
        return _Decision(verdict="unknown", transport=word, reason=judged[0].reason, is_applicable=not is_alone)
    decision = _combine(weighty)
    if decision.verdict == "ok" and any(file.is_cut for file in files):
        reason = "the log says more than is kept of it, so a part of it may say something else"
        return _Decision(verdict="unknown", transport="unknown", reason=reason)
    return decision


def _without_communicators(files: Sequence[FileFacts], *, has_error: bool) -> _Decision:
    if any(file.has_nccl for file in files):
        reason = "NCCL stopped before any communicator was made" if has_error else "no line names a communicator"
        return _Decision(verdict="unknown", transport="none" if has_error else "unknown", reason=reason)
    if any(file.versions for file in files):
        reason = "NCCL said its version and nothing else: set NCCL_DEBUG=INFO"
        return _Decision(verdict="unknown", transport="unknown", reason=reason)
    has_gloo = any(file.has_gloo for file in files) and not any(file.mentions_nccl for file in files)
    if has_gloo:
        reason = "NCCL was not used: the workers talk over gloo, which has one transport, TCP"
        return _Decision(verdict="unknown", transport="unknown", reason=reason, is_applicable=False)
    reason = "there is no line of NCCL: set NCCL_DEBUG=INFO, and read the files that NCCL_DEBUG_FILE names"
    return _Decision(verdict="unknown", transport="unknown", reason=reason)


def _weighty(judged: Sequence[CommunicatorVerdict]) -> list[CommunicatorVerdict]:
    """The communicators that the verdict on the job rests on.

    Not a rank alone; not one inside a node beside one between nodes, unless it is an alarm; not one that
    never moved data beside one that did, over the same networks, or that failed before another attempt.
    """
    alarms = [comm for comm in judged if comm.verdict in {"fallback", "mixed"}]
    several = [comm for comm in judged if comm.num_ranks != 1]
    between = [comm for comm in several if not comm.is_one_node] or several
    proven = [comm for comm in between if comm.verdict == "ok"]
    rest = [comm for comm in between if comm.verdict == "unknown" and not _is_idle(comm, proven)]
    return list({id(comm): comm for comm in (*alarms, *proven, *rest)}.values())


def _is_idle(comm: CommunicatorVerdict, proven: Sequence[CommunicatorVerdict]) -> bool:
    if comm.has_channels or not proven:
        return False
    if comm.has_failed or not comm.is_complete:
        return any(other.attempt > comm.attempt for other in proven)
    networks = {network for other in proven for network in other.networks}
    return bool(comm.networks) and set(comm.networks) <= networks


def _combine(weighty: Sequence[CommunicatorVerdict]) -> _Decision:
    by_verdict = {verdict: [comm for comm in weighty if comm.verdict == verdict] for verdict in _ORDER}
    seen = {word for comm in weighty if comm.verdict != "unknown" for word in comm.transport.split("+")}
    seen = seen - {INTRA_NODE, "unknown"} or seen
    if by_verdict["mixed"]:
        return _Decision(verdict="mixed", transport=joined(seen), reason=by_verdict["mixed"][0].reason)
    if by_verdict["fallback"]:
        if len(seen) == 1:
            return _Decision(verdict="fallback", transport=joined(seen), reason=by_verdict["fallback"][0].reason)
        return _Decision(verdict="mixed", transport=joined(seen), reason=_difference(weighty))
    if by_verdict["unknown"]:
        first = by_verdict["unknown"][0]
        return _Decision(verdict="unknown", transport=first.transport, reason=first.reason)
    if len(seen) == 1:
        largest = max(weighty, key=lambda comm: comm.num_ranks or 0)
        return _Decision(verdict="ok", transport=joined(seen), reason=largest.reason)
    return _Decision(verdict="mixed", transport=joined(seen), reason=_difference(weighty))


_ORDER = ("mixed", "fallback", "unknown", "ok")


def _difference(weighty: Sequence[CommunicatorVerdict]) -> str:
    used = {(comm.attempt, comm.transport) for comm in weighty if comm.verdict != "unknown"}
    by_attempt = dict(sorted(used))
    if len(by_attempt) > 1:
        told = ", ".join(f"attempt {attempt} {transport}" for attempt, transport in by_attempt.items())
        return f"not every attempt used the same transport: {told}"
    return f"not every communicator used the same transport: {', '.join(sorted(word for _, word in used))}"


def _attempts(judged: Sequence[CommunicatorVerdict]) -> tuple[Attempt, ...]:
    found = []
    for number in sorted({comm.attempt for comm in judged}):
        own = [comm for comm in judged if comm.attempt == number]
        decision = _combine(_weighty(own) or own)
        largest = max(own, key=lambda comm: (not comm.is_split, comm.num_ranks or 0))
        found.append(
            Attempt(
                number=number,
                comm_id=largest.comm_id,
                verdict=decision.verdict,
                transport=decision.transport,
            )
        )
    return tuple(found)


def _is_all_told(comms: Sequence[Communicator]) -> bool:
    """Whether as many ranks named their network as there are in all communicators together.

    Then no other network's line can be among those that Ray held back.
    """
    networks = [network for comm in comms for member in comm.members for network in member.facts.networks]
    repeats = sum(network.repeats for network in networks)
    repeats += sum(channel.repeats for comm in comms for channel in channels_of(comm))
    if not repeats:
        return True
    told = len(networks) + sum(network.repeats for network in networks)
    return told >= sum(comm.num_ranks or 0 for comm in comms)


def _has_failed(judged: Sequence[CommunicatorVerdict], notes: Sequence[Note], *, has_error: bool) -> bool:
    kinds = {note.kind for note in notes}
    is_moving = any(comm.has_channels or comm.verdict == "ok" for comm in judged)
    return any(comm.has_failed for comm in judged) or (has_error and ("error" in kinds or not is_moving))


def _num_nodes(files: Sequence[FileFacts], judged: Sequence[CommunicatorVerdict]) -> int | None:
    if judged:
        return max(comm.num_nodes for comm in judged)
    processes = [facts.process for file in files for facts in file.processes]
    return count_nodes(processes) if processes else None


def _variables(files: Sequence[FileFacts]) -> dict[str, tuple[str, ...]]:
    names = sorted({name for file in files for name in file.variables})
    return {name: _names(value for file in files for value in file.variables.get(name, {})) for name in names}


def _names(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(values)))
