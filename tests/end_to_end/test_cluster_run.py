"""The product's own sentence on a cluster: a real kubectl, a real Ray with its job server, real training."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

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
    pytest.mark.late,
    pytest.mark.timeout(900),
    pytest.mark.skipif(shutil.which("kubectl") is None, reason="needs the kubectl program"),
]
_REPOSITORY = "deep-learning-containers/ray"
_LOCK = "lock/short.lock.yaml"


@pytest.fixture
def api() -> Iterator[FakeApi]:
    """A cluster whose pods are this machine, with a real Ray in them."""
    before = set(Path(ROOT).glob("*"))
    with real_ray(num_cpus=3) as environment, serving(FakeApi()) as served:
        served.on_create, served.on_delete = comes_up(), deletes_pods
        served.environment = lambda pod: environment
        yield served
    for left in set(Path(ROOT).glob("*")) - before:
        shutil.rmtree(left, ignore_errors=True)


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
    Path("raycluster.yaml").write_text(json.dumps(manifest(f"mirror.example/ray@{_lock(rdlc)}")))
    api.exec_faults.append(ExecFault(kind="drop", command="driver.log", times=1, after_bytes=20))
    where = ("-n", "ray-train", "--manifest", "raycluster.yaml")

    run = rdlc("run", _LOCK, *where)
    again = rdlc("replay", _LOCK, *where, "--json")

    assert run.code == 0, (run.out, run.err)
    assert run.out.splitlines()[0].startswith("finished  tiny  6 of 6 steps")
    assert "and was taken up again, with no line lost or repeated" in run.err
    assert (again.code, again.document["status"], again.document["level"]) == (0, "reproduced", "outcome-bitwise")
    assert again.document["outcome"] == "the same bits in 6 steps and the final parameters"
    assert rdlc("verify", str(again.document["record"])).code == 0
    assert api.list("rayclusters") == []
