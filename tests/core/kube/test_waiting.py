"""Clusters that come up or never will, mostly as they were recorded from a real one."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdlc.core.kube.pod_states import ClusterEvent, read_event, read_pod_state
from rdlc.core.kube.waiting import Outlook, Patience, Scene, judge_wait

_RECORDINGS = Path(__file__).parents[2] / "kubernetes" / "recordings"
_GONE = "registry.local/ray@sha256:7362fde136edd331454272695c5a461d506aeb739c7123073c68d9acd09d8438"


def _recorded(name: str, *, elapsed_s: float = 5.0) -> Scene:
    recording = json.loads((_RECORDINGS / f"{name}.json").read_bytes())
    return Scene(
        raycluster=recording["raycluster"],
        pods=tuple(read_pod_state(pod) for pod in recording["pods"]),
        events=tuple(read_event(event) for event in recording["events"]),
        pods_due=3,
        elapsed_s=elapsed_s,
    )


def _judge(scene: Scene) -> Outlook:
    return judge_wait(scene, Patience())


def _scene(*pods: dict[str, Any], status: dict[str, Any] | None = None, elapsed_s: float = 5.0) -> Scene:
    return Scene(
        raycluster={"status": status or {"conditions": []}},
        pods=tuple(read_pod_state(pod) for pod in pods),
        events=(),
        pods_due=2,
        elapsed_s=elapsed_s,
    )


def _pod(name: str, *, is_head: bool = False, **status: Any) -> dict[str, Any]:
    labels = {"ray.io/node-type": "head" if is_head else "worker", "ray.io/group": "gpu"}
    return {"metadata": {"name": name, "labels": labels}, "spec": {}, "status": status}


def _unplaced(reason: str, message: str) -> list[dict[str, str]]:
    return [{"type": "PodScheduled", "status": "False", "reason": reason, "message": message}]


def test_recorded_ready_cluster_is_ready() -> None:
    assert _judge(_recorded("ready")) == Outlook(is_ready=True)


def test_recorded_ready_cluster_with_fewer_pods_than_due_is_not() -> None:
    assert _judge(replace(_recorded("ready"), pods_due=4)) == Outlook(waits_for="3 of 4 pods are ready")


def test_workers_without_efa_are_a_cause_once_nodes_cannot_come() -> None:
    lacking = "0 of 1 nodes have enough vpc.amazonaws.com/efa (1 Insufficient vpc.amazonaws.com/efa)"
    words = f"2 workers cannot be placed: {lacking}"

    assert _judge(_recorded("efa")) == Outlook(waits_for=words)
    assert _judge(_recorded("efa", elapsed_s=61)) == Outlook(
        cause=words, hint="`kubectl describe nodes`: what each node can allocate"
    )


def test_node_that_is_being_made_is_waited_for() -> None:
    scene = _recorded("efa", elapsed_s=300)
    worker = next(pod for pod in scene.pods if pod.unplaced)
    nominated = ClusterEvent(
        kind="Pod", name=worker.name, is_warning=False, reason="Nominated", message="Pod should schedule on: node-7"
    )

    outlook = _judge(replace(scene, events=(*scene.events, nominated)))

    assert outlook == Outlook(waits_for="a node is being made for 2 workers: Pod should schedule on: node-7")


def test_image_that_cannot_be_resolved_is_a_cause_at_once() -> None:
    outlook = _judge(_recorded("img"))

    assert outlook.cause == (
        f"the image of the head rdlc-img-head-2cf49 cannot be pulled: {_GONE}: lookup registry.local: no such host"
    )
    assert outlook.hint == "`kubectl describe pod rdlc-img-head-2cf49`"


def test_image_that_may_still_come_is_waited_for() -> None:
    waiting = {"reason": "ErrImagePull", "message": "pull QPS exceeded"}
    states = [{"name": "ray-head", "state": {"waiting": waiting}}]
    head = _pod("head-0", is_head=True, containerStatuses=states)
    words = "the image of the head head-0 cannot be pulled: pull QPS exceeded"

    assert _judge(_scene(head)) == Outlook(waits_for=words)
    assert _judge(_scene(head, elapsed_s=120)).cause == words


def test_head_out_of_memory_is_named_before_the_workers_that_wait_for_it() -> None:
    assert _judge(_recorded("oom")) == Outlook(
        cause="the head rdlc-oom-head-cgbfr ran out of memory while Ray started: its memory limit is too small",
        hint="raise `resources.limits.memory` of that group",
    )


_TOLD = {
    "auth": "The RayCluster spec is invalid ray-train/rdlc-auth: "
    "authOptions.mode is 'token' but minimum Ray version is 2.52.0, got 2.50.0",
    "long-name": "The RayCluster metadata is invalid "
    "ray-train/rdlc-aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeee1234567: "
    "RayCluster name should be no more than 53 characters",
}


@pytest.mark.parametrize("name", list(_TOLD))
def test_spec_that_kuberay_refuses_is_a_cause_in_its_own_words(name: str) -> None:
    cause = f"KubeRay refuses the spec: {_TOLD[name]}"

    assert _judge(_recorded(name)) == Outlook(cause=cause, hint="`rdlc check LOCK`")


def test_spec_with_conflicting_resources_is_refused_too() -> None:
    assert _judge(_recorded("conf")).cause.startswith("KubeRay refuses the spec: The RayCluster spec is invalid")


def test_operator_that_does_nothing_is_a_cause_after_a_while() -> None:
    nothing = Scene(raycluster={}, pods=(), events=(), pods_due=3, elapsed_s=5)

    assert _judge(nothing) == Outlook(waits_for="the KubeRay operator has not looked at it yet")
    assert _judge(replace(nothing, elapsed_s=31)).cause == (
        "the KubeRay operator did nothing for 31 s: it does not run, or does not watch this namespace"
    )


def test_queues_are_waited_for_however_long_it_takes() -> None:
    suspended = _scene(status={"conditions": [{"type": "RayClusterSuspended", "status": "True"}]}, elapsed_s=3000)
    gated = _scene(_pod("head-0", is_head=True, conditions=_unplaced("SchedulingGated", "gated")), elapsed_s=3000)
    gang = _scene(_pod("w", conditions=_unplaced("Unschedulable", "pod group is not ready, 2 Pending")), elapsed_s=3000)

    assert _judge(suspended).waits_for == "queued: suspended until its queue lets it in (Kueue)"
    assert _judge(gated).waits_for == "queued: the head held back by a scheduling gate (Kueue)"
    assert _judge(gang).waits_for == "queued: pod group is not ready, 2 Pending"


def test_missing_secret_and_evicted_pod_are_causes() -> None:
    waiting = {"reason": "CreateContainerConfigError", "message": 'secret "hf" not found'}
    secret = _pod("w-0", containerStatuses=[{"name": "ray-worker", "state": {"waiting": waiting}}])
    evicted = _pod("w-0", phase="Failed", reason="Evicted", message="the node was low on memory")

    assert _judge(_scene(secret)).cause == (
        'worker w-0 cannot start: CreateContainerConfigError: secret "hf" not found'
    )
    assert _judge(_scene(evicted)).cause == "worker w-0 ended: Evicted: the node was low on memory"


def test_workers_that_cannot_reach_a_ready_head_are_a_cause() -> None:
    head = _pod("head-0", is_head=True, conditions=[{"type": "Ready", "status": "True"}])
    worker = _pod("w-0", initContainerStatuses=[{"name": "wait-gcs-ready", "ready": False}])

    assert _judge(_scene(head, worker)).waits_for == "1 of 2 pods are ready"
    assert _judge(_scene(head, worker, elapsed_s=200)) == Outlook(
        cause="1 worker cannot reach the head although it is ready: the cluster's DNS or its domain is another, "
        "or a network policy is in the way",
        hint="`kubectl logs w-0 -c wait-gcs-ready`",
    )


def test_cluster_that_never_comes_up_ends_with_what_it_waited_for() -> None:
    assert _judge(_scene(_pod("head-0", is_head=True, phase="Pending"), elapsed_s=3600)).cause == (
        "not all pods were ready within 3600 s: 0 of 2 pods are ready; the workers wait for the head (Pending)"
    )


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["metadata", "status", "conditions", "type", "name", "state"]), inner)
    ),
    max_leaves=12,
)


@given(pod=st.dictionaries(st.sampled_from(["metadata", "spec", "status"]), _JSON))
def test_any_object_of_a_cluster_gives_an_outlook(pod: dict[str, Any]) -> None:
    scene = Scene(raycluster=pod, pods=(read_pod_state(pod),), events=(read_event(pod),), pods_due=1, elapsed_s=1)

    assert isinstance(_judge(scene), Outlook)
