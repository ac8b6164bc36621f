"""What a lock asks of its cluster."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from rdlc.core.canonical import Json
from rdlc.core.conformance import WorkerReport, check_conformance, is_conforming
from rdlc.core.kube.lock_due import due_of_lock
from rdlc.core.kube.sightings import Sightings
from rdlc.core.lockfile import RunLock
from rdlc.core.packages.installed import Installed
from rdlc.core.record import Rank
from rdlc.core.sections import ClusterSection
from tests.core.kube.recorded import IMAGE, OLD, PLATFORM, RAYCLUSTER, see, status_of, worker
from tests.infra_samples import eks_lock


@dataclass(frozen=True, kw_only=True, slots=True)
class WithRayCluster(ClusterSection):
    """A section with the RayCluster of the recording."""

    raycluster: Mapping[str, Json]


def lock_of(index: str = IMAGE) -> RunLock:
    lock = eks_lock()
    held = lock.sections
    assert held.image is not None
    image = replace(held.image, index_digest=index, manifest_digest=PLATFORM)
    request = replace(held.cluster.requested, workers=2, gpus_per_worker=4)
    cluster = WithRayCluster(
        requested=request, nodes=1, settings=held.cluster.settings, raycluster={**RAYCLUSTER, "status": None}
    )
    return replace(lock, sections=replace(held, image=image, cluster=cluster, infra=None))


def report(lock: RunLock, rank: int) -> WorkerReport:
    return WorkerReport(
        place=Rank(rank=rank, local_rank=rank, node_rank=0, host="rdlc-w-gpu-worker-pkcfv"),
        python="3.13.12",
        packages={},
        environment={name: setting.value for name, setting in lock.sections.cluster.settings.items()},
        switches={},
        code_digest=lock.sections.code.digest,
        cpu_capability="AVX2",
        cpu_threads=1,
        device="cuda",
        network="nccl",
        peak_rss_bytes=None,
        installed=Installed(distributions=None, files=None),
    )


def test_a_lock_without_a_raycluster_asks_nothing() -> None:
    assert due_of_lock(eks_lock()) is None


def test_pods_gpus_and_both_digests_of_the_image_are_due() -> None:
    due = due_of_lock(lock_of())

    assert due is not None
    assert {name: group.replicas for name, group in due.groups.items()} == {"head": 1, "gpu": 2}
    assert due.groups["gpu"].containers["ray-worker"].digests == {
        IMAGE: "the index",
        PLATFORM: "the platform's manifest",
    }
    assert due.groups["gpu"].containers["ray-worker"].environment["FI_PROVIDER"] == "efa"
    assert (due.gpus, due.ranks, due.nodes, due.optional) == (
        8,
        2,
        1,
        frozenset(eks_lock().sections.run.requested.secrets),
    )


def test_a_run_conforms_only_if_its_cluster_was_seen_before_and_after_and_was_as_locked() -> None:
    lock = lock_of()
    workers = [report(lock, rank) for rank in range(lock.sections.recipe.world_size)]
    old = see(change=lambda pods: status_of(worker(pods)).update(imageID=f"registry.local/ray@{OLD}"))

    def conforms(sightings: Sightings) -> bool:
        return is_conforming(check_conformance(lock, workers, sightings), accepted={})

    assert conforms(Sightings(before=see(), after=see()))
    assert not conforms(Sightings(before=see(), after=old))
    assert not conforms(Sightings(before=see()))
    assert not conforms(Sightings())
