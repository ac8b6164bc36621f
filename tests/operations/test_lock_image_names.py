"""The other names of a locked image: its base, and its public or private twin."""

from dataclasses import replace

import pytest

from rdlc.core.image.section import ImageRequest
from rdlc.errors import RdlcError
from tests.image_samples import DLC, TAG, make_inventory
from tests.operations.fake_registries import FakeRegistries
from tests.operations.image_locks import NAME, NEW, OLD, REQUEST, lock, registries
from tests.registry.images import build_image, make_layer

PRIVATE = f"763104351884.dkr.ecr.us-west-2.amazonaws.com/ray:{TAG}"


# Derived images.


def derived(reference: str = "registry.example/team/ray:v3") -> ImageRequest:
    return ImageRequest(reference=reference, platform="linux/amd64", base=NAME, reason="our tokenizer")


def test_a_derived_image_is_locked_with_base_reason_and_its_difference() -> None:
    own = build_image([make_layer({"etc/one": b"1"}, compression="none"), make_layer({"opt/own": b"x"})])
    base = build_image([make_layer({"etc/one": b"1"}, compression="none")])
    images = registries(base)
    images.push(own, derived().reference)
    images.contents = {base.digest: make_inventory({"ray": "2.58.0"}), own.digest: make_inventory({"ray": "2.59.0"})}

    locked, voice = lock(images, request=derived())

    requested = locked.section.requested
    assert (requested.reference, requested.base, requested.reason) == (
        "team/ray:v3",
        f"deep-learning-containers/ray:{TAG}",
        "our tokenizer",
    )
    assert (locked.section.base_digest, locked.origin.tag_kind) == (base.digest, "other")
    assert locked.base_moves is not None
    assert [(move.name, move.old, move.new) for move in locked.base_moves.moves] == [("ray", "2.58.0", "2.59.0")]
    assert voice.warnings == []


def test_an_image_that_does_not_stand_on_its_base_is_locked_with_a_warning() -> None:
    images = registries()
    images.push(NEW, derived().reference)

    locked, voice = lock(images, request=derived())

    assert locked.section.base_digest == OLD.digest
    assert voice.warnings == [f"the image does not stand on the layers of `{NAME}`: its difference is larger"]


def test_a_base_that_is_not_there_is_refused() -> None:
    images = FakeRegistries()
    images.push(NEW, derived().reference)

    with pytest.raises(RdlcError) as caught:
        lock(images, request=derived())

    assert caught.value.message == f"no such image: {NAME}"


# Public and private names of a Deep Learning Container.


@pytest.mark.parametrize(("asked", "twin"), [(f"{DLC}:{TAG}", PRIVATE), (PRIVATE, f"{DLC}:{TAG}")])
def test_the_other_name_of_a_dlc_is_checked_from_either_side(asked: str, twin: str) -> None:
    images = FakeRegistries(region="us-west-2")
    images.push(OLD, asked, twin)

    locked, voice = lock(images, request=replace(REQUEST, reference=asked))

    assert (locked.origin.twin, voice.warnings) == (f"{twin}: the same digest", [])


def test_names_that_disagree_are_warned_of_and_told_in_the_provenance() -> None:
    images = FakeRegistries(region="us-west-2")
    images.push(OLD, f"{DLC}:{TAG}")
    images.push(NEW, PRIVATE)

    locked, voice = lock(images, request=replace(REQUEST, reference=f"{DLC}:{TAG}"))

    assert (locked.section.digest, locked.origin.twin) == (OLD.digest, f"{PRIVATE}: {NEW.digest}")
    assert voice.warnings == [f"`{PRIVATE}` names {NEW.digest}, and `{DLC}:{TAG}` {OLD.digest}"]


def test_a_private_name_without_the_image_is_warned_of() -> None:
    images = FakeRegistries(region="us-west-2")
    images.push(OLD, f"{DLC}:{TAG}")

    locked, voice = lock(images, request=replace(REQUEST, reference=f"{DLC}:{TAG}"))

    assert locked.origin.twin == f"{PRIVATE}: not there"
    assert voice.warnings == [f"`{PRIVATE}` names nothing, and `{DLC}:{TAG}` {OLD.digest}"]


def test_a_private_registry_that_does_not_answer_stops_nothing() -> None:
    images = FakeRegistries(region="us-west-2", down={PRIVATE.partition("/")[0]})
    images.push(OLD, f"{DLC}:{TAG}")

    locked, voice = lock(images, request=replace(REQUEST, reference=f"{DLC}:{TAG}"))

    host = PRIVATE.partition("/")[0]
    assert (locked.origin.twin, voice.warnings) == (f"{PRIVATE}: not checked: `{host}` does not answer", [])


def test_a_dlc_that_is_asked_for_by_digest_is_looked_for_by_that_digest() -> None:
    images = FakeRegistries(region="us-west-2")
    images.push(OLD, f"{DLC}:{TAG}", PRIVATE)
    images.push(NEW, PRIVATE)

    locked, _ = lock(images, request=replace(REQUEST, reference=f"{DLC}@{OLD.digest}"))

    assert locked.origin.twin == f"{PRIVATE.partition(':')[0]}@{OLD.digest}: the same digest"


@pytest.mark.parametrize("reference", ["registry.example/team/ray:v3", NAME])
def test_without_region_and_for_other_images_no_other_name_is_asked(reference: str) -> None:
    images = FakeRegistries(region="us-west-2")
    images.push(OLD, reference)
    public = FakeRegistries()
    public.push(OLD, f"{DLC}:{TAG}")

    locked, _ = lock(images, request=replace(REQUEST, reference=reference))
    unset, _ = lock(public, request=replace(REQUEST, reference=f"{DLC}:{TAG}"))

    assert (locked.origin.twin, unset.origin.twin) == ("", "")
    assert {name.partition("/")[0] for name in images.asked} == {reference.partition("/")[0]}
