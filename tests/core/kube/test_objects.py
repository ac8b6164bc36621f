"""What is kept of the objects of a Kubernetes API, whatever they hold."""

import contextlib
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdlc.core.kube.objects import belongs_to, read_groups, read_node, read_object, read_pod
from rdlc.core.kube.observed import HEAD, NodeSeen
from rdlc.errors import InputError
from tests.core.kube.recorded import PODS, RAYCLUSTER, worker

NODE: dict[str, Any] = {
    "metadata": {
        "name": "ip-10-0-1-2.us-east-2.compute.internal",
        "labels": {
            "eks.amazonaws.com/nodegroup-image": "ami-0abc",
            "node.kubernetes.io/instance-type": "g6.12xlarge",
            "topology.kubernetes.io/zone": "us-east-2a",
            "nvidia.com/cuda.driver.major": "580",
            "nvidia.com/cuda.driver.minor": "95",
            "nvidia.com/cuda.driver.rev": "05",
        },
    },
    "status": {
        "nodeInfo": {"kernelVersion": "6.12.40-64.114.amzn2023.x86_64", "osImage": "Amazon Linux 2023.9"},
        "allocatable": {"nvidia.com/gpu": "4", "vpc.amazonaws.com/efa": "1"},
    },
}
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=10,
)


def replaced(value: Any, path: list[int], new: Any) -> Any:
    """A copy in which the part that the numbers lead to is another one."""
    if not path or not isinstance(value, dict | list) or not value:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    key = keys[path[0] % len(keys)]
    copy[key] = replaced(value[key], path[1:], new)
    return copy


@settings(max_examples=300)
@given(path=st.lists(st.integers(0, 50), max_size=8), new=json_values)
def test_whatever_stands_in_an_object_it_is_read_or_refused_as_bad_input(path: list[int], new: Any) -> None:
    # Anything but bad input would fail this test.
    for read, value in ((read_pod, PODS[0]), (read_object, RAYCLUSTER)):
        with contextlib.suppress(InputError):
            read(replaced(value, path, new), clear={})
    with contextlib.suppress(InputError):
        read_node(replaced(NODE, path, new))


def test_a_node_tells_its_ami_kernel_and_driver_and_no_more_than_it_says() -> None:
    assert read_node(NODE) == NodeSeen(
        name="ip-10-0-1-2.us-east-2.compute.internal",
        facts={
            "AMI": "ami-0abc",
            "EFA": "1",
            "GPUs": "4",
            "driver": "580.95.05",
            "instance type": "g6.12xlarge",
            "kernel": "6.12.40-64.114.amzn2023.x86_64",
            "system": "Amazon Linux 2023.9",
            "zone": "us-east-2a",
        },
    )


def test_secrets_of_a_pod_are_not_kept_whatever_they_are_called() -> None:
    pod = deepcopy(worker(PODS))
    pod["spec"]["containers"][0] |= {
        "env": [
            {"name": "HF_TOKEN", "value": "hf_" + "a" * 40},
            {"name": "RAY_REDIS_PASSWORD", "value": "hunter2"},
            {"name": "NCCL_HIDDEN", "value": "AKIA" + "A" * 16},
            {"name": "DATABASE", "value": "postgres://me:hunter2@db"},
            {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "hub", "key": "token"}}},
            {"name": "NCCL_DEBUG", "value": "INFO\x1b[2J"},
        ],
        "envFrom": [{"secretRef": {"name": "all"}}],
    }

    (main, *_) = read_pod(pod, clear={}).containers

    assert main.environment == {
        "(envFrom 0)": "(secretRef all)",
        "DATABASE": "(not kept)",
        "HF_TOKEN": "(not kept)",
        "NCCL_DEBUG": "INFO\\x1b[2J",
        "NCCL_HIDDEN": "(not kept)",
        "RAY_REDIS_PASSWORD": "(not kept)",
        "TOKEN": "(secretKeyRef hub token)",
    }


def test_a_value_that_the_lock_shows_in_clear_is_kept_and_another_one_is_not() -> None:
    pod = deepcopy(worker(PODS))
    pod["spec"]["containers"][0]["env"] = [{"name": "MODE", "value": "a"}, {"name": "OTHER", "value": "b"}]

    (main, *_) = read_pod(pod, clear={"gpu": {"MODE": "a", "OTHER": "a"}}).containers

    assert main.environment == {"MODE": "a", "OTHER": "(not kept)"}


def test_a_group_of_workers_that_is_called_head_is_not_the_head() -> None:
    raycluster = deepcopy(RAYCLUSTER)
    raycluster["spec"]["workerGroupSpecs"][0]["groupName"] = HEAD

    assert list(read_groups(raycluster)) == [HEAD, "(workers) head"]


def test_a_name_that_kubernetes_would_not_give_is_refused() -> None:
    pod = deepcopy(PODS[0])
    pod["metadata"]["name"] = "../../etc"

    with pytest.raises(InputError) as caught:
        read_pod(pod, clear={})

    assert caught.value.message == "is no name of Kubernetes: `../../etc`"


def test_a_pod_belongs_to_the_cluster_that_its_label_names() -> None:
    assert belongs_to(PODS[0], "rdlc-w")
    assert not belongs_to(PODS[0], "rdlc")
