"""A lock on infrastructure made by Terraform, small and whole."""

from dataclasses import replace

from rdlc.core.infra.origin import InfraOrigin
from rdlc.core.lockfile import RunLock
from rdlc.core.network import NetworkRequest
from rdlc.core.storage import StorageRequest
from tests.core.infra.roots import SECTION
from tests.image_samples import image_lock


def eks_lock() -> RunLock:
    """The full lock for target eks: an image, and every field of a section of infrastructure."""
    lock = image_lock()
    held = lock.sections
    network = NetworkRequest(transport="", is_strict=False, on_fallback="warn")
    storage = StorageRequest(path="s3://bucket/prefix")
    run = replace(held.run.requested, target="eks", network=network, storage=storage)
    origin = InfraOrigin(
        plan="sha256:" + "f" * 64,
        plan_missing="",
        values={"gpu_count": "spec", "region": "spec"},
        bindings={"name": "team-a", "zones": ["us-east-2a", "us-east-2b"], "tags": {"team": "a"}},
    )
    sections = replace(held, run=replace(held.run, requested=run), infra=SECTION)
    return RunLock(sections=sections, provenance=replace(lock.provenance, infra=origin))
