"""`rdlc collect raycluster/NAME`, with a real kubectl against an API of recorded objects."""

import json
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path

import pytest

from tests.conftest import Rdlc
from tests.core.kube.recorded import IMAGE, OLD, PODS, RAYCLUSTER, status_of, worker
from tests.kubernetes.read_api import ReadApi, serve
from tests.operations.test_collect_cluster import EFA, NODE, SOCKET, WORKER, ray_answer, write_logs

PLUGIN = {
    "metadata": {"name": "efa", "namespace": "kube-system", "labels": {}},
    "status": {
        "containerStatuses": [{"name": "x", "image": "eks/aws-efa-k8s-device-plugin:v0.5.32", "imageID": f"x@{OLD}"}]
    },
}
TARGET = ("collect", "raycluster/rdlc-w", "-n", "ray-train")


@pytest.fixture
def api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ReadApi]:
    write_logs(tmp_path / "pods", EFA)
    objects = {"rayclusters": [RAYCLUSTER], "pods": [*deepcopy(PODS), PLUGIN], "nodes": [NODE]}
    api = ReadApi(objects=objects, pods=tmp_path / "pods", ray_answer=ray_answer())
    kubeconfig = tmp_path / "kubeconfig"
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
    # kubectl keeps what it found out of a server below the home folder, by host and port.
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    with serve(api, kubeconfig):
        yield api


def only_record() -> Path:
    (record,) = Path("runs").glob("*/*")
    return record


def test_a_run_over_efa_is_collected_and_verified(api: ReadApi, rdlc: Rdlc) -> None:
    done = rdlc(*TARGET)

    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0] == "collected  rdlc-w"
    assert lines[1] == "  files     1 of 2 in the pods speak of NCCL or gloo, of the last job 02000000"
    assert lines[2] == "            1 of other jobs were left out"
    assert lines[3] == "  cluster   ray-train/rdlc-w: 15 of 15 checks met"
    assert "transport: efa, proven by NCCL's own lines" in done.out
    assert rdlc("verify", str(only_record())).code == 0


def test_a_fallback_is_shown_loudly_and_named_before_anything_else(api: ReadApi, rdlc: Rdlc) -> None:
    write_logs(api.pods, SOCKET)
    status_of(worker(api.objects["pods"]))["imageID"] = f"x@{OLD}"

    done = rdlc(*TARGET)

    assert (done.code, done.out.splitlines()[0]) == (1, "wrong-transport  rdlc-w")
    assert "!!! FELL BACK TO A SLOWER TRANSPORT" in done.out
    assert f"    found   {OLD} in {worker(PODS)['metadata']['name']};" in done.out


def test_a_cluster_that_is_not_one_thing_ends_with_1(api: ReadApi, rdlc: Rdlc) -> None:
    status_of(worker(api.objects["pods"]))["restartCount"] = 1

    done = rdlc(*TARGET, "--json")

    document = done.document
    assert (done.code, document["status"]) == (1, "inconsistent")
    rows = {row["name"]: (row["observed"], row["equal"]) for row in document["conformance"]}
    assert rows["container restarts"] == ("1 of gpu-1/ray-worker", False)
    assert document["cluster"]["images"] == {f"registry.local/ray@{IMAGE}": 5}


def test_a_role_of_one_namespace_still_makes_a_record(api: ReadApi, rdlc: Rdlc) -> None:
    api.forbidden = {"nodes"}

    done = rdlc(*TARGET)

    assert done.code == 0
    assert 'nodes could not be seen: forbidden: nodes is forbidden: User "me" cannot list resource "nodes"' in done.out


def test_an_exec_that_breaks_off_is_said_and_its_pod_is_not_measured(api: ReadApi, rdlc: Rdlc) -> None:
    api.is_exec_dropped = True

    done = rdlc(*TARGET)

    assert (done.code, done.out.splitlines()[0]) == (1, "unproven  rdlc-w")
    assert f"warning: the logs of pod {WORKER} cannot be read: " in done.err
    assert "Ray nodes could not be seen: the answer of pod `rdlc-w-head-mj8sc` broke off" in done.out


def test_what_is_not_there_or_not_allowed_is_one_clear_line(api: ReadApi, rdlc: Rdlc) -> None:
    absent = rdlc("collect", "raycluster/other", "-n", "ray-train")
    api.forbidden = {"rayclusters"}
    refused = rdlc(*TARGET)

    assert (absent.code, absent.out) == (1, "")
    assert absent.err.splitlines()[0] == "error: there is no RayCluster `other` in namespace `ray-train`"
    assert refused.code == 1
    assert refused.err.startswith('error: forbidden: rayclusters is forbidden: User "me"')
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
