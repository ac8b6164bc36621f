"""How far upstream has moved since a lock was made."""

import datetime
from dataclasses import replace
from pathlib import Path

import pytest

from rdlc.cli.wiring import LocalWorkspace
from rdlc.core.image.section import ImageRequest
from rdlc.core.lockfile import RunLock, write_lock
from rdlc.errors import InputError, RdlcError
from rdlc.operations.lock_image import resolve_image
from rdlc.operations.outdated import ImageState, look_upstream
from tests.diff_samples import make_lock
from tests.image_samples import image_lock, make_inventory, small_image
from tests.operations.fake_packages import UnaskedIndex
from tests.operations.fake_registries import FakeRegistries
from tests.operations.infra_tools import UnaskedOffers
from tests.operations.scripted import Voice

HOST = "mirror.example"
NAME = f"{HOST}/deep-learning-containers/ray"
TAG = f"{NAME}:train-ml-cuda-v1.1"
OLD, NEW = small_image(), small_image("other")
NOW = datetime.datetime(2026, 9, 11, 8, 0, tzinfo=datetime.UTC)
LOCKED = ImageState(
    state="current",
    reference=TAG,
    locked=OLD.digest,
    tag_kind="moving-minor",
    now=OLD.digest,
    age_days=9,
)


def registries() -> FakeRegistries:
    images = FakeRegistries()
    images.push(OLD, TAG)
    return images


def write(path: Path, images: FakeRegistries, reference: str = TAG) -> Path:
    """Locks what the registries have now."""
    request = ImageRequest(reference=reference, platform="linux/amd64")
    image = resolve_image(request, previous=None, is_upgrade=False, images=images, reporter=Voice())
    base = image_lock()
    sections = replace(base.sections, image=image.section)
    path.write_bytes(write_lock(RunLock(sections=sections, provenance=replace(base.provenance, image=image.origin))))
    return path


def look(path: Path, images: FakeRegistries, now: datetime.datetime = NOW) -> ImageState | None:
    return look_upstream(
        path, workspace=LocalWorkspace(), upstream=images, index=UnaskedIndex(), offers=UnaskedOffers(), now=now
    ).image


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write(tmp_path / "x.lock.yaml", registries())


def test_a_lock_whose_tag_still_names_its_digest_is_current(path: Path) -> None:
    assert look(path, registries()) == LOCKED


def test_a_moved_tag_is_told_with_what_moved(path: Path) -> None:
    images = registries()
    images.push(NEW, TAG)
    images.contents = {OLD.digest: make_inventory({"ray": "2.58.0"}), NEW.digest: make_inventory({"ray": "2.59.0"})}

    state = look(path, images)

    assert state is not None
    assert state.moves is not None
    assert replace(state, moves=None) == replace(LOCKED, state="moved", now=NEW.digest)
    assert state.moves.kind == "components-changed"
    assert [(move.name, move.old, move.new) for move in state.moves.moves] == [("ray", "2.58.0", "2.59.0")]
    # Tables of contents are found by the tag, which leads to the new image only.
    assert images.asked[-2:] == [f"{NAME}@{OLD.digest}", f"{TAG}@{NEW.digest}"]


def test_a_tag_that_is_gone_is_told(path: Path) -> None:
    images = registries()
    del images.tags[TAG]

    assert look(path, images) == replace(LOCKED, state="gone", now=None)


def test_a_deleted_digest_is_told_though_the_tag_names_another(path: Path) -> None:
    images = FakeRegistries()
    images.push(NEW, TAG)

    assert look(path, images) == replace(LOCKED, state="deleted", now=None)


def test_newer_versions_in_the_repository_are_listed(path: Path) -> None:
    images = registries()
    images.push(NEW, f"{NAME}:train-ml-cuda-v1.2", f"{NAME}:serve-ml-cuda-v3", f"{NAME}:train-ml-cuda-v1.1.0")

    assert look(path, images) == replace(LOCKED, newer=("train-ml-cuda-v1.2",))


def test_a_registry_that_is_down_gives_not_checked_and_the_reason(path: Path) -> None:
    images = registries()
    images.down.add(HOST)

    assert look(path, images) == replace(LOCKED, state="not-checked", now=None, trouble=f"`{HOST}` does not answer")


def test_a_registry_that_lists_no_tags_is_looked_at_all_the_same(path: Path) -> None:
    images = registries()
    images.closed.add(HOST)

    assert look(path, images) == replace(LOCKED, trouble="newer tags were not looked for: tags are not listed")


def test_a_moved_tag_that_cannot_be_compared_has_moved_all_the_same(path: Path) -> None:
    class NoContents(FakeRegistries):
        def known_issues(self):  # type: ignore[no-untyped-def]  # it gives nothing
            raise RdlcError("the layers cannot be read")

    images = NoContents()
    images.push(OLD, TAG)
    images.push(NEW, TAG)

    assert look(path, images) == replace(
        LOCKED, state="moved", now=NEW.digest, trouble="what moved was not compared: the layers cannot be read"
    )


def test_a_lock_that_asked_for_a_digest_is_pinned(tmp_path: Path) -> None:
    images = registries()
    reference = f"{NAME}@{OLD.digest}"
    path = write(tmp_path / "x.lock.yaml", images, reference)
    images.push(NEW, TAG)

    assert look(path, images) == replace(LOCKED, state="pinned", reference=reference, tag_kind="digest", now=None)


def test_the_tag_beside_a_digest_is_looked_at(tmp_path: Path) -> None:
    images = registries()
    path = write(tmp_path / "x.lock.yaml", images, f"{TAG}@{OLD.digest}")
    images.push(NEW, TAG)

    state = look(path, images)

    assert state is not None
    assert (state.state, state.now) == ("moved", NEW.digest)


def test_a_reference_without_tag_means_latest_and_is_not_pinned(tmp_path: Path) -> None:
    images = FakeRegistries()
    images.push(OLD, f"{NAME}:latest")
    path = write(tmp_path / "x.lock.yaml", images, NAME)
    current = look(path, images)
    images.push(NEW, f"{NAME}:latest")

    moved = look(path, images)

    assert current == replace(LOCKED, reference=NAME, tag_kind="unversioned")
    assert moved is not None
    assert (moved.state, moved.now) == ("moved", NEW.digest)


@pytest.mark.parametrize(
    ("created", "age_days"),
    [
        ("2026-09-01T08:14:00.123456789Z", 9),
        ("2026-09-01T10:14:00+02:00", 9),
        ("2026-09-01", 10),
        ("2026-09-30T00:00:00Z", 0),
        ("yesterday", None),
        ("", None),
    ],
)
def test_the_age_is_that_which_the_image_states(tmp_path: Path, created: str, age_days: int | None) -> None:
    images = FakeRegistries()
    images.push(small_image(created=created), TAG)
    path = write(tmp_path / "x.lock.yaml", images)

    state = look(path, images)

    assert state is not None
    assert state.age_days == age_days


def test_a_lock_without_image_has_nothing_from_upstream(tmp_path: Path) -> None:
    path = tmp_path / "x.lock.yaml"
    path.write_bytes(write_lock(make_lock()))

    assert look(path, FakeRegistries()) is None


def test_a_lock_that_is_not_intact_is_refused(path: Path) -> None:
    data = path.read_bytes().replace(b'FI_PROVIDER: "efa"', b'FI_PROVIDER: "tcp"')
    path.write_bytes(data)

    with pytest.raises(RdlcError) as caught:
        look(path, registries())

    line = data[: data.index(b"\nimage:")].count(b"\n") + 2
    assert (caught.value.message, caught.value.file, caught.value.hint) == (
        "the lock is not intact: section `image`",
        f"{path}:{line}",
        f"`rdlc verify {path}`",
    )


def test_what_is_no_lock_is_bad_input(tmp_path: Path) -> None:
    path = tmp_path / "x.lock.yaml"
    path.write_text("a: 1\n")

    with pytest.raises(InputError):
        look(path, FakeRegistries())
