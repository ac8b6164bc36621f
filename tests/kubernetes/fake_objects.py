"""What the fake API server knows of kinds, selectors and patches."""

import re
from collections.abc import Mapping
from typing import Any

# Plural to API version and kind.
KINDS = {
    "pods": ("v1", "Pod"),
    "nodes": ("v1", "Node"),
    "events": ("v1", "Event"),
    "services": ("v1", "Service"),
    "namespaces": ("v1", "Namespace"),
    "limitranges": ("v1", "LimitRange"),
    "resourcequotas": ("v1", "ResourceQuota"),
    "deployments": ("apps/v1", "Deployment"),
    "daemonsets": ("apps/v1", "DaemonSet"),
    "rayclusters": ("ray.io/v1", "RayCluster"),
    "rayjobs": ("ray.io/v1", "RayJob"),
    "customresourcedefinitions": ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
    "nodepools": ("karpenter.sh/v1", "NodePool"),
    "ec2nodeclasses": ("karpenter.k8s.aws/v1", "EC2NodeClass"),
    "workloads": ("kueue.x-k8s.io/v1beta1", "Workload"),
}
_CLUSTER_WIDE = ("nodes", "namespaces", "customresourcedefinitions", "nodepools", "ec2nodeclasses")
_VERBS = ["create", "delete", "get", "list", "patch", "update", "watch"]


def discovery(path: str, version: str) -> dict[str, Any] | None:
    """The answer to a question of discovery; None if it is another question."""
    groups = sorted({api for api, _ in KINDS.values() if "/" in api})
    if path == "/version":
        return {"major": "1", "minor": version.split(".")[1], "gitVersion": version}
    if path == "/api":
        return {"kind": "APIVersions", "versions": ["v1"]}
    if path == "/apis":
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_group(api) for api in groups]}
    for api in ("v1", *groups):
        if path == (f"/apis/{api}" if "/" in api else f"/api/{api}"):
            return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": api, "resources": _resources(api)}
    return None


def _group(api: str) -> dict[str, Any]:
    name, _, version = api.partition("/")
    one = {"groupVersion": api, "version": version}
    return {"name": name, "versions": [one], "preferredVersion": one}


def _resources(api: str) -> list[dict[str, Any]]:
    return [
        {"name": plural, "singularName": kind.lower(), "kind": kind, "namespaced": plural not in _CLUSTER_WIDE,
         "verbs": _VERBS}
        for plural, (version, kind) in KINDS.items()
        if version == api
    ]  # fmt: skip


def version_of(match: re.Match[str]) -> str:
    """The API version in a matched path."""
    return f"{match['group']}/{match['version']}" if match["group"] else str(match["version"])


def matches(item: Mapping[str, Any], query: Mapping[str, str]) -> bool:
    """Whether an object fits the label and field selectors of a query; only `a=b` and `a` are known."""
    labels = item["metadata"].get("labels", {})
    for part in filter(None, query.get("labelSelector", "").split(",")):
        name, sign, value = part.replace("==", "=").partition("=")
        if name not in labels or (sign and labels[name] != value):
            return False
    for part in filter(None, query.get("fieldSelector", "").split(",")):
        path, _, value = part.replace("==", "=").partition("=")
        found: Any = item
        for key in path.split("."):
            found = found.get(key, "") if isinstance(found, Mapping) else ""
        if found != value:
            return False
    return True


def merged(old: Any, new: Any) -> Any:
    """The object after a JSON merge patch."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        return new
    result = dict(old)
    for key, value in new.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


def status_body(code: int, reason: str, message: str, *, status: str = "Failure") -> dict[str, Any]:
    """A `Status` object as a server sends it."""
    return {
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": status, "message": message,
        "reason": reason, "code": code,
    }  # fmt: skip
