"""What was locked and what was seen of a cluster, for people and as JSON."""

from dataclasses import replace
from io import StringIO

from inline_snapshot import snapshot
from rich.console import Console

from rdlc.cli.conformance_text import cluster_row, conformance_rows, show_conformance
from rdlc.core.kube.conformance import check_cluster
from rdlc.core.kube.describe import record_cluster
from rdlc.core.kube.sightings import Sightings
from rdlc.core.record import RunRecord
from tests.core.kube.recorded import DUE, IMAGE, OLD, PLATFORM, RANKS, see, status_of, without_nodes, worker
from tests.diff_samples import make_lock, make_record


def record_of(sightings: Sightings) -> RunRecord:
    return replace(
        make_record(make_lock()),
        ranks=RANKS,
        checks=check_cluster(DUE, sightings, RANKS),
        cluster=record_cluster(sightings, RANKS),
    )


def text_of(record: RunRecord) -> str:
    console = Console(file=StringIO(), width=200, markup=False, highlight=False, emoji=False)
    show_conformance(console, record)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_a_cluster_as_locked_is_told_in_one_line_and_one_for_each_pod() -> None:
    assert text_of(record_of(Sightings(before=see(), after=see()))) == snapshot("""\
  cluster   ray-train/rdlc-w: 23 of 23 checks met
            ranks 0 to 3 in pod rdlc-w-gpu-worker-pkcfv on node bed
            ranks 4 to 7 in pod rdlc-w-gpu-worker-gbsw8 on node bed
""")


def test_what_is_not_as_locked_is_told_with_both_values_and_what_was_not_seen_with_the_reason() -> None:
    after = without_nodes(see(change=lambda pods: status_of(worker(pods)).update(imageID=f"mirror/ray@{OLD}")))

    accepted = f"{IMAGE} (the index) or {PLATFORM} (the platform's manifest)"
    assert (
        text_of(record_of(Sightings(before=see(), after=after)))
        == f"""\
  cluster   ray-train/rdlc-w: 15 of 23 checks met
            ranks 0 to 3 in pod rdlc-w-gpu-worker-pkcfv on node bed
            ranks 4 to 7 in pod rdlc-w-gpu-worker-gbsw8 on node bed
            nodes could not be seen: forbidden: nodes is forbidden to the role
            plugins could not be seen: forbidden: nodes is forbidden to the role
  image of gpu-1/ray-worker
    locked  {accepted}
    found   before {IMAGE} (the index); after {OLD}
  pods before and after
    locked  the same pods
    found   gpu-1/ray-worker changed its image from registry.local/ray@{IMAGE} to mirror/ray@{OLD}
  not measured: AMI of the workers' nodes, driver of the workers' nodes, instance type of the workers' nodes, \
kernel of the workers' nodes, workers' nodes, EFA plugin
"""
    )


def test_json_has_a_row_for_every_question_and_null_where_nobody_could_see() -> None:
    seen = without_nodes(see())
    record = record_of(Sightings(before=seen, after=seen))

    rows = conformance_rows(record)

    assert len(rows) == len(record.checks)
    assert {"name": "pods", "locked": "head 1, gpu 2", "observed": "head 1, gpu 2", "equal": True} in rows
    words = "not measured: forbidden: nodes is forbidden to the role"
    assert {"name": "kernel of the workers' nodes", "locked": "6.12.40", "observed": words, "equal": None} in rows
    cluster = cluster_row(record)
    assert isinstance(cluster, dict)
    assert cluster["placements"][4] == {"rank": 4, "pod": "rdlc-w-gpu-worker-gbsw8", "node": "bed"}
    assert cluster_row(make_record(make_lock())) is None
