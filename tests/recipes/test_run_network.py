"""What real runs read of the network: as many bytes as their collectives had to move."""

from dataclasses import replace
from pathlib import Path

import pytest

from rdlc.core.traffic.ledger import combine, judge_ledger
from rdlc.core.traffic.moved import moved_between, predicted_traffic, recorded_bytes
from rdlc.core.traffic.reading import NetworkReport, read_network_report
from tests.recipes.conftest import Run, Start, make_config, start_driver, wait_for


def read_reports(ended: Run) -> list[NetworkReport]:
    """Each rank's report of a run that must have finished."""
    assert ended.result.get("status") == "finished", ended.stderr
    paths = sorted((ended.output / "workers").glob("*/network.json"))
    return [read_network_report(path.read_bytes(), name=str(path)) for path in paths]


def assert_bytes_match(reports: list[NetworkReport], steps: tuple[int, int]) -> None:
    """The sockets between ranks moved what was predicted, within 2 %; the flight recorder has it to the byte."""
    predicted, moved = predicted_traffic(reports), moved_between(reports)
    assert predicted is not None
    assert (moved.first_step, moved.last_step) == steps
    assert moved.rank_bytes is not None, moved.why
    assert sorted(moved.rank_bytes) == list(range(predicted.ranks))
    for sent in moved.rank_bytes.values():
        assert sent == pytest.approx(predicted.rank_bytes, rel=0.02)
    ledger = judge_ledger(predicted, moved)
    proof = combine(verdict="unknown", transport="unknown", is_applicable=False, ledger=ledger)
    assert (ledger.carried, ledger.per, ledger.source) == ("tcp", "rank", "sockets")
    assert (proof.proof, proof.disagrees) == ("bytes", False)
    payload = predicted.rank_bytes - predicted.control_bytes
    assert [recorded_bytes(report) for report in reports] == pytest.approx([payload] * len(reports), abs=1)


def test_two_ranks_move_what_is_predicted_and_checkpoints_do_not_count(reference: Run) -> None:
    reports = read_reports(reference)

    assert [[reading.step for reading in report.readings] for report in reports] == [[0, 1, 4]] * 2
    assert_bytes_match(reports, (1, 4))


def test_four_ranks_move_what_is_predicted(run: Start) -> None:
    assert_bytes_match(read_reports(run(num_workers=4, recipe={"steps": 4})), (1, 4))


def test_three_ranks_move_what_is_predicted_though_the_tensors_do_not_divide(run: Start) -> None:
    ended = run(num_workers=3, recipe={"steps": 3, "global_batch_size": 9, "warmup_steps": 2, "precision": "bf16"})

    assert_bytes_match(read_reports(ended), (2, 3))


def test_bytes_are_there_to_be_judged_when_the_warm_up_is_said_to_be_over(reference: Run) -> None:
    early = [replace(report, readings=report.readings[:2]) for report in read_reports(reference)]
    predicted, moved = predicted_traffic(early), moved_between(early)

    # Evaluating the untrained model has left the outermost group gathered, so that the first step
    # gathers one thing less.
    assert predicted is not None
    assert predicted.collectives[2].what == "weights of the rest"
    assert moved.rank_bytes == pytest.approx(
        dict.fromkeys((0, 1), predicted.rank_bytes - predicted.collectives[2].size_bytes // 2), rel=0.02
    )
    assert judge_ledger(predicted, moved).carried == "tcp"
    assert ("warmed-up", 1) in reference.phases


def test_one_rank_has_nobody_to_send_to(run: Start) -> None:
    reports = read_reports(run(num_workers=1, recipe={"steps": 2}))

    moved = moved_between(reports)
    assert moved.rank_bytes == {0: 0}
    assert judge_ledger(predicted_traffic(reports), moved).carried == "unknown"


@pytest.mark.nightly
def test_ranks_under_ray_move_what_is_predicted(tmp_path: Path) -> None:
    config = make_config(num_workers=4, recipe={"steps": 4})

    ended = wait_for(start_driver(tmp_path, config), tmp_path / "output")

    assert_bytes_match(read_reports(ended), (1, 4))
