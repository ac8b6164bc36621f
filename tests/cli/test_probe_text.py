"""A probe for people and as JSON, from made-up figures."""

import json
from dataclasses import replace
from decimal import Decimal
from io import StringIO
from pathlib import Path

import pytest
from inline_snapshot import snapshot
from rich.console import Console

from rdlc.cli.probe_chart import draw_charts
from rdlc.cli.probe_json import result_document
from rdlc.cli.probe_text import show_result, table_lines
from rdlc.core.probe.panels import Panel, make_panels
from rdlc.core.probe.prediction import hourly_loss, predict_steps, tabulate
from rdlc.core.probe.reading import read_probe
from rdlc.core.record import RunRecord
from rdlc.core.transport.judged import Expectation, JudgedTransport, SeenTransport
from rdlc.core.transport.report import TransportReport
from rdlc.operations.probe import Findings, ProbeResult
from tests.core.probe.samples import TRAFFIC, one_arm, two_arms


def result_of(
    data: bytes, *, step_s: float | None = None, usd: str | None = None, finding: str = "not-applicable"
) -> ProbeResult:
    probe = read_probe(data, name="probe.jsonl")
    predictions = predict_steps(probe, TRAFFIC, measured_step_s=step_s)
    usd_per_h = None if usd is None else Decimal(usd)
    findings = Findings(
        probe=probe,
        rows=tabulate(probe),
        traffic=TRAFFIC,
        measured_step_s=step_s,
        predictions=predictions,
        loss=hourly_loss(predictions, measured_step_s=step_s, usd_per_h=usd_per_h),
        proofs={arm.name: make_report(finding) for arm in probe.arms},
    )
    return ProbeResult(record=make_record(), path=Path("/records/it"), usd_per_h=usd_per_h, findings=findings)


def make_report(finding: str) -> TransportReport:
    seen = SeenTransport(
        verdict="unknown" if finding in ("unknown", "not-applicable") else finding,
        transport="socket" if finding == "fallback" else "none",
        is_applicable=finding != "not-applicable",
        proof="log" if finding == "fallback" else "none",
        has_disagreement=False,
        reason="no line names a communicator",
    )
    due = Expectation(transport="", origin="")
    judged = JudgedTransport(finding=finding, seen=seen, due=due)
    return TransportReport(judged=judged, predicted_bytes=None, moved_bytes=None, observed={})


def make_record(**changes: str) -> RunRecord:
    return RunRecord(
        id="20261130T120000Z-0",
        kind="probe",
        name="toy",
        lock_id="sha256:" + "0" * 64,
        tool="rdlc",
        status=changes.get("status", "finished"),
        reason=changes.get("reason", ""),
        claim="execution",
        level="recorded",
        started="2026-11-30T12:00:00Z",
        ended="2026-11-30T12:01:05Z",
        token="token",
        accepted={},
        observed={},
        files={},
    )


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


def test_two_arms_have_a_ratio_a_prediction_and_what_a_fallback_loses() -> None:
    text = text_of(result_of(two_arms(), step_s=0.01, usd="9.20", finding="unknown"), status="unproven")

    assert text == snapshot("""\
unproven  toy in 1 min 5 s
  locked transport: nccl, 2 ranks on 1 node (1 host), cpu
    transport: not proven: no line names a communicator; the lock names none
  TCP: nccl, 2 ranks on 1 node (1 host), cpu
    set       NCCL_NET=Socket NCCL_P2P_DISABLE=1 NCCL_SHM_DISABLE=1
    transport: not proven: no line names a communicator; the lock names none
    note      a stand-in

bus bandwidth by size, as nccl-tests counts it; the median of the repeats
  kind             size     locked     time       TCP     time   ratio
  all-reduce      1 MiB  1.05 GB/s  1.00 ms  524 MB/s  2.00 ms   2.00x
  all-reduce      4 MiB  2.10 GB/s  2.00 ms  210 MB/s  20.0 ms  10.00x
  all-gather      1 MiB   524 MB/s  1.00 ms  262 MB/s  2.00 ms   2.00x
  all-gather      4 MiB  1.05 GB/s  2.00 ms  105 MB/s  20.0 ms  10.00x
  reduce-scatter  1 MiB   524 MB/s  1.00 ms  262 MB/s  2.00 ms   2.00x
  reduce-scatter  4 MiB  1.05 GB/s  2.00 ms  105 MB/s  20.0 ms  10.00x

  all-reduce
     10 GB/s |
             |
             |           o
      1 GB/s |  o
             |  x
             |           x
    100 MB/s |
             +--------------
               1 MiB   4 MiB

  all-gather
     10 GB/s |
             |
             |
      1 GB/s |           o
             |  o
             |  x
    100 MB/s |           x
             +--------------
               1 MiB   4 MiB

  reduce-scatter
     10 GB/s |
             |
             |
      1 GB/s |           o
             |  o
             |  x
    100 MB/s |           x
             +--------------
               1 MiB   4 MiB
             o locked transport   x TCP   # both

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


def test_json_has_every_figure_in_bytes_and_seconds() -> None:
    document = result_document(result_of(two_arms(), step_s=0.01, usd="9.20", finding="unknown"))

    assert json.loads(json.dumps(document)) == document
    assert document["arms"][1] == snapshot(
        {
            "name": "tcp",
            "note": "a stand-in",
            "transport": {
                "finding": "unknown",
                "verdict": "unknown",
                "transport": "none",
                "applicable": True,
                "proof": "none",
                "disagreement": False,
                "reason": "no line names a communicator",
                "expected": "",
                "expected_from": "",
                "predicted_bytes": None,
                "moved_bytes": None,
                "lines": [],
                "causes": [],
                "observed": {},
                "warnings": [],
                "cost": [],
            },
            "backend": "nccl",
            "torch": "2.13.0",
            "nccl": "2.28.9",
            "nodes": 1,
            "variables": {"NCCL_NET": "Socket", "NCCL_P2P_DISABLE": "1", "NCCL_SHM_DISABLE": "1"},
            "ranks": [
                {"rank": 0, "node_rank": 0, "host": "here", "device": "cpu"},
                {"rank": 1, "node_rank": 0, "host": "here", "device": "cpu"},
            ],
        }
    )
    assert document["bandwidth"][1] == snapshot(
        {
            "kind": "all-reduce",
            "size_bytes": 4194304,
            "locked": {"median_s": 0.002, "algbw": 2097152000.0, "busbw": 2097152000.0},
            "tcp": {"median_s": 0.02, "algbw": 209715200.0, "busbw": 209715200.0},
            "ratio": 10.0,
        }
    )
    assert document["step"] == snapshot(
        {
            "baseline_s": 0.01,
            "rank_bytes": 6815744,
            "node_bytes": 0,
            "predicted": [
                {"arm": "locked", "collectives_s": 0.006500000000000001, "low_s": 0.01, "high_s": 0.01},
                {
                    "arm": "tcp",
                    "collectives_s": 0.06100000000000001,
                    "low_s": 0.06100000000000001,
                    "high_s": 0.06450000000000002,
                },
            ],
        }
    )
    assert document["fallback_hour"] == snapshot(
        {"lost_share": [0.8360655737704918, 0.8449612403100776], "lost_usd": ["7.69", "7.77"]}
    )
    assert (document["has_tcp_arm"], document["price_usd_per_h"]) == (True, "9.20")


def test_the_chart_is_plain_ascii_without_a_terminal_and_marks_what_falls_together() -> None:
    panel = Panel(kind="all-gather", series={"locked": ((1 << 10, 1e6), (1 << 14, 1e8)), "tcp": ((1 << 10, 1e6),)})

    plain = "\n".join(draw_charts([panel], is_plain=True))

    assert plain.isascii()
    assert plain == snapshot("""\

all-gather
  100 MB/s |           o
           |
           |
   10 MB/s |
           |
           |
    1 MB/s |  #
           +--------------
             1 KiB  16 KiB
           o locked transport   x TCP   # both\
""")


def test_the_chart_on_a_terminal_has_the_same_form() -> None:
    panels = make_panels(tabulate(read_probe(two_arms(), name="probe.jsonl")))

    plain, drawn = ("\n".join(draw_charts(panels, is_plain=is_plain)) for is_plain in (True, False))

    translated = drawn.translate(str.maketrans("\u25cf\u25a1\u25a3\u2502\u2514\u2500", "ox#|+-"))
    assert translated == plain
    assert drawn != plain


def test_no_panel_is_no_chart() -> None:
    assert list(draw_charts([], is_plain=True)) == []


@pytest.mark.parametrize("has_tcp", [True, False])
def test_every_line_of_the_table_is_as_wide_as_its_head(has_tcp: bool) -> None:
    rows = tabulate(read_probe(one_arm(), name="probe.jsonl"))

    assert len({len(line) for line in table_lines(rows, has_tcp=has_tcp)}) == 1


def test_nothing_that_workers_wrote_steers_the_terminal() -> None:
    text = text_of(result_of(one_arm().replace(b'"device": "cpu"', b'"device": "\\u001b[31m[bold]x"')))

    assert "\x1b" not in text
    assert "\\x1b[31m[bold]x" in text
