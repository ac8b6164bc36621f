"""A transport is fine only where it is shown to be the one that is due."""

from dataclasses import replace

import pytest

from rdlc.core.network import NetworkRequest
from rdlc.core.sections import Sections
from rdlc.core.transport.judged import (
    Expectation,
    SeenTransport,
    describe_judgement,
    expected_transport,
    judge_transport,
)
from tests.core.lock_samples import full_lock
from tests.infra_samples import eks_lock
from tests.transport_samples import ANY, EFA, NO_NCCL, TCP, judged, seen


@pytest.mark.parametrize(
    ("found", "due", "finding"),
    [
        (seen(), EFA, "ok"),
        (seen(), ANY, "ok"),
        (seen("ok", "intra-node"), ANY, "ok"),
        (seen("fallback", "socket"), EFA, "fallback"),
        (seen("fallback", "socket"), ANY, "fallback"),
        (seen("fallback", "socket"), TCP, "as-locked"),
        (seen("fallback", "ofi-tcp"), TCP, "fallback"),
        (seen("mixed", "efa+socket"), EFA, "mixed"),
        (seen("mixed", "socket"), TCP, "mixed"),
        (seen("ok", "intra-node"), EFA, "other"),
        (seen("ok", "ib"), EFA, "other"),
        (seen("ok", "efa"), TCP, "other"),
        (seen("unknown", "efa"), EFA, "unknown"),
        (seen("unknown", "none"), ANY, "unknown"),
        (seen(proof="none"), EFA, "unknown"),
        (seen(has_disagreement=True), EFA, "disagreement"),
        (seen("fallback", "socket", has_disagreement=True), TCP, "disagreement"),
        (NO_NCCL, ANY, "not-applicable"),
        (NO_NCCL, EFA, "other"),
    ],
)
def test_what_was_seen_is_held_against_what_is_due(found: SeenTransport, due: Expectation, finding: str) -> None:
    assert judge_transport(found, due).finding == finding


@pytest.mark.parametrize(
    ("verdict", "transport", "due", "is_fine", "is_alarming"),
    [
        ("ok", "efa", EFA, True, False),
        ("fallback", "socket", TCP, True, False),
        ("fallback", "socket", EFA, False, True),
        ("mixed", "efa+socket", ANY, False, True),
        ("unknown", "efa", EFA, False, False),
        ("ok", "intra-node", EFA, False, True),
    ],
)
def test_not_knowing_is_not_fine_and_no_reason_to_stop_a_run(
    verdict: str, transport: str, due: Expectation, is_fine: bool, is_alarming: bool
) -> None:
    found = judged(verdict, transport, due)

    assert (found.is_fine, found.is_alarming) == (is_fine, is_alarming)


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (judged(), "transport: efa as locked, proven by NCCL's own lines and by the bytes moved"),
        (judged(due=ANY, proof="log"), "transport: efa, proven by NCCL's own lines"),
        (judged("fallback", "socket", TCP, proof="bytes"),
         "transport: socket, which is slow, and as locked; proven by the bytes moved"),
        (judged("fallback", "socket"),
         ("transport: fell back to socket, and the lock says efa (network.transport); "
         "proven by NCCL's own lines and by the bytes moved")),
        (judged("fallback", "socket", ANY, proof="log"),
         "transport: fell back to socket, and the lock names none; proven by NCCL's own lines"),
        (judged("mixed", "efa+socket", proof="log"),
         ("transport: went over different networks: efa+socket, and the lock says efa (network.transport); "
         "proven by NCCL's own lines")),
        (judged("unknown", "efa", reason="no channel lines"),
         "transport: not proven: no channel lines; the lock says efa (network.transport)"),
        (judged(has_disagreement=True, reason="it says efa, and TCP moved it"),
         ("transport: NCCL's lines and the bytes moved contradict each other: it says efa, and TCP moved it; "
         "the lock says efa (network.transport)")),
        (judge_transport(NO_NCCL, ANY), "transport: not applicable, NCCL was not used"),
        (judge_transport(NO_NCCL, EFA), "transport: NCCL was not used, and the lock says efa (network.transport)"),
    ],
)  # fmt: skip
def test_the_judgement_is_one_sentence(found: object, sentence: str) -> None:
    assert describe_judgement(found) == sentence  # type: ignore[arg-type]


def asking(sections: Sections, network: NetworkRequest | None) -> Sections:
    return replace(sections, run=replace(sections.run, requested=replace(sections.run.requested, network=network)))


def test_the_lock_says_which_transport_is_due_in_words_or_by_its_nodes() -> None:
    local, eks = full_lock().sections, eks_lock().sections
    assert eks.infra is not None
    with_efa = replace(eks, infra=replace(eks.infra, variables={**eks.infra.variables, "efa_enabled": True}))
    gpus = replace(local, cluster=replace(local.cluster, requested=replace(local.cluster.requested, gpus_per_worker=1)))
    asked = NetworkRequest(transport="socket", is_strict=False, on_fallback="stop")

    assert expected_transport(asking(with_efa, asked)) == TCP
    assert expected_transport(with_efa) == Expectation(transport="efa", origin="infra.efa_enabled")
    assert expected_transport(eks) == ANY
    assert expected_transport(gpus) == Expectation(transport="intra-node", origin="cluster.nodes")
    assert expected_transport(local) == ANY
