"""A Kubernetes API server for a real `kubectl`, on loopback, which misbehaves on purpose as real ones do.

It holds objects, runs what is executed "in a pod" on this machine, and hands each new RayCluster to an operator
(see `fake_operator.py`). Nothing is validated beyond what a test asks for by a fault.
"""

import asyncio
import copy
import json
import re
import threading
import uuid
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web

from tests.kubernetes.fake_exec import ExecFault, run_exec
from tests.kubernetes.fake_objects import KINDS, discovery, matches, merged, status_body, version_of

Object = dict[str, Any]


@dataclass(kw_only=True)
class Fault:
    """Answers requests of a method and a path (a regular expression) with a status instead, `times` times."""

    method: str
    path: str
    code: int
    reason: str
    message: str = "made up by the test"
    times: int = 1_000_000
    retry_after_s: int | None = None


@dataclass(kw_only=True)
class FakeApi:
    """The state of the server; tests read and change it from their own thread.

    `environment` is what programs "in a pod" see on top of this machine's; `on_create` is told of each new
    object. `log` is what a pod's container wrote, by pod name.
    """

    objects: dict[tuple[str, str, str], Object] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    exec_faults: list[ExecFault] = field(default_factory=list)
    forbidden: set[tuple[str, str]] = field(default_factory=set)
    environment: Callable[[str], Mapping[str, str]] = lambda pod: {}
    on_create: Callable[["FakeApi", str, Object], None] = lambda api, plural, item: None
    on_delete: Callable[["FakeApi", str, Object], None] = lambda api, plural, item: None
    log: dict[str, bytes] = field(default_factory=dict)
    asked: list[tuple[str, str]] = field(default_factory=list)
    executed: list[tuple[str, list[str]]] = field(default_factory=list)
    page: int = 500
    port: int = 0
    version: str = "v1.36.2"

    def put(self, plural: str, item: Object) -> Object:
        """Adds an object, or takes its place, with what a server writes into it."""
        metadata = item.setdefault("metadata", {})
        metadata.setdefault("uid", str(uuid.uuid4()))
        metadata.setdefault("creationTimestamp", "2026-12-01T00:00:00Z")
        metadata["resourceVersion"] = str(len(self.asked) + len(self.objects) + 1)
        item.setdefault("kind", KINDS[plural][1])
        item.setdefault("apiVersion", KINDS[plural][0])
        self.objects[plural, metadata.get("namespace", ""), metadata["name"]] = item
        return item

    def find(self, plural: str, name: str, namespace: str = "") -> Object | None:
        """An object by its name."""
        return self.objects.get((plural, namespace, name))

    def list(self, plural: str, namespace: str = "") -> list[Object]:
        """The objects of a kind, of one namespace or of all of them."""
        found = [(key, item) for key, item in list(self.objects.items()) if key[0] == plural]
        return [item for key, item in found if namespace in {"", key[1]}]

    def remove(self, plural: str, name: str, namespace: str) -> Object | None:
        """Takes an object away."""
        return self.objects.pop((plural, namespace, name), None)

    def write_kubeconfig(self, path: Path) -> Path:
        """A kubeconfig for it, with one context `fake`."""
        cluster = {"server": f"http://127.0.0.1:{self.port}"}
        context = {"cluster": "fake", "user": "fake", "namespace": "default"}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "fake",
            "clusters": [{"name": "fake", "cluster": cluster}],
            "contexts": [{"name": "fake", "context": context}],
            "users": [{"name": "fake", "user": {"token": "made-up"}}],
        }
        path.write_text(json.dumps(config))
        return path


@contextmanager
def serving(api: FakeApi) -> Iterator[FakeApi]:
    """Serves it in a thread until the end; `port` is set then."""
    loop = asyncio.new_event_loop()
    ready, stop = threading.Event(), asyncio.Event()

    async def serve() -> None:
        app = web.Application(client_max_size=64 << 20)
        app.router.add_route("*", "/{path:.*}", _Server(api).answer)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        assert runner.addresses
        api.port = runner.addresses[0][1]
        ready.set()
        await stop.wait()
        await runner.cleanup()

    def run() -> None:
        loop.run_until_complete(serve())
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        # A turn more, in which the pipes of ended programs are closed.
        loop.run_until_complete(asyncio.wait([loop.create_task(asyncio.sleep(0.2)), *left]))
        loop.close()

    thread = threading.Thread(target=run, name="fake-api", daemon=True)
    thread.start()
    assert ready.wait(60)
    try:
        yield api
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(60)
        assert not thread.is_alive()


_GROUP = r"/(?:api|apis/(?P<group>[^/]+))/(?P<version>v[^/]+)"
_ITEMS = re.compile(_GROUP + r"(?:/namespaces/(?P<namespace>[^/]+))?/(?P<plural>[^/]+)")
_ITEM = re.compile(_ITEMS.pattern + r"/(?P<name>[^/]+)(?:/(?P<below>exec|log|status))?")


class _Server:
    def __init__(self, api: FakeApi) -> None:
        self._api = api

    async def answer(self, request: web.Request) -> web.StreamResponse:
        api, path = self._api, request.path
        api.asked.append((request.method, request.path_qs))
        if fault := self._fault(request):
            headers = {} if fault.retry_after_s is None else {"Retry-After": str(fault.retry_after_s)}
            return _refuse(fault.code, fault.reason, fault.message, headers=headers)
        if (found := discovery(path, api.version)) is not None:
            return web.json_response(found)
        if path.endswith("/selfsubjectaccessreviews"):
            return await self._review(request)
        if match := _ITEM.fullmatch(path):
            return await self._one(request, match)
        if match := _ITEMS.fullmatch(path):
            return await self._many(request, match)
        return _refuse(404, "NotFound", "the server could not find the requested resource")

    def _fault(self, request: web.Request) -> Fault | None:
        for fault in self._api.faults:
            if fault.times > 0 and fault.method == request.method and re.search(fault.path, request.path_qs):
                fault.times -= 1
                return fault
        return None

    def _is_forbidden(self, plural: str, verb: str) -> bool:
        return bool({(plural, verb), (plural, "*")} & self._api.forbidden)

    async def _review(self, request: web.Request) -> web.Response:
        body = await request.json()
        asked = body["spec"]["resourceAttributes"]
        resource = "/".join(part for part in (asked["resource"], asked.get("subresource")) if part)
        allowed = not self._is_forbidden(resource, asked["verb"])
        return web.json_response({**body, "status": {"allowed": allowed}}, status=201)

    async def _many(self, request: web.Request, match: re.Match[str]) -> web.StreamResponse:
        plural, namespace = match["plural"], match["namespace"] or ""
        if plural not in KINDS or version_of(match) != KINDS[plural][0]:
            return _refuse(404, "NotFound", "the server could not find the requested resource")
        verb = {"GET": "list", "POST": "create"}[request.method]
        if self._is_forbidden(plural, verb):
            return _forbid(plural, verb, namespace)
        if request.method == "POST":
            return self._create(plural, namespace, await request.json())
        if request.query.get("watch") in {"1", "true"}:
            return await self._watch(request, plural, namespace)
        return web.json_response(self._page(request, plural, namespace))

    def _page(self, request: web.Request, plural: str, namespace: str) -> Object:
        found = [item for item in self._api.list(plural, namespace) if matches(item, request.query)]
        start = int(request.query.get("continue", "0"))
        size = min(int(request.query.get("limit", "0")) or len(found) + 1, self._api.page)
        metadata: Object = {"resourceVersion": "1"}
        if start + size < len(found):
            metadata["continue"] = str(start + size)
        version, kind = KINDS[plural]
        return {
            "kind": f"{kind}List",
            "apiVersion": version,
            "metadata": metadata,
            "items": found[start : start + size],
        }

    def _create(self, plural: str, namespace: str, item: Object) -> web.Response:
        metadata = item.setdefault("metadata", {})
        if namespace:
            metadata["namespace"] = namespace
        if "name" not in metadata:
            metadata["name"] = metadata["generateName"] + uuid.uuid4().hex[:5]
        if self._api.find(plural, metadata["name"], namespace):
            kind = plural if "." not in KINDS[plural][0] else f"{plural}.{KINDS[plural][0].partition('/')[0]}"
            return _refuse(409, "AlreadyExists", f'{kind} "{metadata["name"]}" already exists')
        self._api.put(plural, item)
        answer = copy.deepcopy(item)
        self._api.on_create(self._api, plural, item)
        return web.json_response(answer, status=201)

    async def _watch(self, request: web.Request, plural: str, namespace: str) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        seen: dict[str, str] = {}
        for _ in range(600):
            for item in self._api.list(plural, namespace):
                uid, text = item["metadata"]["uid"], json.dumps(item)
                if matches(item, request.query) and seen.get(uid) != text:
                    event = {"type": "MODIFIED" if uid in seen else "ADDED", "object": item}
                    seen[uid] = text
                    await response.write(json.dumps(event).encode() + b"\n")
            await asyncio.sleep(0.1)
        return response

    async def _one(self, request: web.Request, match: re.Match[str]) -> web.StreamResponse:
        plural, namespace, name = match["plural"], match["namespace"] or "", match["name"]
        below = match["below"]
        verb = {"GET": "get", "DELETE": "delete", "PATCH": "patch", "POST": "create", "PUT": "update"}[request.method]
        resource = f"{plural}/{below}" if below else plural
        if self._is_forbidden(resource, verb):
            return _forbid(resource, verb, namespace)
        item = self._api.find(plural, name, namespace)
        if request.method == "PATCH" and "apply-patch" in request.content_type:
            return await self._apply(request, plural, namespace, name)
        if item is None:
            return _refuse(404, "NotFound", f'{plural} "{name}" not found')
        if below == "exec":
            return await run_exec(request, name, self._api)
        if below == "log":
            return self._log(request, name)
        handlers: dict[str, Callable[[], Awaitable[web.Response]]] = {
            "PATCH": lambda: self._patch(request, plural, item),
            "DELETE": lambda: self._delete(plural, item),
        }
        return await handlers[request.method]() if request.method in handlers else web.json_response(item)

    def _log(self, request: web.Request, name: str) -> web.Response:
        text = self._api.log.get(name, b"")
        return web.Response(body=text[: int(request.query.get("limitBytes", len(text)))], content_type="text/plain")

    async def _apply(self, request: web.Request, plural: str, namespace: str, name: str) -> web.Response:
        given = json.loads(await request.read())
        item = self._api.find(plural, name, namespace)
        if item is None:
            given["metadata"].update(name=name, namespace=namespace)
            return self._create(plural, namespace, given)
        self._api.put(plural, merged(item, given))
        return web.json_response(self._api.find(plural, name, namespace))

    async def _patch(self, request: web.Request, plural: str, item: Object) -> web.Response:
        return web.json_response(self._api.put(plural, merged(item, await request.json())))

    async def _delete(self, plural: str, item: Object) -> web.Response:
        metadata = item["metadata"]
        self._api.remove(plural, metadata["name"], metadata.get("namespace", ""))
        self._api.on_delete(self._api, plural, item)
        return web.json_response(status_body(200, "", "", status="Success"))


def _refuse(code: int, reason: str, message: str, *, headers: Mapping[str, str] | None = None) -> web.Response:
    return web.json_response(status_body(code, reason, message), status=code, headers=headers)


def _forbid(resource: str, verb: str, namespace: str) -> web.Response:
    where = f' in the namespace "{namespace}"' if namespace else " at the cluster scope"
    return _refuse(403, "Forbidden", f'{resource} is forbidden: User "test" cannot {verb} resource "{resource}"{where}')
