"""`exec` of the fake API server: the WebSocket protocol of Kubernetes, over a program on this machine."""

import asyncio
import json
import os
import signal
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

from aiohttp import WSMsgType, web

_STDIN, _STDOUT, _STDERR, _STATUS, _CLOSE = 0, 1, 2, 3, 255
_PIECE_BYTES = 16384


@dataclass(kw_only=True)
class ExecFault:
    """What goes wrong with the programs whose command holds `command`, `times` times.

    `drop`: the connection is cut without a status; `close`: it is closed politely, also without one;
    `lost-status`: the program ended well, and its status is not told; `forbidden`: 403; `slow`: the answer
    comes after `delay_s`. The stream is cut after `after_bytes` of output.
    """

    kind: str
    command: str = ""
    times: int = 1_000_000
    after_bytes: int = 0
    delay_s: float = 0.0


class Api(Protocol):
    """What `exec` needs of the server's state."""

    exec_faults: list[ExecFault]
    executed: list[tuple[str, list[str]]]

    @property
    def environment(self) -> Callable[[str], Mapping[str, str]]:
        """What programs in a pod see on top of this machine's environment."""
        ...


async def run_exec(request: web.Request, pod: str, api: Api) -> web.StreamResponse:
    """Runs the command of the request on this machine, its streams over the WebSocket."""
    command = request.query.getall("command")
    api.executed.append((pod, command))
    fault = _fault(api, command)
    if fault and fault.kind == "forbidden":
        return web.json_response({"kind": "Status", "status": "Failure", "reason": "Forbidden", "code": 403,
                                  "message": "pods/exec is forbidden"}, status=403)  # fmt: skip
    socket = web.WebSocketResponse(protocols=("v5.channel.k8s.io", "v4.channel.k8s.io"), max_msg_size=64 << 20)
    await socket.prepare(request)
    if fault and fault.kind == "slow":
        await asyncio.sleep(fault.delay_s)
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**os.environ, **api.environment(pod)},
            cwd="/",
            start_new_session=True,
        )
    except OSError as error:
        await _send(socket, _STATUS, _failure(f"exec failed: {error}", None))
        await socket.close()
        return socket
    await _Session(request, socket, process, fault).run()
    return socket


def _fault(api: Api, command: list[str]) -> ExecFault | None:
    for fault in api.exec_faults:
        if fault.times > 0 and any(fault.command in word for word in command):
            fault.times -= 1
            return fault
    return None


class _Session:
    def __init__(
        self, request: web.Request, socket: web.WebSocketResponse, process: Any, fault: ExecFault | None
    ) -> None:
        self._request = request
        self._socket = socket
        self._process = process
        self._fault = fault
        self._sent = 0
        self._is_broken = False

    async def run(self) -> None:
        given = asyncio.create_task(self._take())
        try:
            await asyncio.gather(self._give(_STDOUT, self._process.stdout), self._give(_STDERR, self._process.stderr))
            code = await self._process.wait()
            if self._fault and self._fault.kind in {"drop", "close", "lost-status"}:
                await self._break(self._fault.kind)
            elif not self._is_broken:
                await self._send(_STATUS, _failure("", code) if code else b'{"status":"Success"}')
                await self._socket.close()
        finally:
            given.cancel()
            # Also ends a program that still runs when the server itself is shut down; what it started may hold its
            # pipes for longer.
            self._process._transport.close()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._process.wait(), 10)

    async def _give(self, channel: int, stream: Any) -> None:
        fault = self._fault
        while piece := await stream.read(_PIECE_BYTES):
            if fault and fault.kind in {"drop", "close"} and channel == _STDOUT:
                left = max(0, fault.after_bytes - self._sent)
                if len(piece) > left:
                    await self._send(channel, piece[:left])
                    await self._break(fault.kind)
            if channel == _STDOUT:
                self._sent += len(piece)
            await self._send(channel, piece)

    async def _send(self, channel: int, data: bytes) -> None:
        # As with a kubelet: when the client is gone, the program goes on.
        if self._is_broken:
            return
        try:
            await _send(self._socket, channel, data)
        except ConnectionError:
            self._is_broken = True

    async def _break(self, kind: str) -> None:
        if self._is_broken:
            return
        self._is_broken = True
        if kind == "drop" and self._request.transport is not None:
            self._request.transport.abort()
        else:
            await self._socket.close()

    async def _take(self) -> None:
        stdin = self._process.stdin
        async for message in self._socket:
            if message.type is not WSMsgType.BINARY or not message.data:
                continue
            if message.data[0] == _CLOSE:
                break
            if message.data[0] == _STDIN:
                with suppress(ConnectionError):
                    stdin.write(message.data[1:])
                    await stdin.drain()
        with suppress(ConnectionError):
            stdin.close()


async def _send(socket: web.WebSocketResponse, channel: int, data: bytes) -> None:
    await socket.send_bytes(bytes([channel]) + data)


def _failure(message: str, code: int | None) -> bytes:
    if code is None:
        return json.dumps({"status": "Failure", "reason": "InternalError", "message": message}).encode()
    if code < 0:
        code = 128 + signal.Signals(-code).value
    cause = {"reason": "ExitCode", "message": str(code)}
    return json.dumps(
        {
            "metadata": {},
            "status": "Failure",
            "reason": "NonZeroExitCode",
            "message": f"command terminated with non-zero exit code: exit status {code}",
            "details": {"causes": [cause]},
        }
    ).encode()
