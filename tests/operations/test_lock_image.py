"""The image of a lock: kept while it may be, resolved anew, upgraded."""

from dataclasses import replace

import pytest

from rdlc.core.contents.inventory import Evidence
from rdlc.core.provenance import ImageOrigin
from rdlc.errors import OutsideError
from tests.image_samples import TAG, make_inventory
from tests.operations.fake_registries import FakeRegistries
from tests.operations.image_locks import HANGS, NAME, NEW, OLD, REQUEST, lock, registries
from tests.registry.images import CREATED, build_index


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


def test_a_kept_image_is_looked_into_by_the_route_that_was_asked_for() -> None:
    images = registries()
    first, _ = lock(images)
    images.contents[OLD.digest] = HANGS
    images.push(NEW, NAME)
    images.wanted_evidence = "soci-toc"

    again, voice = lock(images, previous=first)

    assert (again.section, again.comparison) == (first.section, None)
    assert again.origin == replace(
        first.origin,
        evidence="streamed",
        components={"efa-installer": "1.47.0", "ray": "2.58.0"},
        known_issues=("efa-hangs",),
    )
    assert [warning.partition(":")[0] for warning in voice.warnings] == ["known issue `efa-hangs`"]


def test_a_kept_image_is_looked_into_by_its_digest_and_never_by_its_tag() -> None:
    images = registries()
    first, _ = lock(images)
    images.wanted_evidence, images.asked = "streamed", []

    lock(images, previous=first)

    # The tag is asked for what it names now, and for nothing else.
    assert images.asked == [NAME, NAME.replace(f":{TAG}", f"@{OLD.digest}")]


@pytest.mark.parametrize("wanted", ["config-only", "soci-toc", "streamed"])
def test_a_kept_image_is_not_read_again_for_what_is_known(wanted: Evidence) -> None:
    images = registries()
    images.contents[OLD.digest] = HANGS
    first, _ = lock(images)
    images.contents.clear()
    images.wanted_evidence = wanted

    again, _ = lock(images, previous=first)

    assert again == first


def test_a_kept_image_that_cannot_be_looked_into_is_kept_with_a_warning() -> None:
    images = registries()
    first, _ = lock(images)
    images.kept.clear()
    images.wanted_evidence = "streamed"

    again, voice = lock(images, previous=first)

    pinned = NAME.replace(f":{TAG}", f"@{OLD.digest}")
    assert (again, voice.warnings) == (
        first,
        [f"the locked image was not looked into, it stays `config-only`: no such image: {pinned}"],
    )


def test_an_index_that_gives_another_image_than_the_lock_holds_is_not_looked_into() -> None:
    index = build_index([OLD])
    images = FakeRegistries()
    images.push(index, NAME)
    first, _ = lock(images)
    forged = replace(first, section=replace(first.section, manifest_digest=NEW.digest))
    images.wanted_evidence = "streamed"

    again, voice = lock(images, previous=forged)

    assert (again, voice.warnings) == (
        forged,
        [
            (
                "the locked image was not looked into, it stays `config-only`: "
                f"{index.digest} holds {OLD.digest}, and the lock {NEW.digest}"
            )
        ],
    )


def test_another_reason_for_the_base_is_written_and_the_digest_stays() -> None:
    images = registries()
    base = NAME.replace(TAG, "base")
    images.push(OLD, base)
    request = replace(REQUEST, base=base, reason="our proxy")
    first, _ = lock(images, request=request)
    images.push(NEW, NAME, base)

    again, voice = lock(images, request=replace(request, reason="our proxy, and a tokenizer"), previous=first)

    requested = replace(first.section.requested, reason="our proxy, and a tokenizer")
    assert again == replace(first, section=replace(first.section, requested=requested), base_moves=None)
    assert [note.partition(":")[0] for note in voice.notes] == [f"`{NAME.partition(':')[0]}"]
