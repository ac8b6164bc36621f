"""The product's own sentence on a cluster: a real kubectl, a real Ray with its job server, real training."""

import secrets
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from rdlc.adapters.kubernetes.cluster import KubectlCluster
from rdlc.adapters.kubernetes.program import Kubectl
from rdlc.cli.cluster_wiring import LocalClusterMachine
from rdlc.cli.wiring import LocalArchive
from rdlc.core.kube.planned import ClusterPlan
from rdlc.core.kube.pod_folder import ROOT
from rdlc.operations.cluster_site import Site
from rdlc.operations.prepare import RunRequest, prepare
from rdlc.operations.run import RunResult
from rdlc.operations.run_cluster import execute_on_cluster
from rdlc.operations.verify import verify_record
from tests.conftest import Rdlc
from tests.kubernetes.cluster_world import NAMESPACE, ClusterVoice
from tests.kubernetes.fake_api import FakeApi, serving
from tests.kubernetes.fake_exec import ExecFault
from tests.kubernetes.fake_operator import MANIFEST, comes_up, deletes_pods
from tests.kubernetes.real_ray import real_ray

pytestmark = [
    pytest.mark.late,
    pytest.mark.timeout(900),
    pytest.mark.skipif(shutil.which("kubectl") is None, reason="needs the kubectl program"),
]


@dataclass(kw_only=True)
class Timed(ClusterVoice):
    """Also knows when the pods were ready and when the first step came."""

    ready_at: float = 0.0
    first_at: float = 0.0

    def phase(self, name: str) -> None:
        super().phase(name)
        self.first_at = self.first_at or time.monotonic()

    def pods(self, pods: object, outlook: object, elapsed_s: float) -> None:
        self.ready_at = time.monotonic()


@pytest.fixture
def environment() -> Iterator[dict[str, str]]:
    with real_ray(num_cpus=3) as found:
        yield dict(found)


def test_run_and_replay_on_a_cluster_are_the_same_to_the_bit(
    tmp_path: Path, environment: dict[str, str], rdlc: Rdlc, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert rdlc("init", ".", "--target", "local").code == 0
    made = rdlc("lock", "run.yaml", "-o", "lock/short.lock.yaml", "--set", "recipe.steps=6")
    assert made.code == 0, made.err
    with serving(FakeApi()) as api:
        api.on_create, api.on_delete = comes_up(), deletes_pods
        api.environment = lambda pod: environment
        kubectl = Kubectl(
            cache=tmp_path / "cache", kubeconfig=api.write_kubeconfig(tmp_path / "kubeconfig"), context="fake"
        )
        api.exec_faults.append(ExecFault(kind="drop", command="driver.log", times=1, after_bytes=20))

        def run(kind: str) -> tuple[RunResult, Timed]:
            machine, voice = LocalClusterMachine(), Timed()
            site = Site(cluster=KubectlCluster(kubectl), machine=machine, reporter=voice, listener=voice)
            request = RunRequest(
                given=tmp_path / "lock/short.lock.yaml", kind=kind, is_rebaseline=False, allow={}, settings={},
                tool=f"test {secrets.token_hex(4)}",
            )  # fmt: skip
            prepared = prepare(request, machine=machine, reporter=voice)
            plan = ClusterPlan(context="fake", namespace=NAMESPACE, raycluster=MANIFEST)
            try:
                return execute_on_cluster(request, prepared, plan, site=site), voice
            finally:
                for left in Path(ROOT).glob("*"):
                    if (left / "config.json").exists():
                        shutil.rmtree(left)

        first, voice = run("run")
        print(f"from all pods ready to the first phase: {voice.first_at - voice.ready_at:.1f} s")
        assert first.is_fine, (first.record.reason, first.record.checks, voice.warnings)
        again, _ = run("replay")

    assert (first.record.level, first.baseline) == ("execution", "written")
    assert [step.step for step in voice.steps] == [1, 2, 3, 4, 5, 6]
    assert again.record.level == "outcome-bitwise", again.record.evidence
    assert again.record.outcome == "the same bits in 6 steps and the final parameters"
    assert verify_record(again.path, archive=LocalArchive()).findings == ()
