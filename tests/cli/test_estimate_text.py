"""The estimate of a lock, on the hardware that it names."""

from dataclasses import replace

from rdlc.cli.estimate_text import estimate_data, estimate_lock
from rdlc.core.canonical import Json
from rdlc.core.lockfile import RunLock
from tests.core.estimate.test_estimate import CONFIG, OPTIONS
from tests.core.infra.roots import with_variables
from tests.core.lock_samples import full_lock


def locked(*, gpus_per_worker: int = 1, config: dict[str, Json] | None = None, **variables: Json) -> RunLock:
    """A lock of eight workers on nodes that Terraform makes."""
    lock = full_lock()
    cluster, recipe = lock.sections.cluster, lock.sections.recipe
    request = replace(cluster.requested, workers=8, gpus_per_worker=gpus_per_worker)
    sections = replace(
        lock.sections,
        cluster=replace(cluster, requested=request),
        infra=with_variables(**variables),
        recipe=replace(recipe, config=config or {**CONFIG, **OPTIONS}, world_size=8),
    )
    return replace(lock, sections=sections)


def test_the_nodes_of_the_locked_infrastructure_are_the_hardware() -> None:
    found = estimate_lock(locked(gpu_instance_type="g6.12xlarge"))

    assert found is not None
    assert (found.hardware.device, found.hardware.nodes, found.hardware.origin) == ("NVIDIA L4", 2, "2 x g6.12xlarge")
    assert (found.fit, found.bound) == ("too large", "network")


def test_without_gpus_or_on_a_type_that_is_not_known_there_is_no_estimate() -> None:
    assert estimate_data(estimate_lock(locked(gpus_per_worker=0, gpu_instance_type="g6.12xlarge"))) is None
    assert estimate_data(estimate_lock(locked(gpu_instance_type="x9.large"))) is None
    assert estimate_data(estimate_lock(locked(gpu_instance_type="p5.48xlarge", config={"steps": 3}))) is None
