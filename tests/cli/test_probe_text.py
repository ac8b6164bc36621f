"""A probe for people and as JSON, from made-up figures."""

from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from inline_snapshot import snapshot
from rich.console import Console

from rdlc.cli.probe_json import result_document
from rdlc.cli.probe_text import show_result, table_lines
from rdlc.core.probe.prediction import tabulate
from rdlc.core.probe.reading import read_probe
from rdlc.operations.probe import ProbeResult
from tests.cli.probe_results import make_record, result_of
from tests.core.probe.samples import one_arm, two_arms


def text_of(result: ProbeResult, *, status: str = "measured") -> str:
    console = Console(file=StringIO(), width=200, markup=False, highlight=False, emoji=False)
    show_result(console, result, status=status)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_one_arm_says_that_a_ratio_is_not_applicable() -> None:
    assert text_of(result_of(one_arm())) == snapshot("""\
measured  toy in 1 min 5 s
  locked transport: gloo, 2 ranks on 1 node (1 host), cpu
    transport: not applicable, NCCL was not used
    note      gloo moves everything over TCP sockets, so the locked transport is TCP itself

bus bandwidth by size, as nccl-tests counts it; the median of the repeats
  kind             size        locked          time
  all-reduce      1 KiB      512 kB/s       2.00 ms
  all-reduce      4 KiB  not measured  not measured
  all-gather      1 KiB      512 kB/s       1.00 ms
  all-gather      4 KiB     1.02 MB/s       2.00 ms
  reduce-scatter  1 KiB      256 kB/s       2.00 ms
  reduce-scatter  4 KiB      512 kB/s       4.00 ms

  all-reduce
     10 MB/s |
             |
             |
      1 MB/s |
             |  o
             |
    100 kB/s |
             +--------------
               1 KiB   4 KiB

  all-gather
     10 MB/s |
             |
             |
      1 MB/s |           o
             |  o
             |
    100 kB/s |
             +--------------
               1 KiB   4 KiB

  reduce-scatter
     10 MB/s |
             |
             |
      1 MB/s |
             |           o
             |  o
    100 kB/s |
             +--------------
               1 KiB   4 KiB
             o locked transport

one step moves 6,815,744 bytes from each rank, 0 from each node to others
  step, by the baseline   not measured: no baseline stands beside the lock
  over locked transport   the collectives alone take 9.22 s, which is a floor; the step is not measured
  ratio to TCP            not applicable: the locked transport is TCP itself
  an hour of fallback     not applicable
  lock      sha256:0000000000000000000000000000000000000000000000000000000000000000
  record    /records/it
  picture   /records/it/bandwidth.svg
""")


def test_two_arms_have_what_was_set_what_was_proven_and_a_ratio() -> None:
    text = text_of(result_of(two_arms(), finding="unknown"), status="unproven")

    assert text.partition("\n\n  all-reduce\n")[0] == snapshot("""\
unproven  toy in 1 min 5 s
  locked transport: nccl, 2 ranks on 1 node (1 host), cpu
    transport: not proven: no line names a communicator; the lock names none
!!! TRANSPORT NOT PROVEN
!!! seen      not proven: no line names a communicator; the lock names none
  TCP: nccl, 2 ranks on 1 node (1 host), cpu
    set       NCCL_NET=Socket NCCL_P2P_DISABLE=1 NCCL_SHM_DISABLE=1
    transport: not proven: no line names a communicator; the lock names none
    note      a stand-in
!!! TRANSPORT NOT PROVEN
!!! seen      not proven: no line names a communicator; the lock names none

bus bandwidth by size, as nccl-tests counts it; the median of the repeats
  kind             size     locked     time       TCP     time   ratio
  all-reduce      1 MiB  1.05 GB/s  1.00 ms  524 MB/s  2.00 ms   2.00x
  all-reduce      4 MiB  2.10 GB/s  2.00 ms  210 MB/s  20.0 ms  10.00x
  all-gather      1 MiB   524 MB/s  1.00 ms  262 MB/s  2.00 ms   2.00x
  all-gather      4 MiB  1.05 GB/s  2.00 ms  105 MB/s  20.0 ms  10.00x
  reduce-scatter  1 MiB   524 MB/s  1.00 ms  262 MB/s  2.00 ms   2.00x
  reduce-scatter  4 MiB  1.05 GB/s  2.00 ms  105 MB/s  20.0 ms  10.00x\
""")


def test_what_a_step_takes_and_what_a_fallback_loses_are_told_with_a_baseline_and_a_price() -> None:
    text = text_of(result_of(two_arms(), step_s=0.01, usd="9.20", finding="unknown"), status="unproven")

    assert text[text.index("one step moves") :] == snapshot("""\
one step moves 6,815,744 bytes from each rank, 0 from each node to others
  step, by the baseline   10.0 ms
  over locked transport   10.0 ms predicted; the collectives alone take 6.50 ms
  over TCP                61.0 ms to 64.5 ms predicted; the collectives alone take 61.0 ms
  ratio to TCP            2.00x to 10.00x, by size
  an hour of fallback     loses 50.2 to 50.7 minutes; 7.69 to 7.77 of 9.20 USD
  lock      sha256:0000000000000000000000000000000000000000000000000000000000000000
  record    /records/it
  picture   /records/it/bandwidth.svg
""")


def test_without_a_price_the_money_is_not_measured() -> None:
    text = text_of(result_of(two_arms(), step_s=0.01))

    assert text.splitlines()[-4] == snapshot(
        "  an hour of fallback     loses 50.2 to 50.7 minutes; in money not measured: no `--price`"
    )


def test_without_a_baseline_neither_step_nor_loss_is_measured() -> None:
    lines = text_of(result_of(two_arms(), usd="9.20")).splitlines()

    assert lines[-9:-3] == snapshot(
        [
            "one step moves 6,815,744 bytes from each rank, 0 from each node to others",
            "  step, by the baseline   not measured: no baseline stands beside the lock",
            "  over locked transport   the collectives alone take 6.50 ms, which is a floor; the step is not measured",
            "  over TCP                the collectives alone take 61.0 ms, which is a floor; the step is not measured",
            "  ratio to TCP            2.00x to 10.00x, by size",
            "  an hour of fallback     not measured: no baseline says what a step takes",
        ]
    )


def test_of_an_arm_that_went_elsewhere_no_cost_follows() -> None:
    result = result_of(two_arms(), step_s=0.01, usd="9.20", finding="fallback")
    assert result.findings is not None

    alarming = replace(result, findings=replace(result.findings, loss=None))
    lines = text_of(alarming, status="wrong-transport").splitlines()

    assert result.findings.is_alarming
    assert lines[2] == "    transport: fell back to socket, and the lock names none; proven by NCCL's own lines"
    assert lines[-4] == "  an hour of fallback     not measured: an arm went over another transport"


def test_what_failed_says_why_and_shows_no_figure() -> None:
    result = ProbeResult(
        record=make_record(status="failed", reason="rank 1 was killed"),
        path=Path("/records/it"),
        usd_per_h=None,
        findings=None,
    )

    assert text_of(result, status="failed") == snapshot("""\
failed  toy in 1 min 5 s
  why       rank 1 was killed
  lock      sha256:0000000000000000000000000000000000000000000000000000000000000000
  record    /records/it
""")
    assert result_document(result) == snapshot(
        {
            "record": "/records/it",
            "lock_id": "sha256:0000000000000000000000000000000000000000000000000000000000000000",
            "reason": "rank 1 was killed",
            "accepted": {},
            "picture": None,
            "price_usd_per_h": None,
            "arms": [],
            "has_tcp_arm": None,
            "bandwidth": [],
            "step": None,
            "fallback_hour": None,
        }
    )


@pytest.mark.parametrize("has_tcp", [True, False])
def test_every_line_of_the_table_is_as_wide_as_its_head(has_tcp: bool) -> None:
    rows = tabulate(read_probe(one_arm(), name="probe.jsonl"))

    assert len({len(line) for line in table_lines(rows, has_tcp=has_tcp)}) == 1


def test_nothing_that_workers_wrote_steers_the_terminal() -> None:
    text = text_of(result_of(one_arm().replace(b'"device": "cpu"', b'"device": "\\u001b[31m[bold]x"')))

    assert "\x1b" not in text
    assert "\\x1b[31m[bold]x" in text
