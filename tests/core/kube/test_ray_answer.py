"""What the head tells of Ray."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdlc.core.kube.observed import RayNodeSeen
from rdlc.core.kube.ray_answer import JobSeen, RayAnswer, read_ray_answer
from rdlc.errors import InputError

ANSWER = {
    "nodes": [
        {"node_id": "b", "node_ip": "10.0.0.2", "state": "ALIVE", "is_head_node": False, "gpus": "4.0"},
        {"node_id": "a", "node_ip": "10.0.0.1", "state": "ALIVE", "is_head_node": True, "gpus": ""},
        {"node_id": "c", "node_ip": "10.0.0.2", "state": "DEAD", "is_head_node": False, "gpus": ""},
    ],
    "jobs": [
        {"job_id": "02000000", "submission_id": "second", "status": "RUNNING", "start_time": "2000"},
        {"job_id": None, "submission_id": "never started", "status": "PENDING", "start_time": "3000"},
        {"job_id": "01000000", "submission_id": "first", "status": "FAILED", "start_time": "1000"},
    ],
}


def test_rays_table_keeps_the_dead_nodes_and_the_last_job_comes_last() -> None:
    assert read_ray_answer(json.dumps(ANSWER).encode(), name="head") == RayAnswer(
        nodes=(
            RayNodeSeen(id="a", address="10.0.0.1", state="ALIVE", is_head=True, gpus=""),
            RayNodeSeen(id="b", address="10.0.0.2", state="ALIVE", is_head=False, gpus="4"),
            RayNodeSeen(id="c", address="10.0.0.2", state="DEAD", is_head=False, gpus=""),
        ),
        jobs=(
            JobSeen(job_id="01000000", submission_id="first", status="FAILED"),
            JobSeen(job_id="02000000", submission_id="second", status="RUNNING"),
        ),
    )


def test_jobs_that_could_not_be_asked_for_are_not_none_at_all() -> None:
    answer = read_ray_answer(json.dumps({"nodes": [], "jobs": None}).encode(), name="head")

    assert answer == RayAnswer(nodes=(), jobs=None)


@settings(max_examples=100)
@given(data=st.binary(max_size=60))
def test_any_other_answer_is_bad_input(data: bytes) -> None:
    with pytest.raises(InputError):
        read_ray_answer(data, name="head")
