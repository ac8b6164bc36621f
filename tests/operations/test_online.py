"""Whether everything that a lock names is still there."""

from pathlib import Path

import pytest

from rdlc.cli.wiring import LocalWorkspace
from rdlc.core.lockfile import Finding, write_lock
from rdlc.errors import OutsideError
from rdlc.operations.online import OnlineCheck, check_online
from tests.diff_samples import make_lock
from tests.image_samples import image_lock, small_image
from tests.operations.fake_packages import UnaskedIndex
from tests.operations.fake_registries import FakeRegistries
from tests.registry.images import build_index

NAME = "registry.example/team/ray"
IMAGE = small_image()
INDEX = build_index([IMAGE])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A lock of an index, its image, one config and two layers."""
    file = tmp_path / "x.lock.yaml"
    file.write_bytes(write_lock(image_lock()))
    return file


def check(path: Path, images: FakeRegistries) -> OnlineCheck:
    return check_online(path, workspace=LocalWorkspace(), stores=images, index=UnaskedIndex())


def findings(path: Path, *digests: str) -> tuple[Finding, ...]:
    return tuple(
        Finding(section="image", file=str(path), message=f"`{NAME}` no longer has {digest}") for digest in digests
    )


def test_everything_that_is_there_is_counted(path: Path) -> None:
    images = FakeRegistries()
    images.push(INDEX, f"{NAME}:v3")

    assert check(path, images) == OnlineCheck(asked=5, findings=())


def test_every_missing_digest_is_listed_and_not_only_the_first(path: Path) -> None:
    blobs = [blob.digest for blob in IMAGE.blobs]

    assert check(path, FakeRegistries()) == OnlineCheck(
        asked=5, findings=findings(path, INDEX.digest, IMAGE.digest, *blobs)
    )


def test_an_index_that_was_deleted_alone_is_found(path: Path) -> None:
    images = FakeRegistries()
    images.push(IMAGE, f"{NAME}:v3")

    assert check(path, images) == OnlineCheck(asked=5, findings=findings(path, INDEX.digest))


def test_the_tag_is_never_asked_for(path: Path) -> None:
    images = FakeRegistries()
    images.push(small_image("other"), f"{NAME}:v3")

    check(path, images)

    assert images.asked == [f"{NAME}@{INDEX.digest}"]


def test_a_registry_that_is_down_is_an_error_and_no_finding(path: Path) -> None:
    images = FakeRegistries(down={"registry.example"})

    with pytest.raises(OutsideError):
        check(path, images)


def test_a_local_lock_names_nothing_that_is_elsewhere(tmp_path: Path) -> None:
    path = tmp_path / "x.lock.yaml"
    path.write_bytes(write_lock(make_lock()))

    assert check(path, FakeRegistries()) == OnlineCheck(asked=0, findings=())


def test_nothing_is_asked_for_a_lock_that_is_not_intact(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(IMAGE.digest.encode(), b"sha256:" + b"0" * 64))
    images = FakeRegistries()
    images.push(INDEX, f"{NAME}:v3")

    message = "not asked for online: the lock is not intact"
    assert check(path, images) == OnlineCheck(
        asked=None, findings=(Finding(section="image", file=str(path), message=message),)
    )
    assert images.asked == []
