from collections.abc import Mapping

import pytest

from rdlc.core.traffic.ledger import LedgerVerdict, Proof, combine, judge_ledger
from rdlc.core.traffic.moved import Moved
from rdlc.core.traffic.prediction import Traffic, step_traffic
from tests.core.traffic.layouts import M407

TWO_NODES = step_traffic(M407, ranks=2, nodes=2, backend="nccl")
ONE_NODE = step_traffic(M407, ranks=2, nodes=1, backend="nccl")
WANTED = TWO_NODES.node_bytes


def moved(
    *shares: float,
    interfaces: Mapping[int, int] | None = None,
    efa: Mapping[int, int] | None = None,
    is_lower_bound: bool = False,
) -> Moved:
    """Sockets of each rank, on a node of its own, moved these shares of what was predicted."""
    found = {rank: round(share * WANTED) for rank, share in enumerate(shares)} or None
    why = {} if found else {"rank_bytes": "rank 0: no", "node_bytes": "rank 0: no"}
    return Moved(
        first_step=2,
        last_step=6,
        rank_bytes=found,
        node_bytes=found,
        interface_bytes=interfaces,
        efa_bytes=efa,
        is_lower_bound=is_lower_bound,
        why=why,
    )


@pytest.mark.parametrize(
    ("shares", "carried", "ratio", "said"),
    [
        ((1.0002, 1.0), "tcp", 1.0001, "1.0000 to 1.0002"),
        ((0.5001, 0.5001), "tcp", 0.5001, "0.5001"),
        ((0.49, 0.9), "part", 0.695, "0.4900 to 0.9000"),
        ((0.2, 0.2), "part", 0.2, "0.2000"),
        ((0.0499, 0.0499), "not-tcp", 0.0499, "0.0499"),
        ((0.0, 0.0), "not-tcp", 0.0, "0.0000"),
        ((0.0, 1.0), "part", 0.5, "0.0000 to 1.0000"),
    ],
)
@pytest.mark.parametrize(("predicted", "per"), [(TWO_NODES, "node"), (ONE_NODE, "rank")])
def test_bytes_decide_by_the_least_and_the_largest_share(
    shares: tuple[float, ...], carried: str, ratio: float, said: str, predicted: Traffic, per: str
) -> None:
    verdict = judge_ledger(predicted, moved(*shares))

    assert (verdict.carried, verdict.per, verdict.source) == (carried, per, "sockets")
    assert verdict.ratio == pytest.approx(ratio, abs=1e-6)
    assert verdict.predicted_bytes == WANTED
    assert verdict.reason == f"TCP between workers moved {said} of the bytes that each {per} must send"


def test_without_sockets_the_interfaces_of_several_nodes_decide() -> None:
    verdict = judge_ledger(TWO_NODES, moved(interfaces={0: WANTED, 1: 2 * WANTED}))

    assert verdict == LedgerVerdict(
        carried="tcp",
        ratio=1.5,
        predicted_bytes=WANTED,
        moved_bytes=round(1.5 * WANTED),
        per="node",
        source="interfaces",
        reason="the network interfaces moved 1.0000 to 2.0000 of the bytes that each node must send",
    )


def test_efa_devices_that_moved_the_bytes_are_named() -> None:
    verdict = judge_ledger(TWO_NODES, moved(0.0, 0.001, efa={0: WANTED, 1: WANTED}))

    assert verdict.carried == "efa"
    assert verdict.reason == (
        "TCP between workers moved 0.0000 to 0.0010 of the bytes that each node must send, and the EFA devices 1.0000"
    )


def test_efa_devices_that_moved_little_are_no_proof() -> None:
    assert judge_ledger(TWO_NODES, moved(0.0, 0.0, efa={0: WANTED, 1: 0})).carried == "not-tcp"


def test_closed_sockets_leave_a_small_share_unknown_but_not_a_large_one() -> None:
    small = judge_ledger(TWO_NODES, moved(0.0, 0.0, is_lower_bound=True))

    assert small.carried == "unknown"
    assert small.reason == (
        "TCP between workers moved 0.0000 of the bytes that each node must send, "
        "and sockets were closed in between, whose bytes are not known"
    )
    assert judge_ledger(TWO_NODES, moved(0.9, 0.6, is_lower_bound=True)).carried == "tcp"


@pytest.mark.parametrize(
    ("predicted", "found", "reason"),
    [
        (TWO_NODES, moved(), "rank 0: no"),
        (ONE_NODE, moved(interfaces={0: WANTED}), "rank 0: no"),
        (None, moved(1.0), "the ranks describe different workloads, so no bytes can be predicted"),
        (step_traffic(M407, ranks=1, nodes=1, backend="gloo"), moved(0.0), "one rank has nobody to send to"),
    ],
)
def test_what_is_missing_gives_unknown_and_the_reason_and_no_number(
    predicted: Traffic | None, found: Moved, reason: str
) -> None:
    assert judge_ledger(predicted, found) == LedgerVerdict(
        carried="unknown", ratio=None, predicted_bytes=None, moved_bytes=None, per="", source="", reason=reason
    )


def ledger(carried: str) -> LedgerVerdict:
    return LedgerVerdict(
        carried=carried, ratio=None, predicted_bytes=None, moved_bytes=None, per="", source="", reason="so it is"
    )


def agree(transport: str) -> Proof:
    return Proof(proof="both", disagrees=False, reason=f"the log says {transport}, and bytes agree: so it is")


def disagree(transport: str) -> Proof:
    return Proof(proof="none", disagrees=True, reason=f"the log says {transport}, but so it is")


@pytest.mark.parametrize(
    ("verdict", "transport", "carried", "expected"),
    [
        ("fallback", "socket", "tcp", agree("socket")),
        ("fallback", "ofi-tcp", "tcp", agree("ofi-tcp")),
        ("fallback", "socket", "not-tcp", disagree("socket")),
        ("fallback", "socket", "part", disagree("socket")),
        ("fallback", "socket", "efa", disagree("socket")),
        ("ok", "efa", "not-tcp", agree("efa")),
        ("ok", "efa", "efa", agree("efa")),
        ("ok", "efa", "tcp", disagree("efa")),
        ("ok", "efa", "part", disagree("efa")),
        ("ok", "ib", "not-tcp", agree("ib")),
        ("ok", "intra-node", "not-tcp", agree("intra-node")),
        ("ok", "intra-node", "tcp", disagree("intra-node")),
        ("mixed", "efa+socket", "part", agree("efa+socket")),
        ("mixed", "efa+socket", "tcp", agree("efa+socket")),
        ("mixed", "ib+socket", "not-tcp", disagree("ib+socket")),
    ],
)
def test_log_and_bytes_agree_or_raise_an_alarm_of_their_own(
    verdict: str, transport: str, carried: str, expected: Proof
) -> None:
    assert combine(verdict=verdict, transport=transport, is_applicable=True, ledger=ledger(carried)) == expected


def test_a_log_without_a_ledger_is_one_proof() -> None:
    proof = combine(verdict="ok", transport="efa", is_applicable=True, ledger=ledger("unknown"))

    assert proof == Proof(proof="log", disagrees=False, reason="not checked by bytes: so it is")


def test_a_plugin_whose_bytes_are_not_known_is_proven_by_its_log_alone() -> None:
    proof = combine(verdict="ok", transport="external:FasTrak", is_applicable=True, ledger=ledger("tcp"))

    assert (proof.proof, proof.disagrees) == ("log", False)


@pytest.mark.parametrize(
    ("carried", "proof", "reason"),
    [
        ("tcp", "bytes", "so it is"),
        ("efa", "bytes", "so it is"),
        ("not-tcp", "none", "so it is; no log says what carried it instead"),
        ("part", "none", "so it is"),
        ("unknown", "none", "so it is"),
    ],
)
@pytest.mark.parametrize(
    ("verdict", "transport", "is_applicable"),
    [("unknown", "unknown", False), ("unknown", "none", True), ("ok", "efa", False)],
)
def test_without_a_log_only_tcp_and_seen_efa_are_proven(
    carried: str, proof: str, reason: str, verdict: str, transport: str, is_applicable: bool
) -> None:
    found = combine(verdict=verdict, transport=transport, is_applicable=is_applicable, ledger=ledger(carried))

    assert found == Proof(proof=proof, disagrees=False, reason=reason)
