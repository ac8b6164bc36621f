"""A real Ray with its job server on this machine, as the Ray of a RayCluster; ended by its process group."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

_START_LIMIT_S = 300.0


@contextmanager
def real_ray(*, num_cpus: int) -> Iterator[Mapping[str, str]]:
    """Starts it with ports of its own; gives the environment that programs in its pods see."""
    # Short: Ray's sockets lie below it, and their paths have a limit.
    folder = Path(tempfile.mkdtemp(prefix="k", dir="/tmp"))
    gcs, dashboard, agent = _free_ports(3)
    programs = folder / "bin"
    programs.mkdir()
    (programs / "python3").symlink_to(sys.executable)
    path = f"{Path(sys.executable).parent}:{programs}:{os.environ['PATH']}"
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("RAY_", "PYTHON"))}
    # On a busy machine the job server's own processes may need longer than its 30 s.
    patience = {"RAY_DASHBOARD_SUBPROCESS_MODULE_WAIT_READY_TIMEOUT": "240", "RAY_raylet_start_wait_time_s": "240"}
    environment = {**plain, **patience, "PATH": path, "RAY_USAGE_STATS_ENABLED": "0"}
    command = (
        str(Path(sys.executable).with_name("ray")), "start", "--head", "--block", f"--port={gcs}",
        f"--dashboard-port={dashboard}", f"--dashboard-agent-listen-port={agent}", "--include-dashboard=true",
        f"--num-cpus={num_cpus}", "--object-store-memory=80000000", f"--temp-dir={folder}",
        "--node-ip-address=127.0.0.1", "--disable-usage-stats",
    )  # fmt: skip
    with (folder / "ray.out").open("wb") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)
    address = f"http://127.0.0.1:{dashboard}"
    try:
        _await(f"{address}/api/jobs/", process, folder / "ray.out")
        # What KubeRay sets in each pod, and where the job server of this one is.
        yield {"PATH": path, "RAY_ADDRESS": f"127.0.0.1:{gcs}", "RAY_API_SERVER_ADDRESS": address}
    finally:
        _end(process, folder)


def _await(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + _START_LIMIT_S
    while time.monotonic() < deadline:
        assert process.poll() is None, log.read_text()
        with suppress(OSError, ValueError), urllib.request.urlopen(address, timeout=10) as answer:
            json.load(answer)
            return
        time.sleep(0.3)
    raise AssertionError(log.read_text())


def _end(process: subprocess.Popen[bytes], folder: Path) -> None:
    """Ends Ray and what it started: all of it names the folder, in its arguments or its session."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        process.wait(30)
    for _ in range(50):
        left = [pid for pid in _pids() if _is_of(pid, str(folder))]
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if not left:
            break
        time.sleep(0.1)
    process.wait(30)
    shutil.rmtree(folder, ignore_errors=True)


def _pids() -> list[int]:
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit() and int(path.name) != os.getpid()]


def _is_of(pid: int, folder: str) -> bool:
    with suppress(OSError):
        return any(folder.encode() in Path(f"/proc/{pid}/{name}").read_bytes() for name in ("cmdline", "environ"))
    return False


def _free_ports(number: int) -> list[int]:
    sockets = [socket.socket() for _ in range(number)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [int(one.getsockname()[1]) for one in sockets]
    finally:
        for one in sockets:
            one.close()
