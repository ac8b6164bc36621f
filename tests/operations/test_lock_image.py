"""The image of a lock: kept, resolved anew, held against its base and its other name."""

from dataclasses import replace

import pytest

from rdlc.core.image.section import ImageRequest
from rdlc.core.lockfile import RunLock
from rdlc.core.provenance import ImageOrigin
from rdlc.errors import OutsideError, RdlcError
from rdlc.operations.lock_image import LockedImage, resolve_image
from tests.image_samples import DLC, TAG, image_lock, make_inventory, small_image
from tests.operations.fake_registries import FakeRegistries
from tests.operations.scripted import Voice
from tests.registry.images import CREATED, Image, build_image, build_index, make_layer

NAME = f"mirror.example/deep-learning-containers/ray:{TAG}"
OLD, NEW = small_image(), small_image("other")
REQUEST = ImageRequest(reference=NAME, platform="linux/amd64")
ISSUE_WARNING = "known issue `efa-hangs`: it hangs; take another (a page)"
PRIVATE = f"763104351884.dkr.ecr.us-west-2.amazonaws.com/ray:{TAG}"
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


def test_a_first_lock_holds_the_digest_and_says_where_it_was_found() -> None:
    images = registries()
    images.contents[OLD.digest] = make_inventory({"ray": "2.58.0"})

    locked, voice = lock(images)

    assert locked.section.digest == OLD.digest
    assert locked.origin == ImageOrigin(
        reference=NAME,
        tag_kind="moving-minor",
        created=CREATED,
        twin="",
        evidence="streamed",
        components={"ray": "2.58.0"},
        known_issues=(),
    )
    assert (locked.comparison, locked.base_moves) == (None, None)
    assert (voice.notes, voice.warnings) == ([], [])


def test_a_lock_is_kept_while_the_tag_stays_and_nothing_is_said() -> None:
    images = registries()
    first, _ = lock(images)

    again, voice = lock(images, previous=first)

    assert again == first
    assert (voice.notes, voice.warnings) == ([], [])


def test_a_lock_keeps_its_digest_when_the_tag_has_moved_and_says_so() -> None:
    images = registries()
    first, _ = lock(images)
    images.push(NEW, NAME)

    again, voice = lock(images, previous=first)

    assert again == first
    assert voice.notes == [
        (
            f"`{NAME}` has moved: it names {NEW.digest} now; the lock keeps {OLD.digest}; "
            "`--upgrade image` takes the new one"
        )
    ]


def test_a_lock_is_kept_when_its_tag_is_gone_with_a_warning() -> None:
    images = registries()
    first, _ = lock(images)
    del images.tags[NAME]

    again, voice = lock(images, previous=first)

    assert (again, voice.warnings) == (first, [f"`{NAME}` is gone; the lock keeps {OLD.digest}"])


def test_a_lock_is_kept_when_the_registry_is_down_with_a_warning() -> None:
    images = registries()
    first, _ = lock(images)
    images.down.add("mirror.example")

    again, voice = lock(images, previous=first)

    assert (again, voice.warnings) == (
        first,
        [f"whether `{NAME}` has moved was not checked: `mirror.example` does not answer"],
    )


def test_of_a_lock_that_asked_for_a_digest_no_tag_is_looked_at() -> None:
    images = registries()
    request = replace(REQUEST, reference=f"{NAME}@{OLD.digest}")
    first, _ = lock(images, request=request)
    images.down.add("mirror.example")

    again, voice = lock(images, request=request, previous=first)

    assert (again, voice.notes, voice.warnings) == (first, [], [])


def test_an_upgrade_takes_what_the_tag_names_now_and_says_what_moved() -> None:
    images = registries()
    images.contents = {OLD.digest: make_inventory({"ray": "2.58.0"}), NEW.digest: make_inventory({"ray": "2.59.0"})}
    first, _ = lock(images)
    images.push(NEW, NAME)

    upgraded, _ = lock(images, previous=first, is_upgrade=True)

    assert (upgraded.section.digest, upgraded.origin.components) == (NEW.digest, {"ray": "2.59.0"})
    assert upgraded.comparison is not None
    assert upgraded.comparison.moves.kind == "components-changed"
    assert [(move.name, move.old, move.new) for move in upgraded.comparison.moves.moves] == [
        ("ray", "2.58.0", "2.59.0")
    ]


def test_an_upgrade_without_a_move_compares_nothing_and_takes_the_deeper_look() -> None:
    images = registries()
    first, _ = lock(images)
    images.contents[OLD.digest] = HANGS

    upgraded, _ = lock(images, previous=first, is_upgrade=True)

    assert (upgraded.section, upgraded.comparison) == (first.section, None)
    assert (first.origin.evidence, upgraded.origin.evidence) == ("config-only", "streamed")


def test_an_upgrade_from_a_deleted_digest_goes_on_and_says_that_nothing_was_compared() -> None:
    images = registries()
    first, _ = lock(images)
    images.kept.clear()
    images.push(NEW, NAME)

    upgraded, voice = lock(images, previous=first, is_upgrade=True)

    assert (upgraded.section.digest, upgraded.comparison) == (NEW.digest, None)
    old = NAME.replace(f":{TAG}", f"@{OLD.digest}")
    assert voice.warnings == [f"what moved was not compared: no such image: {old}"]


def test_another_reference_is_resolved_anew() -> None:
    images = registries()
    first, _ = lock(images)
    other = NAME.replace("v1.1", "v1.2")
    images.push(NEW, other)

    again, _ = lock(images, request=replace(REQUEST, reference=other), previous=first)

    assert (again.section.digest, again.origin.reference, again.comparison) == (NEW.digest, other, None)


def test_a_tag_beside_a_digest_is_checked_and_the_digest_wins() -> None:
    images = registries()
    images.push(NEW, NAME)

    locked, voice = lock(images, request=replace(REQUEST, reference=f"{NAME}@{OLD.digest}"))

    assert (locked.section.digest, locked.origin.tag_kind) == (OLD.digest, "digest")
    assert voice.warnings == [f"`{NAME}@{OLD.digest}`: the tag names {NEW.digest} now; the digest is locked"]


def test_an_index_is_locked_with_the_image_of_the_platform() -> None:
    index = build_index([OLD])
    images = FakeRegistries()
    images.push(index, NAME)

    locked, _ = lock(images)

    assert (locked.section.index_digest, locked.section.manifest_digest) == (index.digest, OLD.digest)
    assert locked.section.digest == index.digest


def test_a_registry_that_does_not_answer_at_a_first_lock_is_an_error() -> None:
    images = registries()
    images.down.add("mirror.example")

    with pytest.raises(OutsideError) as caught:
        lock(images)

    assert caught.value.message == "`mirror.example` does not answer"


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
