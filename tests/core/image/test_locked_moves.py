"""What two locks tell of their images by themselves."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from rdlc.core.image.locked_moves import HeldImage, LockedMoves, compare_locked, reading_command, stated_evidence
from rdlc.core.image.section import ImageRequest, lock_image
from rdlc.core.provenance import ImageOrigin
from tests.image_samples import ENVIRONMENT, make_inventory, resolve_pushed, small_image
from tests.registry.images import CREATED, Image, Index, build_index

NAME = "registry.example/team/ray:v3"
OLD, NEW = small_image(), small_image("other")


def held(
    pushed: Image | Index, components: Mapping[str, str] | None = None, evidence: str = "config-only"
) -> HeldImage:
    section = lock_image(
        ImageRequest(reference=NAME, platform="linux/amd64"), resolve_pushed(pushed, NAME), base_digest=""
    )
    origin = ImageOrigin(
        reference=NAME,
        tag_kind="other",
        created=CREATED,
        twin="",
        evidence=evidence,
        components=components or {},
        known_issues=(),
    )
    return HeldImage(section=section, origin=origin)


def moved(found: LockedMoves) -> list[tuple[str, str | None, str | None]]:
    return [(move.name, move.old, move.new) for move in found.moves.moves]


@pytest.mark.parametrize(
    ("new", "kind"),
    [
        (OLD, "same"),
        (build_index([OLD]), "index-only"),
        (small_image(created="2026-01-01T00:00:00Z"), "metadata-only"),
    ],
)
def test_digests_decide_whatever_provenance_says(new: Image | Index, kind: str) -> None:
    found = compare_locked(held(OLD, {"ray": "1"}, "streamed"), held(new, {"ray": "2"}, "streamed"))

    assert (found.moves.kind, found.moves.moves, found.basis, found.command) == (kind, (), "digests", "")


def test_layers_at_hand_give_every_list_and_the_hints_come_from_provenance() -> None:
    old, new = held(OLD, {"ray": "0", "nccl-tests": "1"}), held(NEW, {"nccl-tests": "2"})
    before, after = make_inventory({"ray": "2.58.0"}, pip={"ray": "2.58.0"}), make_inventory({"ray": "2.59.0"})

    found = compare_locked(old, new, before=before, after=after)

    assert (found.moves.kind, found.basis, found.command) == ("components-changed", "layers", "")
    assert moved(found) == [("nccl-tests", "1", "2"), ("ray", "2.58.0", "2.59.0"), ("ray", "2.58.0", None)]


def test_layers_of_one_image_alone_tell_components_and_no_package() -> None:
    before = make_inventory(
        {"ray": "2.58.0"}, pip={"ray": "2.58.0"}, rpm=[("glibc", "1")], nccl_conf="X=1", environment=ENVIRONMENT
    )

    found = compare_locked(held(OLD), held(NEW, {"ray": "2.58.0"}, "streamed"), before=before)

    assert (found.moves.kind, moved(found), found.basis) == ("not-known", [], "components")
    assert found.evidence == ("streamed", "streamed")


def test_a_component_that_only_one_config_mentions_is_not_called_added() -> None:
    found = compare_locked(held(OLD, {"cuda": "13.0", "ray": "1"}), held(NEW, {"cuda": "13.1", "efa-installer": "1"}))

    assert (found.moves.kind, moved(found), found.basis) == ("not-known", [("cuda", "13.0", "13.1")], "hints")


def test_the_environment_is_certain_in_any_lock() -> None:
    other = small_image("other", env={**ENVIRONMENT, "FI_PROVIDER": "tcp"})

    found = compare_locked(held(OLD, {"ray": "1"}), held(other, {"ray": "2"}, "streamed"))

    assert (found.moves.kind, moved(found)) == ("components-changed", [("FI_PROVIDER", "efa", "tcp")])
    assert (found.basis, found.evidence) == ("environment", ("config-only", "streamed"))


def test_a_package_database_that_was_not_read_leaves_the_kind_open() -> None:
    unread = replace(make_inventory({"ray": "1"}), is_os_read=False, notes=("its packages are not listed",))
    read = make_inventory({"ray": "1"}, rpm=[("glibc", "1")])

    found = compare_locked(held(OLD), held(NEW), before=unread, after=read)

    assert (found.moves.kind, moved(found), found.notes) == ("not-known", [], ("its packages are not listed",))


@pytest.mark.parametrize("word", ["", "proven", "STREAMED"])
def test_a_word_that_no_rdlc_writes_proves_nothing(word: str) -> None:
    assert stated_evidence(replace_origin(held(OLD), evidence=word).origin) == "config-only"
    assert stated_evidence(None) == "config-only"


def replace_origin(image: HeldImage, **values: str) -> HeldImage:
    assert image.origin is not None
    return replace(image, origin=replace(image.origin, **values))  # type: ignore[arg-type]  # texts


def test_the_command_names_tag_and_digest_and_another_platform() -> None:
    old, new = held(OLD), held(NEW)
    arm = [
        replace(image, section=replace(image.section, requested=ImageRequest(reference=NAME, platform="linux/arm64")))
        for image in (old, new)
    ]

    images = f"{NAME}@{OLD.digest} {NAME}@{NEW.digest}"
    assert reading_command(old, new) == f"rdlc image {images}"
    assert reading_command(*arm) == f"rdlc image --platform linux/arm64 {images}"
    assert reading_command(old, arm[1]) == ""


@pytest.mark.parametrize("reference", ["x; rm -rf /", "$(id)/x", "a b", "--help", ""])
def test_no_command_is_made_of_what_is_no_reference(reference: str) -> None:
    assert reading_command(held(OLD), replace_origin(held(NEW), reference=reference)) == ""
    assert reading_command(held(OLD), replace(held(NEW), origin=None)) == ""
