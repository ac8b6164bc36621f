"""Judgements of a transport, for tests of what is built on them."""

from rdlc.core.transport.judged import Expectation, JudgedTransport, SeenTransport, judge_transport
from rdlc.core.transport.proofs import GLOO as GLOO_SEEN

ANY = Expectation(transport="", origin="")
EFA = Expectation(transport="efa", origin="network.transport")
TCP = Expectation(transport="socket", origin="network.transport")


def seen(verdict: str = "ok", transport: str = "efa", **other: object) -> SeenTransport:
    """What was seen, proven twice unless said otherwise."""
    values: dict[str, object] = {"is_applicable": True, "proof": "both", "has_disagreement": False, "reason": "why"}
    return SeenTransport(verdict=verdict, transport=transport, **{**values, **other})  # type: ignore[arg-type]


NO_NCCL = GLOO_SEEN


def judged(verdict: str = "ok", transport: str = "efa", due: Expectation = EFA, **other: object) -> JudgedTransport:
    """What was seen, held against what is due."""
    return judge_transport(seen(verdict, transport, **other), due)


GLOO = judge_transport(NO_NCCL, ANY)
