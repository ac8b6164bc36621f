"""`rdlc run` and `rdlc collect` on a cluster, as a user sees them: a real kubectl; API server and Ray are made up."""

import json
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cli.docker_project import LOCK, OLD, DockerProject, docker_project
from tests.conftest import Rdlc, Said
from tests.kubernetes.cluster_world import pods_to_itself, ray_nodes, trains, trains_slowly
from tests.kubernetes.fake_api import FakeApi, serving
from tests.kubernetes.fake_operator import comes_up, deletes_pods, manifest, recorded
from tests.kubernetes.stub_ray import StubRay, ray_serving

pytestmark = pytest.mark.usefixtures("kubectl")
_NAMESPACE = ("-n", "ray-train", "--manifest", "raycluster.yaml")


@dataclass(kw_only=True)
class Project:
    """A locked project of target docker, its API server and its Ray."""

    docker: DockerProject
    api: FakeApi
    ray: StubRay

    def __call__(self, *arguments: str | Path) -> Said:
        return self.docker(*arguments)

    def on_cluster(self, verb: str, *arguments: str | Path) -> Said:
        """Runs or replays the lock on the cluster."""
        return self.docker(verb, LOCK, *_NAMESPACE, *arguments)


@pytest.fixture
def project(tmp_path: Path, rdlc: Rdlc, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    """A cluster that comes up at once, named by the user's own kubeconfig."""
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    ray = StubRay(driver=trains)
    with (
        pods_to_itself(),
        docker_project(tmp_path / "project", rdlc) as docker,
        ray_serving(ray, tmp_path / "programs"),
        serving(FakeApi()) as api,
    ):
        api.on_create, api.on_delete = comes_up(), deletes_pods
        ray.nodes = lambda: ray_nodes(api)
        path = f"{tmp_path / 'programs'}:{os.environ['PATH']}"
        api.environment = lambda pod: {"PATH": path, "RAY_API_SERVER_ADDRESS": f"http://127.0.0.1:{ray.port}"}
        monkeypatch.setenv("KUBECONFIG", str(api.write_kubeconfig(tmp_path / "kubeconfig")))
        Path("raycluster.yaml").write_text(json.dumps(manifest(f"mirror.example/ray@{OLD.digest}")))
        assert docker("lock", "run.yaml").code == 0
        try:
            yield Project(docker=docker, api=api, ray=ray)
        finally:
            ray.end()


def test_run_on_a_cluster_says_what_it_does_and_how_it_went(project: Project) -> None:
    said = project.on_cluster("run")

    assert said.code == 0, said
    assert said.out.splitlines()[0].startswith("finished  toy  3 of 3 steps")
    lines = [line for line in said.err.splitlines() if not line.startswith("step")]
    words = [line.partition(" s  ")[2] or line for line in lines]
    name = words[0].split()[1]
    assert words == [
        f"RayCluster {name} is made in namespace ray-train",
        "all pods are ready",
        "the code lies in 2 pods, each compared by sha256",
        f"job {name} is submitted",
        f"RayCluster {name} is deleted: nothing of this run costs money any more",
    ]


def test_cluster_that_never_comes_up_is_an_error_with_its_cause(project: Project) -> None:
    project.api.on_create = recorded("oom")

    said = project.on_cluster("run")

    assert said.code == 1
    assert "ran out of memory while Ray started: its memory limit is too small" in said.err
    assert "hint: raise `resources.limits.memory` of that group" in said.err
    assert project.api.list("rayclusters") == []


@pytest.mark.nightly
def test_detached_run_is_attached_again_and_judged(project: Project) -> None:
    project.ray.driver = trains_slowly
    left = project.on_cluster("run", "--detach", "--json").document
    again = project("run", LOCK, "--resume", str(left["record"]), "--json")

    assert (left["status"], left["exit_code"], left["namespace"]) == ("detached", 0, "ray-train")
    assert (again.code, again.document["status"], again.document["record"]) == (0, "finished", left["record"])
    assert project("run", LOCK, "--resume", str(left["record"])).err.startswith(
        f"error: {left['record']}: this run is over: finished"
    )


@pytest.mark.nightly
def test_detached_run_is_collected_from_its_record_alone(project: Project) -> None:
    go = threading.Event()

    def waits(record: Path, stop: threading.Event) -> int:
        (record / "driver.log").write_text("not yet\n")
        go.wait(120)
        return trains(record, stop)

    project.ray.driver = waits
    left = project.on_cluster("run", "--detach", "--json").document
    record = str(left["record"])
    running = project("collect", record)
    so_far = Path(record, "driver.log").read_text()
    go.set()
    project.ray.threads[-1].join(60)
    ended = project("collect", record, "--json")

    assert so_far == "not yet\n"
    assert running.code == 0
    assert running.out.splitlines()[0] == "running  toy"
    assert f"  costs money    RayCluster {left['raycluster']} holds its nodes until it is deleted" in running.out
    assert (ended.code, ended.document["status"]) == (0, "finished")
    assert project.api.list("rayclusters") == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text.replace(OLD.digest, "sha256:" + "0" * 64), "is not the locked image by its digest"),
        (lambda text: text.replace("RayCluster", "Pod"), "one object of `kind: RayCluster` is due here"),
        (lambda text: "a: [", "not YAML"),
    ],
)
def test_manifest_that_is_not_for_the_lock_is_refused_before_anything_is_made(
    project: Project, change: Callable[[str], str], message: str
) -> None:
    Path("raycluster.yaml").write_text(change(Path("raycluster.yaml").read_text()))

    said = project.on_cluster("run")

    assert said.code in {1, 2}
    assert message in said.err
    assert not any(method == "POST" for method, _ in project.api.asked)
    assert not list(Path("runs").glob("*/*/record.json"))


def test_lock_of_an_image_asks_for_a_cluster(project: Project) -> None:
    said = project("run", LOCK)

    assert said.code == 2
    assert "target `docker` runs on a cluster, and none is named" in said.err
