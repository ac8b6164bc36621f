"""The byte ledger: what TCP moved between workers against what their collectives had to move.

A transport that bypasses the kernel (EFA, InfiniBand, NVLink, shared memory) moves no TCP byte, so
the ratio of the two is near 1 or near 0. It needs no log, and so is a proof independent of one.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from rdlc.core.traffic.moved import Moved
from rdlc.core.traffic.prediction import Traffic

# At least half of what had to be moved: TCP carried it. Measured where TCP does: 0.9999 to 1.0025.
TCP_FROM = 0.5
# At most a twentieth: what NCCL's set-up and its small messages take, measured where TCP does not.
NOT_TCP_TO = 0.05

# What the log says carried the data, and what TCP should then have moved. Others leave it open.
_SAYS_TCP = {"socket": "tcp", "ofi-tcp": "tcp", "efa": "not-tcp", "ib": "not-tcp", "intra-node": "not-tcp"}


@dataclass(frozen=True, kw_only=True, slots=True)
class LedgerVerdict:
    """What carried the data, by bytes: `tcp`, `not-tcp`, `efa`, `part` (of it TCP) or `unknown`.

    `ratio` is moved over predicted bytes, both per step and per `per` (`node` or `rank`), None where
    not measured. `source` is where the moved bytes were read: `sockets`, `interfaces` or "".
    """

    carried: str
    ratio: float | None
    predicted_bytes: int | None
    moved_bytes: int | None
    per: str
    source: str
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Proof:
    """How far log and bytes prove the transport: `none`, `log`, `bytes` or `both`; they may disagree."""

    proof: str
    disagrees: bool
    reason: str


def judge_ledger(predicted: Traffic | None, moved: Moved) -> LedgerVerdict:
    """What carried the data of the steps between two readings; unknown wherever something is missing."""
    if predicted is None:
        return _unknown("the ranks describe different workloads, so no bytes can be predicted")
    if predicted.ranks == 1:
        return _unknown("one rank has nobody to send to")
    if predicted.nodes > 1:
        wanted, per = predicted.node_bytes, "node"
        found, source = moved.node_bytes, "sockets"
        if found is None:
            found, source = moved.interface_bytes, "interfaces"
        why = moved.why.get("node_bytes", "")
    else:
        wanted, per = predicted.rank_bytes, "rank"
        found, source = moved.rank_bytes, "sockets"
        why = moved.why.get("rank_bytes", "")
    if found is None or not wanted:
        return _unknown(why or "a step moves nothing")
    carried, reason = _carried(found, wanted, moved, (per, source))
    mean = round(sum(found.values()) / len(found))
    return LedgerVerdict(
        carried=carried,
        ratio=mean / wanted,
        predicted_bytes=wanted,
        moved_bytes=mean,
        per=per,
        source=source,
        reason=reason,
    )


def combine(*, verdict: str, transport: str, is_applicable: bool, ledger: LedgerVerdict) -> Proof:
    """What the log's verdict and the ledger prove together.

    `verdict`, `transport` and `is_applicable` are the log's, in the words of the design: `ok`,
    `fallback`, `mixed`, `unknown`; `efa`, `socket`, ... A log that does not apply (no NCCL) leaves
    the ledger alone.
    """
    has_log = is_applicable and verdict != "unknown" and transport not in ("none", "unknown")
    has_bytes = ledger.carried in ("tcp", "efa") or (has_log and ledger.carried != "unknown")
    if not has_log:
        if has_bytes:
            return Proof(proof="bytes", disagrees=False, reason=ledger.reason)
        return Proof(proof="none", disagrees=False, reason=_without_log(ledger))
    if not has_bytes:
        return Proof(proof="log", disagrees=False, reason=f"not checked by bytes: {ledger.reason}")
    fits = _fits(transport, ledger.carried)
    if fits is None:
        reason = f"how many bytes TCP moves under {transport} is not known, so bytes prove nothing"
        return Proof(proof="log", disagrees=False, reason=reason)
    if fits:
        return Proof(
            proof="both", disagrees=False, reason=f"the log says {transport}, and bytes agree: {ledger.reason}"
        )
    return Proof(proof="none", disagrees=True, reason=f"the log says {transport}, but {ledger.reason}")


def _fits(transport: str, carried: str) -> bool | None:
    """Whether bytes agree with a log's transport; None if nothing follows from it."""
    if "+" in transport:
        # Some of it was TCP: one link of a ring may be all that a node has.
        return carried in ("part", "tcp") if "socket" in transport or "tcp" in transport else None
    expected = _SAYS_TCP.get(transport)
    if expected is None:
        return None
    return carried in ("not-tcp", "efa") if expected == "not-tcp" else carried == "tcp"


def _without_log(ledger: LedgerVerdict) -> str:
    if ledger.carried == "not-tcp":
        return f"{ledger.reason}; no log says what carried it instead"
    return ledger.reason


def _carried(found: Mapping[int, int], wanted: int, moved: Moved, where: tuple[str, str]) -> tuple[str, str]:
    per, source = where
    ratios = [value / wanted for value in found.values()]
    # An interface's bytes are everybody's, and not only the collectives'.
    who = "TCP between workers" if source == "sockets" else "the network interfaces"
    said = f"{who} moved {_shown(ratios)} of the bytes that each {per} must send"
    if min(ratios) >= TCP_FROM:
        return "tcp", said
    if moved.is_lower_bound:
        return "unknown", f"{said}, and sockets were closed in between, whose bytes are not known"
    if max(ratios) > NOT_TCP_TO:
        return "part", said
    if per == "node" and moved.efa_bytes and all(value / wanted >= TCP_FROM for value in moved.efa_bytes.values()):
        return "efa", f"{said}, and the EFA devices {_shown([value / wanted for value in moved.efa_bytes.values()])}"
    return "not-tcp", said


def _shown(ratios: list[float]) -> str:
    low, high = f"{min(ratios):.4f}", f"{max(ratios):.4f}"
    return low if low == high else f"{low} to {high}"


def _unknown(reason: str) -> LedgerVerdict:
    return LedgerVerdict(
        carried="unknown", ratio=None, predicted_bytes=None, moved_bytes=None, per="", source="", reason=reason
    )
