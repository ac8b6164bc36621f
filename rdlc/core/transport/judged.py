"""The transport that a run used, held against the one that its lock asks for."""

from dataclasses import dataclass

from rdlc.core.sections import Sections

# `other`: no fallback, and not what was locked. `disagreement`: the logs and the bytes say different things.
FINDINGS = ("ok", "as-locked", "not-applicable", "fallback", "mixed", "unknown", "other", "disagreement")
FINE = ("ok", "as-locked", "not-applicable")
PROOFS = ("none", "log", "bytes", "both")
_PROVEN_BY = {
    "none": "nothing proves it",
    "log": "proven by NCCL's own lines",
    "bytes": "proven by the bytes moved",
    "both": "proven by NCCL's own lines and by the bytes moved",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class SeenTransport:
    """What was seen of a run's transport: the words of a verdict, and what proves them.

    `has_disagreement` says that logs and bytes contradict each other. `reason` is a sentence.
    """

    verdict: str
    transport: str
    is_applicable: bool
    proof: str
    has_disagreement: bool
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Expectation:
    """The transport that is due, "" where any but a fallback will do, and which field says so.

    Without a lock, `origin` says that there is none.
    """

    transport: str
    origin: str


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgedTransport:
    """What was seen, what was due, and what follows; `finding` is one of FINDINGS."""

    finding: str
    seen: SeenTransport
    due: Expectation

    @property
    def is_fine(self) -> bool:
        """Whether the run used what it should have used, shown by evidence."""
        return self.finding in FINE

    @property
    def is_alarming(self) -> bool:
        """Whether there is evidence against it already: not knowing yet is none."""
        return self.finding in ("fallback", "mixed", "other", "disagreement")


def expected_transport(sections: Sections) -> Expectation:
    """What a lock asks for: in so many words, else by its nodes.

    Nodes with EFA are paid for EFA, and workers on one node need no network.
    """
    network = sections.run.requested.network
    if network is not None and network.transport:
        return Expectation(transport=network.transport, origin="network.transport")
    if sections.infra is not None and sections.infra.variables.get("efa_enabled") is True:
        return Expectation(transport="efa", origin="infra.efa_enabled")
    asked = sections.cluster.requested
    if asked.gpus_per_worker and asked.workers > 1 and sections.run.requested.target == "local":
        return Expectation(transport="intra-node", origin="cluster.nodes")
    return Expectation(transport="", origin="")


def judge_transport(seen: SeenTransport, due: Expectation) -> JudgedTransport:
    """What was seen, held against what is due; anything that is not shown to be right is not fine."""
    return JudgedTransport(finding=_find(seen, due.transport), seen=seen, due=due)


def _find(seen: SeenTransport, due: str) -> str:
    if not seen.is_applicable:
        # A lock that names a transport of NCCL is not met by a run that did not use NCCL.
        return "other" if due else "not-applicable"
    if seen.has_disagreement:
        return "disagreement"
    if seen.verdict == "unknown" or seen.proof == "none":
        return "unknown"
    if due and seen.transport == due and seen.verdict != "mixed":
        return "ok" if seen.verdict == "ok" else "as-locked"
    if seen.verdict == "ok" and due:
        return "other"
    return seen.verdict


def describe_judgement(judged: JudgedTransport) -> str:
    """In one sentence which transport a run used, whether that is right, and what proves it."""
    seen, due = judged.seen, judged.due
    wanted = f"the lock says {due.transport} ({due.origin})" if due.transport else due.origin or "the lock names none"
    proof = _PROVEN_BY[seen.proof]
    if judged.finding == "not-applicable":
        return f"transport: not applicable, {seen.reason}"
    if judged.finding == "ok":
        locked = " as locked" if due.transport else ""
        return f"transport: {seen.transport}{locked}, {proof}"
    if judged.finding == "as-locked":
        return f"transport: {seen.transport}, which is slow, and as locked; {proof}"
    if judged.finding == "unknown":
        return f"transport: not proven: {seen.reason}; {wanted}"
    if judged.finding == "disagreement":
        return f"transport: NCCL's lines and the bytes moved contradict each other: {seen.reason}; {wanted}"
    if not seen.is_applicable:
        return f"transport: {seen.reason}, and {wanted}"
    words = {"fallback": "fell back to", "mixed": "went over different networks:", "other": "went over"}
    return f"transport: {words[judged.finding]} {seen.transport}, and {wanted}; {proof}"
