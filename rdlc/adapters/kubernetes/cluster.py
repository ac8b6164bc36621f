"""One cluster: objects by the API server's own paths, page by page, and programs in pods."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote, urlencode

from rdlc.adapters.kubernetes.exec import Ended, Running, new_mark, run_to_end, wrapped
from rdlc.adapters.kubernetes.program import Kubectl, read_all
from rdlc.core.canonical import Json, canonical_bytes
from rdlc.core.kube.answers import ClusterRefused, UnknownKind
from rdlc.errors import OutsideError

FIELD_MANAGER = "rdlc"
_PAGE = 250
_ANSWER_LIMIT_BYTES = 64 << 20
_CALL_LIMIT_S = 30.0
_LOG_LIMIT_S = 600.0
_VERSIONS = {
    "": "/api/v1",
    "apps": "/apis/apps/v1",
    "ray.io": "/apis/ray.io/v1",
    "batch": "/apis/batch/v1",
    "events.k8s.io": "/apis/events.k8s.io/v1",
    "storage.k8s.io": "/apis/storage.k8s.io/v1",
    "apiextensions.k8s.io": "/apis/apiextensions.k8s.io/v1",
    "admissionregistration.k8s.io": "/apis/admissionregistration.k8s.io/v1",
    "resource.k8s.io": "/apis/resource.k8s.io/v1",
    "karpenter.sh": "/apis/karpenter.sh/v1",
    "karpenter.k8s.aws": "/apis/karpenter.k8s.aws/v1",
    "kueue.x-k8s.io": "/apis/kueue.x-k8s.io/v1beta1",
}


class Place(Protocol):
    """One container of a pod."""

    @property
    def namespace(self) -> str:
        """The namespace of the pod."""
        ...

    @property
    def pod(self) -> str:
        """The name of the pod."""
        ...

    @property
    def container(self) -> str:
        """The name of the container."""
        ...


class KubectlCluster:
    """A cluster through `kubectl`."""

    def __init__(self, kubectl: Kubectl) -> None:
        self._kubectl = kubectl

    def get(self, kind: str, name: str, *, namespace: str | None) -> Mapping[str, Json] | None:
        """One object; None if there is none of that name."""
        try:
            return self._get(f"{_path(kind, namespace)}/{quote(name, safe='')}")
        except UnknownKind:
            raise
        except ClusterRefused as refused:
            if refused.reason != "NotFound":
                raise
            return None

    def list(
        self, kind: str, *, namespace: str | None, labels: str = "", fields: str = ""
    ) -> Iterator[Mapping[str, Json]]:
        """The objects of a kind, one by one, a page in memory at a time."""
        asked = {"limit": str(_PAGE), "labelSelector": labels, "fieldSelector": fields}
        query = {name: value for name, value in asked.items() if value}
        onward = ""
        while True:
            page = self._get(f"{_path(kind, namespace)}?{urlencode(query)}")
            items = page.pop("items", None)
            if not isinstance(items, list):
                raise OutsideError(f"the cluster gave no list of `{kind}`")
            while items:
                item = items.pop(0)
                if isinstance(item, dict):
                    yield item
            metadata = page.get("metadata")
            following = metadata.get("continue") if isinstance(metadata, dict) else None
            if not isinstance(following, str) or following in {"", onward}:
                return
            onward = query["continue"] = following

    def can_i(self, verb: str, kind: str, *, namespace: str | None, subresource: str = "") -> bool:
        """Whether the cluster lets this user do that."""
        resource, _, group = kind.partition(".")
        asked: dict[str, Json] = {"verb": verb, "resource": resource, "group": group, "subresource": subresource}
        if namespace is not None:
            asked["namespace"] = namespace
        review: dict[str, Json] = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": asked},
        }
        answer = self._create("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review)
        status = answer.get("status")
        return isinstance(status, dict) and status.get("allowed") is True

    def version(self) -> str:
        """The version of the API server."""
        return str(self._get("/version").get("gitVersion"))

    def logs(self, place: Place, *, stdout: Callable[[bytes], object], limit_bytes: int) -> None:
        """Hands over what the container wrote, up to a bound."""
        query = urlencode({"container": place.container, "limitBytes": str(limit_bytes)})
        path = f"{_path('pods', place.namespace)}/{quote(place.pod, safe='')}/log?{query}"
        command = self._kubectl.command("get", f"--raw={path}", f"--request-timeout={_LOG_LIMIT_S:.0f}s")
        stdout(read_all(command, limit_s=_LOG_LIMIT_S, limit_bytes=limit_bytes + 4096))

    def create(self, item: Mapping[str, Json], *, kind: str, namespace: str) -> Mapping[str, Json]:
        """The object as it was created, fields checked strictly."""
        query = urlencode({"fieldManager": FIELD_MANAGER, "fieldValidation": "Strict"})
        return self._create(f"{_path(kind, namespace)}?{query}", item)

    def delete(self, kind: str, name: str, *, namespace: str, uid: str = "") -> bool:
        """Takes an object away; False if there was none, or none of that uid."""
        live = self.get(kind, name, namespace=namespace)
        metadata = live.get("metadata") if live else None
        if not isinstance(metadata, Mapping) or (uid and metadata.get("uid") != uid):
            return False
        command = self._kubectl.command(
            "delete", f"--raw={_path(kind, namespace)}/{quote(name, safe='')}?propagationPolicy=Background",
            f"--request-timeout={_CALL_LIMIT_S:.0f}s",
        )  # fmt: skip
        read_all(command, limit_s=2 * _CALL_LIMIT_S, limit_bytes=_ANSWER_LIMIT_BYTES)
        return True

    def annotate(self, kind: str, name: str, values: Mapping[str, str], *, namespace: str) -> None:
        """Puts annotations on an object."""
        patch = canonical_bytes({"metadata": {"annotations": dict(values)}})
        command = self._kubectl.command(
            "patch", kind, name, f"--namespace={namespace}", "--type=merge", "--patch-file=/dev/stdin",
            f"--field-manager={FIELD_MANAGER}", "--output=json", f"--request-timeout={_CALL_LIMIT_S:.0f}s",
        )  # fmt: skip
        read_all(command, stdin=patch, limit_s=2 * _CALL_LIMIT_S, limit_bytes=_ANSWER_LIMIT_BYTES)

    def exec(
        self,
        place: Place,
        command: Sequence[str],
        *,
        stdin: bytes | Path = b"",
        stdout: Callable[[bytes], object],
        limit_s: float,
    ) -> Ended:
        """Runs a program in a pod to its end, or until the stream breaks or the time is over."""
        return run_to_end(self._start(place, command, stdin), stdout=stdout, limit_s=limit_s)

    def start_exec(self, place: Place, command: Sequence[str], *, stdin: bytes = b"") -> Running:
        """Starts a program in a pod and gives its stream."""
        return self._start(place, command, stdin)

    def _start(self, place: Place, command: Sequence[str], stdin: bytes | Path) -> Running:
        mark = new_mark()
        call = self._kubectl.command(
            "exec", "--stdin", "--quiet", f"--namespace={place.namespace}", place.pod,
            f"--container={place.container}", "--pod-running-timeout=10s", "--", *wrapped(command, mark),
        )  # fmt: skip
        return Running(call, mark, stdin=stdin)

    def _get(self, path: str) -> dict[str, Any]:
        command = self._kubectl.command("get", f"--raw={path}", f"--request-timeout={_CALL_LIMIT_S:.0f}s")
        return _document(read_all(command, limit_s=2 * _CALL_LIMIT_S, limit_bytes=_ANSWER_LIMIT_BYTES))

    def _create(self, path: str, item: Mapping[str, Json]) -> dict[str, Any]:
        command = self._kubectl.command(
            "create", f"--raw={path}", "--filename=-", f"--request-timeout={_CALL_LIMIT_S:.0f}s"
        )
        given = canonical_bytes(item)
        return _document(read_all(command, stdin=given, limit_s=2 * _CALL_LIMIT_S, limit_bytes=_ANSWER_LIMIT_BYTES))


def _path(kind: str, namespace: str | None) -> str:
    resource, _, group = kind.partition(".")
    inside = "" if namespace is None else f"/namespaces/{quote(namespace, safe='')}"
    return f"{_VERSIONS[group]}{inside}/{resource}"


def _document(data: bytes) -> dict[str, Any]:
    try:
        value = json.loads(data, parse_float=str, parse_constant=str)
    except (ValueError, RecursionError) as error:
        raise OutsideError("the cluster's answer is not JSON") from error
    if not isinstance(value, dict):
        raise OutsideError("the cluster's answer is no object")
    return value
