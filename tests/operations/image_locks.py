"""The image of a lock, resolved against registries in memory."""

from dataclasses import replace

from rdlc.core.image.section import ImageRequest
from rdlc.core.lockfile import RunLock
from rdlc.operations.lock_image import LockedImage, resolve_image
from tests.image_samples import TAG, image_lock, make_inventory, small_image
from tests.operations.fake_registries import FakeRegistries
from tests.operations.scripted import Voice
from tests.registry.images import Image

NAME = f"mirror.example/deep-learning-containers/ray:{TAG}"
OLD, NEW = small_image(), small_image("other")
REQUEST = ImageRequest(reference=NAME, platform="linux/amd64")
HANGS = make_inventory({"efa-installer": "1.47.0", "ray": "2.58.0"})


def registries(pushed: Image = OLD) -> FakeRegistries:
    made = FakeRegistries()
    made.push(pushed, NAME)
    return made


def lock(
    images: FakeRegistries,
    *,
    request: ImageRequest = REQUEST,
    previous: LockedImage | None = None,
    is_upgrade: bool = False,
) -> tuple[LockedImage, Voice]:
    voice = Voice()
    before = None
    if previous is not None:
        base = image_lock()
        sections = replace(base.sections, image=previous.section)
        before = RunLock(sections=sections, provenance=replace(base.provenance, image=previous.origin))
    locked = resolve_image(request, previous=before, is_upgrade=is_upgrade, images=images, reporter=voice)
    return locked, voice
