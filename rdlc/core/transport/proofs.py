"""NCCL's lines and the bytes that were moved, put together: what a run used, and how far that is proven."""

from dataclasses import replace

from rdlc.core.traffic.ledger import LedgerVerdict, combine
from rdlc.core.transport.judged import SeenTransport
from rdlc.core.transport.verdict import LogVerdict

GLOO = SeenTransport(
    verdict="unknown",
    transport="none",
    is_applicable=False,
    proof="none",
    has_disagreement=False,
    reason="NCCL was not used",
)
ONE_RANK = replace(GLOO, reason="one rank has nobody to talk to")


def see_nothing(reason: str) -> SeenTransport:
    """A run of which nothing is known."""
    return SeenTransport(
        verdict="unknown", transport="none", is_applicable=True, proof="none", has_disagreement=False, reason=reason
    )


def see_nccl(log: LogVerdict, ledger: LedgerVerdict, *, world_size: int) -> SeenTransport:
    """A run over NCCL by both proofs.

    Where its lines prove nothing, bytes alone can prove that TCP carried the data, and so a fallback;
    that it was not TCP does not say what it was. Communicators that are all smaller than the world of
    the lock are another experiment, whatever they talked over.
    """
    proof = combine(verdict=log.verdict, transport=log.transport, is_applicable=log.is_applicable, ledger=ledger)
    verdict, transport, reason = log.verdict, log.transport, log.reason
    if proof.disagrees:
        reason = proof.reason
    elif verdict == "unknown" and proof.proof == "bytes" and ledger.carried == "tcp":
        verdict, transport, reason = "fallback", "socket", ledger.reason
    largest = max((comm.num_ranks or 0 for comm in log.communicators), default=0)
    if verdict == "ok" and largest != world_size:
        verdict = "unknown"
        reason = f"NCCL's largest communicator has {largest} ranks, and the lock says {world_size}"
    return SeenTransport(
        verdict=verdict,
        transport=transport,
        # Lines that show no use of NCCL do not excuse workers that say they used it.
        is_applicable=True,
        proof=proof.proof,
        has_disagreement=proof.disagrees,
        reason=reason,
    )


def observe(log: LogVerdict) -> dict[str, str]:
    """What NCCL said of itself and of its network, by name; values that differ are all there."""
    named = {
        "NCCL": log.nccl_versions,
        "network plugin": log.plugin_names,
        "network plugin file": log.plugin_paths,
        "aws-ofi-nccl": log.plugin_versions,
        "libfabric": log.libfabric_versions,
        "libfabric provider": log.providers,
        "libfabric fabric": log.fabrics,
        "interface": log.interfaces,
        **dict(sorted(log.variables.items())),
    }
    return {name: ", ".join(values) for name, values in named.items() if values}
