"""The product's own sentence on a cluster: a real kubectl, a real Ray with its job server, real training."""

import json
import shutil
import socket
import time
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from rdlc.core.kube.pod_folder import ROOT
from tests.conftest import Rdlc
from tests.image_samples import small_image
from tests.kubernetes.fake_api import FakeApi, serving
from tests.kubernetes.fake_exec import ExecFault
from tests.kubernetes.fake_operator import comes_up, deletes_pods, manifest
from tests.kubernetes.real_ray import real_ray
from tests.registry.faults import faulty_registry
from tests.registry.images import Image, Index, build_index

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.timeout(900),
    pytest.mark.usefixtures("kubectl"),
]
_REPOSITORY = "deep-learning-containers/ray"
_LOCK = "lock/short.lock.yaml"


@pytest.fixture
def api() -> Iterator[FakeApi]:
    """A cluster whose pods are this machine, with a real Ray in them."""
    before = set(Path(ROOT).glob("*"))
    with real_ray(num_cpus=3) as environment, serving(FakeApi()) as served:
        served.on_create, served.on_delete = (
            partial(_comes_up, _address_of_node(environment["RAY_API_SERVER_ADDRESS"])),
            deletes_pods,
        )
        served.environment = lambda pod: environment
        yield served
    for left in set(Path(ROOT).glob("*")) - before:
        shutil.rmtree(left, ignore_errors=True)


def _comes_up(address: str, api: FakeApi, plural: str, item: dict[str, Any]) -> None:
    """One pod, the head: it has the network of its node, which is this machine."""
    comes_up()(api, plural, item)
    for pod in api.list("pods"):
        pod["spec"]["nodeName"] = socket.gethostname()
        pod["status"]["podIP"] = address


def _address_of_node(ray: str) -> str:
    """What Ray calls its one node; it may take a moment until it knows."""
    for _ in range(120):
        with suppress(OSError), urllib.request.urlopen(f"{ray}/api/v0/nodes?detail=1", timeout=30) as answer:
            if nodes := json.load(answer)["data"]["result"]["result"]:
                return str(nodes[0]["node_ip"])
        time.sleep(0.5)
    raise AssertionError("Ray tells of no node")


def _head_only(image: str) -> str:
    given = deepcopy(manifest(image))
    given["spec"]["workerGroupSpecs"] = []
    return json.dumps(given)


def _lock(rdlc: Rdlc) -> str:
    """Locks a short run of an image; gives the image's digest."""
    tags: dict[str, Image | Index] = {"v1": build_index([small_image()])}
    with faulty_registry(_REPOSITORY, tags, lambda asked, right: right) as server:
        assert rdlc("init", ".", "--target", "local").code == 0
        spec = Path("run.yaml")
        image = f"target: docker\nimage: {{reference: '{server.address}/{_REPOSITORY}:v1'}}"
        spec.write_text(spec.read_text().replace("target: local", image))
        made = rdlc("lock", "run.yaml", "-o", _LOCK, "--set", "recipe.steps=6")
    assert made.code == 0, made.err
    return tags["v1"].digest


def test_run_and_replay_on_a_cluster_are_the_same_to_the_bit(
    tmp_path: Path, api: FakeApi, rdlc: Rdlc, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    monkeypatch.setenv("KUBECONFIG", str(api.write_kubeconfig(tmp_path / "kubeconfig")))
    Path("raycluster.yaml").write_text(_head_only(f"mirror.example/ray@{_lock(rdlc)}"))
    api.exec_faults.append(ExecFault(kind="drop", command="driver.log", times=1, after_bytes=20))
    where = ("-n", "ray-train", "--manifest", "raycluster.yaml")

    run = rdlc("run", _LOCK, *where)
    again = rdlc("replay", _LOCK, *where, "--json")

    assert run.code == 0, (run.out, run.err)
    assert "ranks 0 to 1 in pod " in run.out
    rows = {row["name"]: (row["observed"], row["equal"]) for row in again.document["conformance"]}
    assert rows["Ray nodes"] == ("1 alive, 0 dead, 0 GPUs", True)
    assert rows["image of head/ray-head"][1] is True
    assert run.out.splitlines()[0].startswith("finished  tiny  6 of 6 steps")
    assert "and was taken up again, with no line lost or repeated" in run.err
    assert (again.code, again.document["status"], again.document["level"]) == (0, "reproduced", "outcome-bitwise")
    assert again.document["outcome"] == "the same bits in 6 steps and the final parameters"
    assert rdlc("verify", str(again.document["record"])).code == 0
    assert api.list("rayclusters") == []
