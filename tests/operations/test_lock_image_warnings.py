"""What is wrong with an image that is locked: issues that are known, and secrets, which are refused."""

from dataclasses import replace

import pytest

from rdlc.errors import RdlcError
from tests.image_samples import small_image
from tests.operations.fake_registries import FakeRegistries
from tests.operations.image_locks import HANGS, OLD, lock, registries
from tests.registry.images import Image

ISSUE_WARNING = "known issue `efa-hangs`: it hangs; take another (a page)"


# Known issues.


def test_a_known_issue_is_warned_of_and_kept_in_the_provenance() -> None:
    images = registries()
    images.contents[OLD.digest] = HANGS

    locked, voice = lock(images)

    assert (locked.origin.known_issues, voice.warnings) == (("efa-hangs",), [ISSUE_WARNING])


def test_an_issue_that_became_known_after_locking_is_warned_of_and_the_lock_is_kept() -> None:
    images = registries()
    images.contents[OLD.digest] = HANGS
    images.issues = ()
    first, before = lock(images)
    images.issues = FakeRegistries().issues

    again, after = lock(images, previous=first)

    assert (before.warnings, after.warnings) == ([], [ISSUE_WARNING])
    assert again == first


def test_an_issue_of_a_digest_is_warned_of_also_where_nothing_was_looked_into() -> None:
    images = registries()
    images.issues = (replace(images.issues[0], components={}, digests=(OLD.digest,)),)

    first, _ = lock(images)
    _, voice = lock(images, previous=first)

    assert (first.origin.known_issues, voice.warnings) == (("efa-hangs",), [ISSUE_WARNING])


# What may not stand in a lock.


@pytest.mark.parametrize(
    ("image", "place"),
    [
        (small_image(env={"HF_TOKEN": "hf_" + "a1B2c3D4" * 5}), "env.HF_TOKEN"),
        (small_image(labels={"note": "hf_" + "a1B2c3D4" * 5}), "labels.note"),
        (small_image(runtime={"Cmd": ["train", "--token", "hf_" + "a1B2c3D4" * 5]}), "command"),
    ],
)
def test_a_secret_in_an_image_is_refused_and_never_repeated(image: Image, place: str) -> None:
    with pytest.raises(RdlcError) as caught:
        lock(registries(image))

    assert caught.value.message == f"the image's `{place}` holds what looks like a Hugging Face token"
    assert "hf_" not in str(caught.value.hint)


def test_a_secret_that_only_its_name_gives_away_is_refused() -> None:
    with pytest.raises(RdlcError) as caught:
        lock(registries(small_image(env={"AWS_SECRET_ACCESS_KEY": "a1B2" * 10})))

    assert caught.value.message == "the image's `env.AWS_SECRET_ACCESS_KEY` holds what looks like an AWS secret key"
