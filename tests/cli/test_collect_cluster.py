"""`rdlc collect raycluster/NAME`, with a real kubectl against an API of recorded objects."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.conftest import Rdlc
from tests.core.kube.recorded import IMAGE, OLD, PODS, RAYCLUSTER, status_of, worker
from tests.kubernetes.fake_api import FakeApi, serving
from tests.kubernetes.fake_exec import ExecFault
from tests.operations.test_collect_cluster import EFA, JOBS, NODE, SOCKET, WORKER, write_logs

pytestmark = pytest.mark.usefixtures("kubectl")
PLUGIN = {
    "metadata": {"name": "efa", "namespace": "kube-system", "labels": {}},
    "status": {
        "containerStatuses": [{"name": "x", "image": "eks/aws-efa-k8s-device-plugin:v0.5.32", "imageID": f"x@{OLD}"}]
    },
}
NODES = {
    "result": True,
    "data": {
        "result": {
            "result": [
                {
                    "node_id": str(number),
                    "node_ip": pod["status"]["podIP"],
                    "state": "ALIVE",
                    "is_head_node": False,
                    "resources_total": {"GPU": 4.0, "CPU": 1.0},
                }
                for number, pod in enumerate(PODS)
            ]
        }
    },
}
TARGET = ("collect", "raycluster/rdlc-w", "-n", "ray-train")


@pytest.fixture
def api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeApi]:
    write_logs(tmp_path / "pods", EFA)
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    with serving(FakeApi(page=2)) as served, ray_api() as ray:
        served.environment = lambda pod: {"RAY_TMPDIR": str(tmp_path / "pods" / pod), "RAY_API_SERVER_ADDRESS": ray}
        served.put("rayclusters", deepcopy(RAYCLUSTER))
        served.put("nodes", deepcopy(NODE))
        for pod in (*PODS, PLUGIN):
            served.put("pods", deepcopy(pod))
        monkeypatch.setenv("KUBECONFIG", str(served.write_kubeconfig(tmp_path / "kubeconfig")))
        yield served


@contextmanager
def ray_api() -> Iterator[str]:
    """The head's own API of Ray, as far as it is asked; gives its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps(JOBS if self.path.startswith("/api/jobs") else NODES).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def a_worker(api: FakeApi) -> dict[str, Any]:
    """What kubelet says of the main container of the worker `gpu-1`."""
    pod = api.find("pods", worker(PODS)["metadata"]["name"], "ray-train")
    assert pod is not None
    return status_of(pod)


def only_record() -> Path:
    (record,) = Path("runs").glob("*/*")
    return record


def test_a_run_over_efa_is_collected_and_verified(api: FakeApi, rdlc: Rdlc) -> None:
    done = rdlc(*TARGET)

    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0] == "collected  rdlc-w"
    assert lines[1] == "  files     1 of 2 in the pods speak of NCCL or gloo, of the last job 02000000"
    assert lines[2] == "            1 of other jobs left out"
    assert lines[3] == "  cluster   ray-train/rdlc-w: 15 of 15 checks met"
    assert "transport: efa, proven by NCCL's own lines" in done.out
    assert rdlc("verify", str(only_record())).code == 0


def test_a_fallback_is_shown_loudly_and_named_before_anything_else(api: FakeApi, tmp_path: Path, rdlc: Rdlc) -> None:
    write_logs(tmp_path / "pods", SOCKET)
    a_worker(api)["imageID"] = f"x@{OLD}"

    done = rdlc(*TARGET)

    assert (done.code, done.out.splitlines()[0]) == (1, "wrong-transport  rdlc-w")
    assert "!!! FELL BACK TO A SLOWER TRANSPORT" in done.out
    assert f"    found   {OLD} in {worker(PODS)['metadata']['name']};" in done.out


def test_a_cluster_that_is_not_one_thing_ends_with_1(api: FakeApi, rdlc: Rdlc) -> None:
    a_worker(api)["restartCount"] = 1

    done = rdlc(*TARGET, "--json")

    document = done.document
    assert (done.code, document["status"]) == (1, "inconsistent")
    rows = {row["name"]: (row["observed"], row["equal"]) for row in document["conformance"]}
    assert rows["container restarts"] == ("1 of gpu-1/ray-worker", False)
    assert document["cluster"]["images"] == {f"registry.local/ray@{IMAGE}": 5}


def test_two_collected_clusters_are_listed_and_compared(api: FakeApi, rdlc: Rdlc) -> None:
    rdlc(*TARGET, "--name", "first")
    a_worker(api)["restartCount"] = 1
    node = api.find("nodes", "bed")
    assert node is not None
    node["status"]["nodeInfo"]["kernelVersion"] = "6.12.99"
    rdlc(*TARGET, "--name", "second")
    first, second = (str(next(Path("runs").glob(f"{name}/*"))) for name in ("first", "second"))

    verdicts = {row["name"]: row["verdict"] for row in rdlc("runs", "--json").document["runs"]}
    compared = rdlc("diff", first, second)

    assert verdicts == {"first": "collected", "second": "inconsistent"}
    assert "nodes: kernel" in compared.out
    assert "6.12.99" in compared.out
    assert "not as due: container restarts: due 0, found 1 of gpu-1/ray-worker" in compared.out + compared.err
    assert rdlc("verify", second).code == 0


def test_a_role_of_one_namespace_still_makes_a_record(api: FakeApi, rdlc: Rdlc) -> None:
    api.forbidden = {("nodes", "*")}

    done = rdlc(*TARGET)

    assert done.code == 0
    assert 'nodes could not be seen: nodes is forbidden: User "test" cannot list resource "nodes"' in done.out


def test_an_exec_that_breaks_off_is_said_and_its_pod_is_not_measured(api: FakeApi, rdlc: Rdlc) -> None:
    api.exec_faults = [ExecFault(kind="close", command="python3", after_bytes=100)]

    done = rdlc(*TARGET)

    assert (done.code, done.out.splitlines()[0]) == (1, "unproven  rdlc-w")
    assert f"warning: the logs of pod {WORKER} cannot be read: " in done.err
    assert "Ray nodes could not be seen: the stream from pod `rdlc-w-head-mj8sc` broke off" in done.out


def test_what_is_not_there_or_not_allowed_is_one_clear_line(api: FakeApi, rdlc: Rdlc) -> None:
    absent = rdlc("collect", "raycluster/other", "-n", "ray-train")
    api.forbidden = {("rayclusters", "*")}
    refused = rdlc(*TARGET)

    assert (absent.code, absent.out) == (1, "")
    assert absent.err.splitlines()[0] == "error: there is no RayCluster `other` in namespace `ray-train`"
    assert refused.code == 1
    assert refused.err.startswith('error: rayclusters is forbidden: User "test"')
    assert not Path("runs").exists()


def test_a_cluster_that_does_not_answer_is_an_outside_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rdlc: Rdlc
) -> None:
    kubeconfig = {"apiVersion": "v1", "kind": "Config", "clusters": [], "users": [], "contexts": []}
    (tmp_path / "kubeconfig").write_text(json.dumps(kubeconfig))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
    monkeypatch.chdir(tmp_path)

    done = rdlc(*TARGET, "--context", "nowhere")

    assert (done.code, done.out) == (3, "")
    assert 'context "nowhere" does not exist' in done.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("collect", "raycluster/x"), "`--namespace` is missing"),
        (("collect", "raycluster/x", "-n", "A B"), "`--namespace` `A B` is no namespace"),
        (("collect", "raycluster/X_", "-n", "a"), "`raycluster/X_` names no RayCluster"),
        (("collect", "raycluster/x", "logs", "-n", "a"), "one RayCluster at a time, and no other path with it"),
        (("collect", ".", "-n", "a"), "`--namespace` and `--context` are about raycluster/NAME"),
    ],
)
def test_wrong_usage_is_bad_input(rdlc: Rdlc, arguments: tuple[str, ...], message: str) -> None:
    done = rdlc(*arguments)

    assert (done.code, done.out) == (2, "")
    assert done.err.splitlines()[0] == f"error: {message}"
