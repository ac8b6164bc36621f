"""A Kubernetes API over real objects for a real `kubectl`: reads, and exec that runs on this machine.

Its faults are those of real servers: refusals by role, pages, an exec stream that ends without a status.
"""

import asyncio
import json
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import WSMsgType, web

_VERSIONS = {
    "v1": {"pods": "Pod", "nodes": "Node"},
    "ray.io/v1": {"rayclusters": "RayCluster"},
    "apps/v1": {"daemonsets": "DaemonSet"},
}
_CLUSTER_WIDE = ("nodes",)


@dataclass(kw_only=True)
class ReadApi:
    """Objects by the plural of their kind; `pods` is the folder with a folder for each pod.

    `forbidden` are plurals that the role may not read; `is_exec_dropped` ends every exec without a status.
    """

    objects: dict[str, list[dict[str, Any]]]
    pods: Path
    ray_answer: bytes = b"{}"
    forbidden: set[str] = field(default_factory=set)
    is_exec_dropped: bool = False
    page: int = 2
    asked: list[str] = field(default_factory=list)


_API = web.AppKey("api", ReadApi)


@contextmanager
def serve(api: ReadApi, kubeconfig: Path) -> Iterator[None]:
    """Serves it on loopback until the end, and writes the kubeconfig that names it."""
    loop = asyncio.new_event_loop()
    ready = threading.Event()
    stop = asyncio.Event()
    port = 0

    async def main() -> None:
        nonlocal port
        app = web.Application()
        app[_API] = api
        app.router.add_route("*", "/{path:.*}", _answer)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        ready.set()
        await stop.wait()
        await runner.cleanup()

    thread = threading.Thread(target=lambda: loop.run_until_complete(main()))
    thread.start()
    try:
        assert ready.wait(30)
        kubeconfig.write_text(_kubeconfig(port))
        yield
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        loop.close()


def _kubeconfig(port: int) -> str:
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "fake", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
            "users": [{"name": "me", "user": {"token": "none"}}],
            "contexts": [{"name": "fake", "context": {"cluster": "fake", "user": "me"}}],
            "current-context": "fake",
        }
    )


async def _answer(request: web.Request) -> web.StreamResponse:
    api: ReadApi = request.app[_API]
    api.asked.append(f"{request.method} {request.path_qs}")
    parts = [part for part in request.path.split("/") if part]
    if found := _discover(parts):
        return web.json_response(found)
    version, rest = ("v1", parts[2:]) if parts[:1] == ["api"] else ("/".join(parts[1:3]), parts[3:])
    namespace = None
    if rest[:1] == ["namespaces"]:
        namespace, rest = rest[1], rest[2:]
    if not rest:
        return _status(404, "NotFound", "the server could not find the requested resource")
    plural, *names = rest
    if plural in api.forbidden:
        return _status(403, "Forbidden", f'{plural} is forbidden: User "me" cannot list resource "{plural}"')
    held = [item for item in api.objects.get(plural, []) if namespace in {None, item["metadata"].get("namespace")}]
    if names[1:] == ["exec"]:
        return await _exec(request, api, names[0])
    if names:
        item = next((item for item in held if item["metadata"]["name"] == names[0]), None)
        kind = _VERSIONS[version][plural]
        return (
            web.json_response({"apiVersion": version, "kind": kind, **item})
            if item
            else _status(404, "NotFound", f'{plural} "{names[0]}" not found')
        )
    return _list(request, api, version, plural, held)


def _list(request: web.Request, api: ReadApi, version: str, plural: str, held: list[dict[str, Any]]) -> web.Response:
    if selector := request.query.get("labelSelector"):
        name, _, value = selector.partition("=")
        held = [item for item in held if item["metadata"].get("labels", {}).get(name) == value]
    start = int(request.query.get("continue", "0"))
    end = start + api.page
    metadata = {"continue": str(end)} if end < len(held) else {}
    kind = f"{_VERSIONS[version][plural]}List"
    return web.json_response({"apiVersion": version, "kind": kind, "metadata": metadata, "items": held[start:end]})


def _discover(parts: list[str]) -> dict[str, Any] | None:
    if parts == ["api"]:
        return {"kind": "APIVersions", "versions": ["v1"]}
    if parts == ["apis"]:
        groups = [version.partition("/")[0] for version in _VERSIONS if "/" in version]
        return {
            "kind": "APIGroupList",
            "apiVersion": "v1",
            "groups": [
                {
                    "name": group,
                    "versions": [{"groupVersion": f"{group}/v1", "version": "v1"}],
                    "preferredVersion": {"groupVersion": f"{group}/v1", "version": "v1"},
                }
                for group in groups
            ],
        }
    version = "v1" if parts == ["api", "v1"] else "/".join(parts[1:]) if parts[:1] == ["apis"] else ""
    if version not in _VERSIONS:
        return None
    resources = [
        {"name": plural, "kind": kind, "namespaced": plural not in _CLUSTER_WIDE, "verbs": ["get", "list"]}
        for plural, kind in _VERSIONS[version].items()
    ]
    return {"kind": "APIResourceList", "groupVersion": version, "resources": resources}


def _status(code: int, reason: str, message: str) -> web.Response:
    body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "message": message}
    return web.json_response({**body, "code": code}, status=code)


async def _exec(request: web.Request, api: ReadApi, pod: str) -> web.StreamResponse:
    """Runs the command here, with the pod's own folder as Ray's."""
    socket = web.WebSocketResponse(protocols=("v5.channel.k8s.io", "v4.channel.k8s.io"))
    await socket.prepare(request)
    command = request.query.getall("command")
    command[0] = sys.executable if command[0] == "python3" else command[0]
    given = bytearray()
    async for message in socket:
        if message.type is not WSMsgType.BINARY or message.data[:2] == b"\xff\x00":
            break
        given += message.data[1:] if message.data[:1] == b"\x00" else b""
    if b":8265" in given:
        code, out, err = 0, api.ray_answer, b""
    else:
        environment = {**os.environ, "RAY_TMPDIR": str(api.pods / pod)}
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment)
        out, err = await process.communicate(bytes(given))
        code = process.returncode or 0
    if api.is_exec_dropped:
        await socket.send_bytes(b"\x01" + out[: len(out) // 2])
        await socket.close()
        return socket
    for channel, data in ((b"\x01", out), (b"\x02", err)):
        for start in range(0, len(data), 32768):
            await socket.send_bytes(channel + data[start : start + 32768])
    await socket.send_bytes(b"\x03" + json.dumps(_end(code)).encode())
    await socket.close()
    return socket


def _end(code: int) -> dict[str, Any]:
    if code == 0:
        return {"kind": "Status", "status": "Success"}
    causes = [{"reason": "ExitCode", "message": str(code)}]
    message = f"command terminated with non-zero exit code: exit status {code}"
    return {
        "kind": "Status", "status": "Failure", "reason": "NonZeroExitCode", "message": message,
        "details": {"causes": causes},
    }  # fmt: skip
