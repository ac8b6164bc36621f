"""What the head's own program tells of Ray: its node table and its jobs."""

from dataclasses import dataclass

from rdlc.core.fields import Fields
from rdlc.core.kube.observed import RayNodeSeen
from rdlc.core.lines import read_json_file
from rdlc.core.text import one_line

ANSWER_LIMIT_BYTES = 16 << 20


@dataclass(frozen=True, kw_only=True, slots=True)
class JobSeen:
    """One job of Ray; `submission_id` is "" for one that was not submitted."""

    job_id: str
    submission_id: str
    status: str


@dataclass(frozen=True, kw_only=True, slots=True)
class RayAnswer:
    """All nodes, also dead ones, by address and id, and the jobs, the last one last; None if it told of no jobs."""

    nodes: tuple[RayNodeSeen, ...]
    jobs: tuple[JobSeen, ...] | None


def read_ray_answer(data: bytes, *, name: str) -> RayAnswer:
    """What the program printed; raises InputError for any other form."""
    answer = read_json_file(data, name=name, limit_bytes=ANSWER_LIMIT_BYTES)
    if not answer.has("nodes"):
        raise answer.error("nodes", "is missing")
    return RayAnswer(nodes=_read_nodes(answer), jobs=_read_jobs(answer) if answer.has("jobs") else None)


def _read_jobs(answer: Fields) -> tuple[JobSeen, ...]:
    started = [(_moment(row), row) for row in answer.each("jobs") if row.has("job_id")]
    return tuple(
        JobSeen(
            job_id=one_line(row.text("job_id")),
            submission_id=one_line(row.remark("submission_id")),
            status=one_line(row.remark("status")),
        )
        for _, row in sorted(started, key=lambda item: item[0])
    )


def _moment(row: Fields) -> int:
    text = row.remark("start_time")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else 0


def _read_nodes(answer: Fields) -> tuple[RayNodeSeen, ...]:
    nodes = [
        RayNodeSeen(
            id=one_line(row.text("node_id")),
            address=one_line(row.remark("node_ip")),
            state=one_line(row.text("state")),
            is_head=row.flag("is_head_node", default=False),
            gpus=one_line(row.remark("gpus")).removesuffix(".0"),
        )
        for row in answer.each("nodes")
    ]
    return tuple(sorted(nodes, key=lambda node: (node.address, node.id)))
