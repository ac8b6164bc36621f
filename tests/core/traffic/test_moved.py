from typing import Any

from rdlc.core.traffic.moved import Moved, moved_between, predicted_traffic, recorded_bytes
from rdlc.core.traffic.prediction import step_traffic
from rdlc.core.traffic.reading import NetworkReport
from tests.core.traffic.layouts import TINY
from tests.core.traffic.reports import NO_EFA, counter, reading, report

FIELDS = ("rank_bytes", "node_bytes", "interface_bytes", "efa_bytes")


def two_ranks(**changes: Any) -> list[NetworkReport]:
    """Two ranks on two nodes that sent each other 100 bytes in each of 4 steps."""
    return [report(rank, [reading(2, {1 - rank: 50}), reading(6, {1 - rank: 450})], **changes) for rank in (0, 1)]


def unmeasured(reason: str) -> Moved:
    return Moved(
        first_step=0,
        last_step=0,
        rank_bytes=None,
        node_bytes=None,
        interface_bytes=None,
        efa_bytes=None,
        is_lower_bound=False,
        why=dict.fromkeys(FIELDS, reason),
    )


def test_bytes_are_the_difference_of_two_readings_per_step() -> None:
    assert moved_between(two_ranks()) == Moved(
        first_step=2,
        last_step=6,
        rank_bytes={0: 100, 1: 100},
        node_bytes={0: 100, 1: 100},
        interface_bytes={0: 0, 1: 0},
        efa_bytes=None,
        is_lower_bound=False,
        why={"efa_bytes": f"rank 0: {NO_EFA}"},
    )


def test_what_ranks_of_one_node_send_each_other_does_not_leave_the_node() -> None:
    moved = moved_between(two_ranks(node_rank=0))

    assert moved.rank_bytes == {0: 100, 1: 100}
    assert moved.node_bytes == {0: 0}


def test_a_node_sends_what_its_ranks_send_to_other_nodes() -> None:
    ranks = [
        report(
            rank,
            [reading(0, dict.fromkeys(peers, 0)), reading(1, peers)],
            world_size=4,
            node_rank=rank // 2,
        )
        for rank, peers in enumerate([{1: 7}, {2: 100, 0: 7}, {3: 7}, {0: 200, 2: 7}])
    ]

    moved = moved_between(ranks)

    assert moved.rank_bytes == {0: 7, 1: 107, 2: 7, 3: 207}
    assert moved.node_bytes == {0: 100, 1: 200}


def test_a_socket_that_opened_between_the_readings_counts_from_zero() -> None:
    ranks = [report(rank, [reading(0, {}), reading(2, {1 - rank: 80})]) for rank in (0, 1)]

    assert moved_between(ranks).rank_bytes == {0: 40, 1: 40}


def test_sockets_that_closed_make_it_a_lower_bound() -> None:
    ranks = [report(rank, [reading(0, {1 - rank: 0}), reading(1, {1 - rank: 10}, gone=rank)]) for rank in (0, 1)]

    assert moved_between(ranks).is_lower_bound


def test_sockets_that_closed_before_the_first_reading_do_not() -> None:
    ranks = [report(rank, [reading(0, {1 - rank: 0}, gone=3), reading(1, {1 - rank: 10})]) for rank in (0, 1)]

    assert not moved_between(ranks).is_lower_bound


def test_one_rank_without_socket_counters_leaves_them_unmeasured_with_its_reason() -> None:
    why = {"sockets": "the kernel does not say", "efa": NO_EFA}
    ranks = [two_ranks()[0], report(1, [reading(2, {0: 1}), reading(6, None, why=why)])]

    moved = moved_between(ranks)

    assert (moved.rank_bytes, moved.node_bytes) == (None, None)
    assert moved.why["rank_bytes"] == moved.why["node_bytes"] == "rank 1: the kernel does not say"
    assert moved.interface_bytes == {0: 0, 1: 0}


def test_devices_count_once_per_node_and_without_the_loopback() -> None:
    def devices(sent: int) -> dict[str, Any]:
        return {"interfaces": {"eth0": counter(sent), "lo": counter(9 * sent)}, "efa": {"efa_0/1": counter(2 * sent)}}

    ranks = [
        report(rank, [reading(0, {1 - rank: 0}, **devices(0)), reading(2, {1 - rank: 0}, **devices(60))], node_rank=0)
        for rank in (0, 1)
    ]

    moved = moved_between(ranks)

    assert (moved.interface_bytes, moved.efa_bytes) == ({0: 30}, {0: 60})


def test_while_a_rank_still_writes_the_newest_common_readings_count() -> None:
    early = report(0, [reading(0, {1: 0}), reading(2, {1: 20})])
    late = report(1, [reading(0, {0: 0}), reading(2, {0: 20}), reading(6, {0: 60})])

    moved = moved_between([early, late])

    assert (moved.first_step, moved.last_step, moved.rank_bytes) == (0, 2, {0: 10, 1: 10})


def test_only_the_newest_attempt_counts() -> None:
    ranks = [*two_ranks(), *two_ranks(attempt=2)[:1]]

    assert moved_between(ranks) == unmeasured("1 of 2 ranks reported what the network moved")


def test_no_report_is_not_measured() -> None:
    assert moved_between([]) == unmeasured("no rank reported what the network moved")


def test_one_reading_is_not_measured() -> None:
    ranks = [report(rank, [reading(2, {1 - rank: 50})]) for rank in (0, 1)]

    assert moved_between(ranks) == unmeasured("all ranks have 1 of the 2 readings that it takes")


def test_reports_of_different_worlds_are_not_measured() -> None:
    ranks = [two_ranks()[0], report(1, [], world_size=3)]

    assert moved_between(ranks) == unmeasured("the ranks' reports are of worlds of 2 and 3 ranks")


def test_the_prediction_follows_from_what_the_ranks_report() -> None:
    expected = step_traffic(TINY, ranks=2, nodes=2, backend="gloo", rows_per_rank=4, fingerprint_every=1)

    assert predicted_traffic(two_ranks()) == expected


def test_ranks_that_describe_different_workloads_predict_nothing() -> None:
    assert predicted_traffic([two_ranks()[0], two_ranks(backend="nccl")[1]]) is None
    assert predicted_traffic([]) is None


def test_the_flight_recorder_has_the_payload_that_the_formulas_give() -> None:
    # As a real step of the tiny model left it, over gloo with 2 ranks; a barrier has no formula.
    collectives = [
        ("all-gather", 272, 1),
        ("all-gather", 65_792, 1),
        ("all-gather", 185_344, 4),
        ("all-reduce", 104, 1),
        ("all-reduce", 416, 1),
        ("all-reduce", 65_792, 1),
        ("all-reduce", 185_344, 2),
        ("gloo:barrier", 0, 1),
    ]
    entries = [{"kind": kind, "bytes": size, "count": count} for kind, size, count in collectives]

    first = report(0, [], flight_recorder={"step": 3, "collectives": entries})

    predicted = step_traffic(TINY, ranks=2, nodes=1, backend="gloo", rows_per_rank=4)
    assert recorded_bytes(first) == predicted.rank_bytes - predicted.control_bytes == 840_720


def test_without_a_flight_recorder_nothing_is_recorded() -> None:
    assert recorded_bytes(two_ranks()[0]) is None
