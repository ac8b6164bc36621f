from dataclasses import replace

import pytest

from rdlc.core.traffic.layout import Layout
from rdlc.core.traffic.prediction import Collective, Traffic, gloo_control, sent_bytes, step_traffic
from tests.core.traffic.layouts import M68, M407, QWEN, TINY, make_layout


def model_bytes(traffic: Traffic) -> int:
    """What the weights and the gradients alone move."""
    return traffic.rank_bytes - traffic.small_bytes - traffic.control_bytes


@pytest.mark.parametrize(
    ("layout", "ranks", "nodes", "measured"),
    [
        (M407, 2, 2, 1_623_195_648),
        (M68, 4, 2, 305_135_616),
    ],
)
def test_nccl_moves_what_was_measured_between_two_nodes(layout: Layout, ranks: int, nodes: int, measured: int) -> None:
    traffic = step_traffic(layout, ranks=ranks, nodes=nodes, backend="nccl")

    assert model_bytes(traffic) == measured
    assert traffic.node_bytes == traffic.rank_bytes
    assert traffic.control_bytes == 0


def test_the_large_model_moves_as_its_parameters_times_bytes_say() -> None:
    traffic = step_traffic(QWEN, ranks=8, nodes=2, backend="nccl")

    whole = (2 * 1_543_714_304 - 233_375_232) * 2 + 1_543_714_304 * 4
    assert model_bytes(traffic) == whole * 7 // 8 == 10_397_593_472


def test_gloo_sends_gradients_twice_because_it_reduces_all_of_them_on_every_rank() -> None:
    nccl = step_traffic(TINY, ranks=4, nodes=1, backend="nccl")
    gloo = step_traffic(TINY, ranks=4, nodes=1, backend="gloo")

    assert model_bytes(gloo) - model_bytes(nccl) == 109_120 * 4 * 3 // 4


@pytest.mark.parametrize(
    ("ranks", "rank_bytes", "control_bytes", "small_bytes"),
    [(2, 845_328, 4_608, 656), (4, 1_274_916, 13_824, 996)],
)
def test_a_gloo_step_of_the_tiny_model_counts_its_small_collectives_and_messages_too(
    ranks: int, rank_bytes: int, control_bytes: int, small_bytes: int
) -> None:
    traffic = step_traffic(TINY, ranks=ranks, nodes=1, backend="gloo", rows_per_rank=8 // ranks)

    found = (traffic.rank_bytes, traffic.control_bytes, traffic.small_bytes)
    assert found == (rank_bytes, control_bytes, small_bytes)


def test_nothing_leaves_the_node_when_there_is_only_one() -> None:
    assert step_traffic(TINY, ranks=4, nodes=1, backend="nccl").node_bytes == 0


def test_one_rank_sends_nothing() -> None:
    assert step_traffic(TINY, ranks=1, nodes=1, backend="gloo").rank_bytes == 0


def test_a_fingerprint_each_tenth_step_counts_a_tenth() -> None:
    each = step_traffic(TINY, ranks=2, nodes=1, backend="nccl")
    seldom = step_traffic(TINY, ranks=2, nodes=1, backend="nccl", fingerprint_every=10)

    assert each.rank_bytes - seldom.rank_bytes == round(26 * 16 * 9 / 10)


def test_a_group_that_stays_gathered_is_gathered_once() -> None:
    traffic = step_traffic(TINY, ranks=2, nodes=1, backend="nccl")

    gathers = {each.what: each.count for each in traffic.collectives if each.what.startswith("weights")}
    assert gathers == {
        "weights of model.layers.0": 2,
        "weights of model.layers.1": 2,
        "weights of the rest": 1,
    }


def test_the_collectives_say_what_they_move() -> None:
    traffic = step_traffic(make_layout(0, 0, 10), ranks=2, nodes=2, backend="nccl", rows_per_rank=1)

    assert traffic.collectives == (
        Collective(kind="all-gather", what="weights of the rest", size_bytes=20, element_bytes=2),
        Collective(kind="reduce-scatter", what="gradients of the rest", size_bytes=40, element_bytes=4),
        Collective(kind="all-reduce", what="gradient norms", size_bytes=4, element_bytes=4),
        Collective(kind="all-gather", what="losses", size_bytes=80, element_bytes=1),
        Collective(kind="all-reduce", what="fingerprint", size_bytes=16, element_bytes=8),
    )
    assert traffic.rank_bytes == 10 + 20 + 4 + 40 + 16


@pytest.mark.parametrize(
    ("kind", "backend", "ranks", "sent"),
    [
        ("all-reduce", "nccl", 2, 1000),
        ("all-reduce", "gloo", 4, 1500),
        ("all-gather", "nccl", 4, 750),
        ("all-gather", "gloo", 2, 500),
        ("reduce-scatter", "nccl", 4, 750),
        ("reduce-scatter", "gloo", 4, 1500),
    ],
)
def test_each_rank_sends_its_share_of_a_collective(kind: str, backend: str, ranks: int, sent: int) -> None:
    assert sent_bytes(kind, 1000, ranks=ranks, backend=backend) == sent


# What sockets showed per rank and collective beyond the payload, with PyTorch 2.13: kind, bytes of
# the whole, element, ranks.
@pytest.mark.parametrize(
    ("kind", "size", "element", "ranks", "measured"),
    [
        ("all-reduce", 8, 4, 2, 288),
        ("all-reduce", 8, 4, 4, 432),
        ("all-reduce", 416, 4, 2, 576),
        ("all-reduce", 416, 4, 4, 1728),
        ("all-reduce", 4_000_000, 4, 2, 576),
        ("all-reduce", 4_000_000, 4, 4, 1728),
        ("reduce-scatter", 8_000_000, 4, 2, 1152),
        ("reduce-scatter", 16_000_000, 4, 4, 3456),
        ("all-gather", 416 * 2, 4, 2, 288),
        ("all-gather", 416 * 4, 4, 4, 864),
        ("all-gather", 4_000_000 * 4, 4, 4, 864),
    ],
)
def test_what_gloo_adds_to_the_payload_is_what_was_measured(
    kind: str, size: int, element: int, ranks: int, measured: int
) -> None:
    each = Collective(kind=kind, what="", size_bytes=size, element_bytes=element)

    assert gloo_control(each, ranks) / ranks == measured


def test_micro_steps_gather_again_and_reduce_once() -> None:
    one = step_traffic(QWEN, ranks=8, nodes=2, backend="nccl")
    four = step_traffic(QWEN, ranks=8, nodes=2, backend="nccl", micro_steps=4)

    gathered = (2 * 1_543_714_304 - 233_375_232) * 2 * 7 // 8
    assert four.rank_bytes - one.rank_bytes == 3 * gathered


def test_replicas_in_their_nodes_send_only_their_parts_to_other_nodes() -> None:
    traffic = step_traffic(replace(QWEN, replicas=2), ranks=8, nodes=2, backend="nccl")

    # Each of the four parts of a node is reduced with the same part on the other: twice a half, in float32.
    parts = 4 * (1_543_714_304 // 4 * 4)
    assert traffic.node_bytes - small_of_one_edge(traffic) == parts
    whole = (2 * 1_543_714_304 - 233_375_232) * 2 + 1_543_714_304 * 4
    assert model_bytes(traffic) == whole * 3 // 4 + parts // 4


def small_of_one_edge(traffic: Traffic) -> int:
    """One edge of the small collectives' ring leaves each node."""
    return traffic.small_bytes


def test_a_replica_over_several_nodes_gathers_over_one_edge_of_each() -> None:
    traffic = step_traffic(replace(QWEN, replicas=2), ranks=8, nodes=4, backend="nccl")

    whole = (2 * 1_543_714_304 - 233_375_232) * 2 + 1_543_714_304 * 4
    # Two ranks of a node, each with a part of its own, of which the other replica's is elsewhere.
    assert traffic.node_bytes - traffic.small_bytes == whole * 3 // 4 + 2 * (1_543_714_304 // 4 * 4)
