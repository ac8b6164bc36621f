"""The figures of a run."""

from dataclasses import replace
from typing import Any

from rdlc.core.document import Document
from rdlc.core.fields import Fields
from rdlc.core.metrics.summary import MetricsReport, Work, read_metrics_report, summarize
from rdlc.core.outcome import Step
from tests.core.metrics.samples import HOSTS, rank
from tests.core.traffic.test_floor_words import LAYOUT

# The yardstick's run on two H200s: 8 x 2048 tokens on each, compiled.
WORK = Work(layout=LAYOUT, tokens=2 * 8 * 2048, sequence_length=2048, device="NVIDIA H200")
LAST = Step(
    step=100,
    attempt=1,
    loss=(2.5).hex(),
    gradient_norm=(0.75).hex(),
    learning_rate="0.0003",
    tokens=32768,
    batch_digest="sha256:" + "0" * 64,
    parameters=None,
    step_s=0.35,
)


def summary(*ranks: Any, work: Work | None = WORK, last: Step | None = LAST) -> MetricsReport:
    report = summarize(ranks or (rank(0), rank(1)), hosts=HOSTS, work=work, last=last)
    assert report is not None
    return report


def test_figures_that_people_compare_are_told_with_their_units() -> None:
    report = summary()

    # 32,768 tokens in 348.8 ms on two GPUs; 10.32 GFLOP a token of 989 TFLOP/s each.
    assert report.run == {
        "warmup_steps_left_out": "5",
        "counted_steps": "95",
        "step_s_p50": "0.348800",
        "step_s_p95": "0.352000",
        "tokens_per_s": "93945.0",
        "tokens_per_s_per_rank": "46972.5",
        "mfu": "0.4901",
        "device": "NVIDIA H200",
        "memory_allocated_peak_bytes": str(53472 << 20),
        "memory_reserved_peak_bytes": str(55000 << 20),
        "memory_total_bytes": str(143156 << 20),
        "allocation_retries": "0",
        "loss": "2.5",
        "gradient_norm": "0.75",
        "learning_rate": "0.0003",
    }
    assert report.sentences == (
        (
            "46,972 tokens/s per GPU, p50 348.8 ms and p95 352.0 ms a step; "
            "MFU 49.0% of the 989 TFLOP/s of NVIDIA H200 (bfloat16, dense, by its data sheet)"
        ),
        "GPU memory: at most 52.2 GiB allocated, 53.7 GiB reserved, of 139.8 GiB",
        "no rank stands out: their waits for each other differ by 0.0 ms of a step's 348.8 ms",
    )
    assert report.slowest == "none"


def test_a_device_without_a_data_sheet_has_no_mfu() -> None:
    report = summary(work=replace(WORK, device="NVIDIA Unheard Of"))

    assert report.run["mfu"] == "not measured"
    assert report.sentences[0].endswith("MFU not measured: no data sheet is known for NVIDIA Unheard Of with bfloat16")


def test_allocation_retries_are_a_warning_that_names_the_rank() -> None:
    full = {
        "allocated_peak_bytes": 78 << 30,
        "reserved_peak_bytes": 79 << 30,
        "total_bytes": 80 << 30,
        "allocation_retries": 3,
    }

    report = summary(rank(0), rank(1, memory=full))

    assert report.run["allocation_retries"] == "3"
    assert report.sentences[1:3] == (
        "GPU memory: at most 78.0 GiB allocated, 79.0 GiB reserved, of 80.0 GiB",
        (
            "warning: allocation retries, 3 on rank 1: the memory is nearly full, and steps wait for it to be given "
            "back; a smaller batch, chunked loss or activation checkpointing takes less"
        ),
    )


def test_what_was_not_measured_says_so() -> None:
    report = summary(rank(0, timed=None, step_s=None, memory=None, end=None), work=None, last=None)

    assert set(report.run.values()) == {"5", "not measured"}
    assert report.sentences == ()
    assert report.slowest == "not measured"
    assert report.ranks[0]["end_clock_mhz"] == "not measured"
    assert summarize((), hosts={}, work=WORK, last=LAST) is None


def test_computing_is_told_apart_only_where_collectives_block() -> None:
    gpu, cpu = summary(rank(0)).ranks[0], summary(rank(0, memory=None)).ranks[0]

    assert (gpu["data_s"], gpu["collectives_s"], gpu["compute_s"]) == ("0.001000", "0.050000", "not measured")
    assert cpu["compute_s"] == "0.297800"


def test_a_record_gives_back_what_was_put_into_it() -> None:
    report = summary()

    fields = Fields.of(Document(name="record.json", value=report.payload(), lines={}))

    assert read_metrics_report(fields) == replace(report, sentences=())
