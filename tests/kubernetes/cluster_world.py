"""A project, an API server and a Ray for the stories of runs on a cluster; only Ray and the training are made up."""

import fcntl
import os
import secrets
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rdlc.adapters.kubernetes.cluster import KubectlCluster
from rdlc.adapters.kubernetes.program import Kubectl
from rdlc.cli.cluster_wiring import ClusterFiles
from rdlc.core.kube.planned import ClusterPlan
from rdlc.core.kube.pod_folder import ROOT
from rdlc.core.kube.pod_states import PodState
from rdlc.core.kube.waiting import Outlook, Patience
from rdlc.operations.cluster_site import Site
from rdlc.operations.prepare import RunRequest, prepare
from rdlc.operations.run import RunResult
from rdlc.operations.run_cluster import execute_on_cluster
from tests.diff_samples import make_outcome, outcome_files
from tests.kubernetes.fake_api import FakeApi, serving
from tests.kubernetes.fake_operator import MANIFEST, comes_up, deletes_pods
from tests.kubernetes.stub_ray import Driver, StubRay, ray_serving
from tests.operations.scripted import ScriptedMachine, Voice, leave, leave_reports, lock

NAMESPACE = "ray-train"


class ClusterScripted(ClusterFiles, ScriptedMachine):
    """The scripted machine with a clock that goes, and tokens that no other test has."""

    def new_token(self) -> str:
        return secrets.token_hex(16)

    def monotonic(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(min(seconds, 0.1))


@dataclass(kw_only=True)
class ClusterVoice(Voice):
    """Keeps what was said of pods too; `on_phase` is called when a phase begins."""

    outlooks: list[Outlook] = field(default_factory=list)
    interrupt_at: int | None = None

    def pods(self, pods: tuple[PodState, ...], outlook: Outlook, elapsed_s: float) -> None:
        self.outlooks.append(outlook)

    def step(self, progress: object) -> None:
        super().step(progress)  # type: ignore[arg-type]
        if self.interrupt_at is not None and len(self.steps) >= self.interrupt_at:
            self.interrupt_at = None
            raise KeyboardInterrupt


def trains(record: Path, stop: threading.Event) -> int:
    """A driver that leaves a good outcome at once."""
    config = record.parent / "config.json"
    shutil.copy(config, record / "config.json")
    leave(record, make_outcome())
    # The run's own folder is called as its RayCluster is.
    leave_reports(record, host=f"{record.parent.name}-gpu-0")
    (record / "config.json").unlink()
    (record / "driver.log").write_text("first line\n")
    return 0


def trains_slowly(record: Path, stop: threading.Event) -> int:
    """A driver that writes its steps one by one, until it is done or told to stop."""
    lines = outcome_files(make_outcome())["metrics.jsonl"].splitlines(keepends=True)
    for line in lines:
        with (record / "metrics.jsonl").open("ab") as file:
            file.write(line)
        if stop.wait(0.4):
            return 1
    (record / "metrics.jsonl").unlink()
    return trains(record, stop)


@dataclass(kw_only=True)
class World:
    """Everything that a story needs."""

    api: FakeApi
    ray: StubRay
    machine: ClusterScripted
    site: Site
    voice: ClusterVoice
    patience: Patience = field(default_factory=Patience)

    def run(self, *, kind: str = "run", is_detached: bool = False, path: Path | None = None) -> RunResult:
        """Runs the project's lock on the cluster."""
        request = self.request(path or lock(self.machine), kind=kind, is_detached=is_detached)
        prepared = prepare(request, machine=self.machine, reporter=self.voice)
        plan = ClusterPlan(context="fake", namespace=NAMESPACE, raycluster=MANIFEST, patience=self.patience)
        return execute_on_cluster(request, prepared, plan, site=self.site)

    @staticmethod
    def request(given: Path, *, kind: str = "run", is_detached: bool = False) -> RunRequest:
        """A request for that lock."""
        return RunRequest(
            given=given, kind=kind, is_rebaseline=False, allow={}, settings={}, tool="rdlc", is_detached=is_detached
        )


def ray_nodes(api: FakeApi) -> list[dict[str, Any]]:
    """Ray's node table of a cluster whose pods are all there."""
    return [
        {
            "node_id": pod["metadata"]["uid"],
            "node_ip": pod["status"]["podIP"],
            "state": "ALIVE",
            "is_head_node": pod["metadata"]["labels"]["ray.io/node-type"] == "head",
            "resources_total": {"CPU": 1.0},
        }
        for pod in api.list("pods")
    ]


@contextmanager
def pods_to_itself() -> Iterator[None]:
    """Nobody else's run has its files where a pod has them, which is one folder of this machine here."""
    with Path(f"{ROOT}.tests.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        before = set(Path(ROOT).glob("*"))
        try:
            yield
        finally:
            for path in set(Path(ROOT).glob("*")) - before:
                shutil.rmtree(path, ignore_errors=True)


@contextmanager
def cluster_world(machine: ScriptedMachine, folder: Path, driver: Driver = trains) -> Iterator[World]:
    """A cluster that comes up at once, with a Ray that runs the driver."""
    ours = ClusterScripted(machine.project)
    programs = folder / "programs"
    with pods_to_itself(), ray_serving(StubRay(driver=driver), programs) as ray, serving(FakeApi()) as api:
        api.on_create, api.on_delete = comes_up(), deletes_pods
        ray.nodes = lambda: ray_nodes(api)
        environment = {
            "PATH": f"{programs}:{os.environ['PATH']}",
            "RAY_API_SERVER_ADDRESS": f"http://127.0.0.1:{ray.port}",
        }
        api.environment = lambda pod: environment
        kubeconfig = api.write_kubeconfig(folder / "kubeconfig")
        cluster = KubectlCluster(Kubectl(cache=folder / "cache", kubeconfig=kubeconfig, context="fake"))
        voice = ClusterVoice()
        site = Site(cluster=cluster, machine=ours, reporter=voice, listener=voice)
        try:
            yield World(api=api, ray=ray, machine=ours, site=site, voice=voice)
        finally:
            ray.end()
