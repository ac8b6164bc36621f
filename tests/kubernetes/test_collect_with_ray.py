"""`rdlc collect raycluster/NAME` of a job that a real Ray ran: its tables, its logs, its own names of files."""

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
from collections.abc import Iterator
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Rdlc
from tests.core.kube.recorded import PODS, RAYCLUSTER
from tests.kubernetes.fake_api import FakeApi, serving

pytestmark = [pytest.mark.nightly, pytest.mark.usefixtures("kubectl")]
EFA = next((Path(__file__).parents[1] / "core/transport/cases").glob("36-*.log"))
JOB = """
import sys, time
import ray

ray.init()

@ray.remote
def talk(path):
    print(open(path).read(), flush=True)

ray.get(talk.remote(sys.argv[1]))
"""
OTHER = "import ray; ray.init(); ray.get(ray.remote(lambda: print('h:1:1 [0] NCCL INFO of another job')).remote())"


def free_ports(number: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(number)]
    ports = [int(held.getsockname()[1]) for held in sockets]
    for held in sockets:
        held.close()
    return ports


@pytest.fixture
def ray(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """A Ray of one node with its job server: its address, and the folder that its own lies in."""
    for attempt in range(3):
        # Ray's sockets lie below it, and their paths are short.
        folder = Path(tempfile.mkdtemp(prefix="kp-", dir="/tmp"))
        log = tmp_path / f"ray-{attempt}.log"
        process, address = start_ray(folder, log)
        try:
            # On a busy machine a part of Ray's own may give up on another, and all of it ends.
            wait_for(
                lambda ray=process, at=address: ray.poll() is not None or ask(at, "/api/jobs/") is not None, "Ray's API"
            )
            if process.poll() is None:
                yield address, folder
                return
        finally:
            end(process)
            shutil.rmtree(folder, ignore_errors=True)
    raise AssertionError(log.read_text())


def start_ray(folder: Path, log: Path) -> tuple["subprocess.Popen[bytes]", str]:
    ports = free_ports(5)
    names = ("port", "dashboard-port", "dashboard-agent-listen-port", "ray-client-server-port", "metrics-export-port")
    command = [
        sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block", "--num-cpus=1", "--num-gpus=4",
        f"--temp-dir={folder / 'ray'}",
        *(f"--{name}={port}" for name, port in zip(names, ports, strict=True)),
    ]  # fmt: skip
    environment = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0"}
    with log.open("wb") as file:
        process = subprocess.Popen(command, stdout=file, stderr=file, env=environment, start_new_session=True)
    return process, f"http://127.0.0.1:{ports[1]}"


def end(process: "subprocess.Popen[bytes]") -> None:
    process.send_signal(signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        process.wait(60)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def ask(address: str, path: str, body: object = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(address + path, data=data), timeout=30) as answer:
        return json.load(answer)


def wait_for(happens: Any, what: str) -> Any:
    for _ in range(600):
        with suppress(OSError):
            if found := happens():
                return found
        time.sleep(0.5)
    raise AssertionError(f"{what} did not come")


def run_job(address: str, name: str, *command: str) -> None:
    entrypoint = " ".join(f"'{word}'" for word in command)
    # A busy job server may hang up on a request that it took; a second one of the same name is refused.
    with suppress(OSError):
        ask(address, "/api/jobs/", {"entrypoint": entrypoint, "submission_id": name})
    ended = ("SUCCEEDED", "FAILED", "STOPPED")
    job = wait_for(lambda: (found := ask(address, f"/api/jobs/{name}"))["status"] in ended and found, f"job {name}")
    assert job["status"] == "SUCCEEDED", job


def test_a_job_that_a_real_ray_ran_is_collected_without_the_lines_of_another_one(
    ray: tuple[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rdlc: Rdlc
) -> None:
    address, folder = ray
    (tmp_path / "job.py").write_text(JOB)
    run_job(address, "other", sys.executable, "-c", OTHER.replace("'", '"'))
    run_job(address, "mine", sys.executable, str(tmp_path / "job.py"), str(EFA))
    monkeypatch.chdir(tmp_path)
    raycluster, (head,) = deepcopy(RAYCLUSTER), [deepcopy(pod) for pod in PODS if "-head-" in pod["metadata"]["name"]]
    raycluster["spec"]["workerGroupSpecs"] = []
    (node,) = ask(address, "/api/v0/nodes?detail=1")["data"]["result"]["result"]
    head["status"]["podIP"] = node["node_ip"]
    with serving(FakeApi()) as api:
        api.environment = lambda pod: {"RAY_TMPDIR": str(folder), "RAY_API_SERVER_ADDRESS": address}
        api.put("rayclusters", raycluster)
        api.put("pods", head)
        monkeypatch.setenv("KUBECONFIG", str(api.write_kubeconfig(tmp_path / "kubeconfig")))

        done = rdlc("collect", "raycluster/rdlc-w", "-n", "ray-train", "--json")

    document = done.document
    rows = {row["name"]: row["observed"] for row in document["conformance"]}
    assert [row for row in document["conformance"] if row["equal"] is False] == []
    assert (done.code, document["status"], done.err) == (0, "collected", "")
    assert rows["Ray nodes"] == "1 alive, 0 dead"
    assert (document["job"], document["transport"]["transport"]) == ("03000000", "efa")
    kept = b"".join(file.read_bytes() for file in Path(document["record"]).rglob("*") if file.is_file())
    assert b"NCCL INFO of another job" not in kept
    assert rdlc("verify", document["record"]).code == 0
