"""NCCL's lines and the bytes moved, put together.

`namespaces` holds what the recipe left of Qwen2.5-1.5B on one H200, as two nodes in two network
namespaces: NCCL 2.28.9 over sockets, one log per process, and what each rank counted.
"""

from dataclasses import replace
from pathlib import Path

import pytest

from rdlc.core.traffic.ledger import LedgerVerdict, judge_ledger
from rdlc.core.traffic.moved import moved_between, predicted_traffic, recorded_bytes
from rdlc.core.traffic.reading import NetworkReport, read_network_report
from rdlc.core.transport.proofs import observe, see_nccl
from rdlc.core.transport.scan import Scanner
from rdlc.core.transport.verdict import LogVerdict, judge_logs

FOLDER = Path(__file__).parent
NAMESPACES = FOLDER / "namespaces"
NOT_TCP = LedgerVerdict(
    carried="not-tcp", ratio=0.0, predicted_bytes=1000, moved_bytes=0, per="rank", source="sockets", reason="0 moved"
)
TCP = replace(NOT_TCP, carried="tcp", ratio=1.0, moved_bytes=1000, reason="all of it moved")
NOT_MEASURED = replace(NOT_TCP, carried="unknown", ratio=None, moved_bytes=None, reason="no counters")


def judge(*paths: Path) -> LogVerdict:
    facts = []
    for path in paths:
        scanner = Scanner(path.name)
        scanner.feed(path.read_bytes())
        facts.append(scanner.finish())
    return judge_logs(facts)


def network_reports() -> list[NetworkReport]:
    files = sorted(NAMESPACES.glob("workers/*/network.json"))
    return [read_network_report(file.read_bytes(), name=file.name) for file in files]


P2P, SOCKET = judge(FOLDER / "logs/p2p.log"), judge(FOLDER / "logs/socket.log")
SILENT = judge()


def test_on_real_gpus_over_sockets_both_proofs_say_the_same_within_a_percent() -> None:
    reports = network_reports()
    predicted, moved = predicted_traffic(reports), moved_between(reports)
    ledger = judge_ledger(predicted, moved)

    seen = see_nccl(judge(*sorted(NAMESPACES.glob("nccl/*.log"))), ledger, world_size=2)

    assert (seen.verdict, seen.transport, seen.proof, seen.has_disagreement) == ("fallback", "socket", "both", False)
    assert ledger.ratio == pytest.approx(1, abs=0.00001)
    assert predicted is not None
    assert moved.interface_bytes is not None
    # The wire has the headers of TCP and IP, too.
    ratios = [counted / predicted.node_bytes for counted in moved.interface_bytes.values()]
    assert ratios == pytest.approx([1, 1], abs=0.01)


def test_torchs_flight_recorder_had_exactly_the_bytes_that_the_formula_gives() -> None:
    reports = network_reports()
    predicted = predicted_traffic(reports)

    assert predicted is not None
    assert [recorded_bytes(report) for report in reports] == [predicted.node_bytes] * 2


@pytest.mark.parametrize(
    ("log", "ledger", "verdict", "transport", "proof", "disagrees"),
    [
        (P2P, NOT_TCP, "ok", "intra-node", "both", False),
        (P2P, NOT_MEASURED, "ok", "intra-node", "log", False),
        (P2P, TCP, "ok", "intra-node", "none", True),
        (SOCKET, TCP, "fallback", "socket", "both", False),
        (SOCKET, NOT_TCP, "fallback", "socket", "none", True),
        (SILENT, TCP, "fallback", "socket", "bytes", False),
        (SILENT, NOT_TCP, "unknown", "unknown", "none", False),
        (SILENT, NOT_MEASURED, "unknown", "unknown", "none", False),
    ],
)
def test_bytes_can_prove_a_fallback_alone_and_never_that_it_is_right(
    log: LogVerdict, ledger: LedgerVerdict, verdict: str, transport: str, proof: str, disagrees: bool
) -> None:
    seen = see_nccl(log, ledger, world_size=2)

    assert (seen.verdict, seen.transport, seen.proof, seen.has_disagreement) == (verdict, transport, proof, disagrees)
    assert seen.is_applicable


def test_communicators_smaller_than_the_world_are_another_experiment() -> None:
    seen = see_nccl(P2P, NOT_TCP, world_size=4)

    assert (seen.verdict, seen.reason) == ("unknown", "NCCL's largest communicator has 2 ranks, and the lock says 4")


def test_what_nccl_said_of_itself_is_kept_by_name() -> None:
    assert observe(SOCKET) == {
        "NCCL": "2.28.9",
        "interface": "lo",
        "NCCL_NVLS_ENABLE": "0",
        "NCCL_P2P_DISABLE": "1",
        "NCCL_SHM_DISABLE": "1",
        "NCCL_SOCKET_IFNAME": "lo",
    }
