"""What becomes of a RayCluster on the fake API server: it comes up as KubeRay would, or as it was recorded."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.kubernetes.fake_api import FakeApi

Object = dict[str, Any]
OnCreate = Callable[[FakeApi, str, Object], None]
_RECORDINGS = Path(__file__).parent / "recordings"


def manifest(image: str) -> Object:
    """The RayCluster with that image everywhere."""
    text = json.dumps(MANIFEST).replace("registry.local/ray@sha256:" + "1" * 64, image)
    made: Object = json.loads(text)
    return made


MANIFEST: Object = {
    "apiVersion": "ray.io/v1",
    "kind": "RayCluster",
    "metadata": {"name": "RUN"},
    "spec": {
        "rayVersion": "2.58.0",
        "headGroupSpec": {
            "rayStartParams": {"num-cpus": "0"},
            "template": {
                "spec": {"containers": [{"name": "ray-head", "image": "registry.local/ray@sha256:" + "1" * 64}]}
            },
        },
        "workerGroupSpecs": [
            {
                "groupName": "gpu",
                "replicas": 1,
                "minReplicas": 1,
                "maxReplicas": 1,
                "rayStartParams": {},
                "template": {
                    "spec": {"containers": [{"name": "ray-worker", "image": "registry.local/ray@sha256:" + "1" * 64}]}
                },
            }
        ],
    },
}


def comes_up(image_id: Callable[[str], str] = lambda image: image) -> OnCreate:
    """An operator that has all pods ready at once; `image_id` is what the kubelet reports for an image."""

    def made(api: FakeApi, plural: str, item: Object) -> None:
        if plural != "rayclusters":
            return
        spec, name, namespace = item["spec"], item["metadata"]["name"], item["metadata"]["namespace"]
        groups = [("head", "head", 1, spec["headGroupSpec"]["template"])]
        groups += [("worker", g["groupName"], g["replicas"], g["template"]) for g in spec["workerGroupSpecs"]]
        number = 0
        for kind, group, replicas, template in groups:
            for index in range(replicas):
                number += 1
                api.put("pods", _pod(f"{name}-{group}-{index}", kind, group, number, item, template, image_id))
        workers = number - 1
        conditions = [
            {"type": "HeadPodReady", "status": "True", "reason": "HeadPodRunningAndReady"},
            {"type": "RayClusterProvisioned", "status": "True", "reason": "AllPodRunningAndReadyFirstTime"},
        ]
        item["status"] = {
            "conditions": conditions, "state": "ready", "desiredWorkerReplicas": workers,
            "readyWorkerReplicas": workers, "head": {"podName": f"{name}-head-0"},
        }  # fmt: skip
        assert api.find("rayclusters", name, namespace)

    return made


def _pod(
    name: str, kind: str, group: str, number: int, owner: Object, template: Object, image_id: Callable[[str], str]
) -> Object:
    metadata = owner["metadata"]
    containers = template["spec"]["containers"]
    statuses = [
        {
            "name": container["name"], "ready": True, "restartCount": 0, "image": container["image"],
            "imageID": image_id(container["image"]), "state": {"running": {"startedAt": "2026-12-01T00:00:05Z"}},
        }
        for container in containers
    ]  # fmt: skip
    return {
        "metadata": {
            "name": name,
            "namespace": metadata["namespace"],
            "labels": {
                "ray.io/cluster": metadata["name"], "ray.io/node-type": kind,
                "ray.io/group": "headgroup" if kind == "head" else group, "ray.io/is-ray-node": "yes",
            },
            "ownerReferences": [{"apiVersion": "ray.io/v1", "kind": "RayCluster", "name": metadata["name"],
                                 "uid": metadata["uid"], "controller": True}],
        },
        "spec": {**copy.deepcopy(template["spec"]), "nodeName": f"node-{number}"},
        "status": {
            "phase": "Running", "podIP": f"10.0.0.{number}", "hostIP": f"10.1.0.{number}",
            "conditions": [{"type": "Ready", "status": "True"}, {"type": "PodScheduled", "status": "True"}],
            "containerStatuses": statuses,
        },
    }  # fmt: skip


def recorded(name: str) -> OnCreate:
    """An operator that does what a real one did once: the pods, status and events of a recording."""

    def made(api: FakeApi, plural: str, item: Object) -> None:
        if plural != "rayclusters":
            return
        recording = json.loads((_RECORDINGS / f"{name}.json").read_bytes())
        old, metadata = recording["raycluster"]["metadata"]["name"], item["metadata"]
        text = json.dumps({"pods": recording["pods"], "events": recording["events"]}).replace(old, metadata["name"])
        for kind, objects in json.loads(text).items():
            for one in objects:
                one["metadata"]["namespace"] = metadata["namespace"]
                api.put(kind, one)
        if "status" in recording["raycluster"]:
            item["status"] = recording["raycluster"]["status"]

    return made


def deletes_pods(api: FakeApi, plural: str, item: Object) -> None:
    """Takes the pods away with their RayCluster."""
    if plural == "rayclusters":
        for pod in api.list("pods", item["metadata"]["namespace"]):
            if pod["metadata"].get("labels", {}).get("ray.io/cluster") == item["metadata"]["name"]:
                api.remove("pods", pod["metadata"]["name"], item["metadata"]["namespace"])
