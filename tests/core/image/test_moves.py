"""What moved between two images, and the kind of rebuild."""

from dataclasses import replace

import pytest

from rdlc.core.contents.inventory import Distribution, Inventory, OsPackage
from rdlc.core.image.moves import KIND_WORDS, Move, compare_images
from tests.image_samples import DLC, SITE, TAG, make_inventory, resolve_pushed, small_image
from tests.registry.images import Image, Index, build_index

NAME = f"{DLC}:{TAG}"
OLD = small_image()
NEW = small_image("other")
BEFORE = make_inventory({"nccl": "2.29.7", "ray": "2.58.0"}, pip={"ray": "2.58.0"}, rpm=[("glibc", "2.34-1")])


def kind(old: Image | Index, new: Image | Index, before: Inventory, after: Inventory) -> str:
    return compare_images(resolve_pushed(old, NAME), resolve_pushed(new, NAME), before, after).kind


def moves(before: Inventory, after: Inventory) -> tuple[Move, ...]:
    old, new = resolve_pushed(OLD, NAME), resolve_pushed(NEW, NAME)
    return compare_images(old, new, before, after).moves


def test_the_same_digest_is_the_same_image() -> None:
    assert kind(OLD, OLD, BEFORE, BEFORE) == "same"


def test_two_images_of_one_index_are_not_the_same() -> None:
    index = build_index([OLD, NEW])
    one, other = resolve_pushed(index, NAME), resolve_pushed(index, NAME)
    other = replace(other, manifest_digest=NEW.digest, content_id="sha256:" + "c" * 64)

    assert compare_images(one, other, BEFORE, BEFORE).kind == "same-components"


def test_the_same_manifest_in_another_index_is_index_only() -> None:
    assert kind(build_index([OLD]), build_index([OLD, NEW]), BEFORE, BEFORE) == "index-only"
    assert kind(OLD, build_index([OLD]), BEFORE, BEFORE) == "index-only"


def test_another_date_is_metadata_only_also_where_no_layer_was_read() -> None:
    later = small_image(created="2026-09-08T08:14:00Z")
    config_only = make_inventory(evidence="config-only")

    assert later.digest != OLD.digest
    assert kind(OLD, later, config_only, config_only) == "metadata-only"


def test_other_layers_with_the_same_versions_are_same_components() -> None:
    assert kind(OLD, NEW, BEFORE, BEFORE) == "same-components"


@pytest.mark.parametrize("side", [0, 1])
def test_without_the_layers_of_both_the_kind_is_not_known(side: int) -> None:
    known = [BEFORE, BEFORE]
    known[side] = replace(BEFORE, evidence="config-only")

    assert kind(OLD, NEW, known[0], known[1]) == "not-known"


def test_another_environment_is_certain_without_any_layer() -> None:
    before, after = (
        make_inventory(evidence="config-only", environment={"FI_PROVIDER": value}) for value in ("efa", "tcp")
    )

    assert kind(OLD, NEW, before, after) == "components-changed"


def test_a_package_database_that_was_not_read_is_not_compared() -> None:
    unread = replace(BEFORE, os_packages=(), is_os_read=False)

    assert (kind(OLD, NEW, BEFORE, unread), moves(BEFORE, unread)) == ("not-known", ())


def test_a_package_of_the_system_alone_makes_it_os_packages() -> None:
    after = make_inventory({"nccl": "2.29.7", "ray": "2.58.0"}, pip={"ray": "2.58.0"}, rpm=[("glibc", "2.34-2")])

    assert kind(OLD, NEW, BEFORE, after) == "os-packages"


def test_the_release_of_the_system_moves_with_its_packages() -> None:
    before = make_inventory({"os": "Amazon Linux 2023.8"}, rpm=[("system-release", "2023.8")])
    after = make_inventory({"os": "Amazon Linux 2023.9"}, rpm=[("system-release", "2023.9")])

    assert kind(OLD, NEW, before, after) == "os-packages"


@pytest.mark.parametrize(
    "after",
    [
        replace(BEFORE, components=make_inventory({"nccl": "2.29.8", "ray": "2.58.0"}).components),
        replace(BEFORE, distributions=()),
        replace(BEFORE, nccl_conf="NCCL_ALGO=Ring\n"),
        replace(BEFORE, environment={"FI_PROVIDER": "tcp"}),
    ],
    ids=["component", "pip", "nccl.conf", "environment"],
)
def test_whatever_else_moved_makes_it_components_changed(after: Inventory) -> None:
    assert kind(OLD, NEW, BEFORE, after) == "components-changed"


def test_every_kind_has_its_words() -> None:
    kinds = {"same", "index-only", "metadata-only", "same-components", "os-packages", "components-changed", "not-known"}

    assert set(KIND_WORDS) == kinds


def test_moves_come_by_group_and_say_both_versions_and_the_risk() -> None:
    before = make_inventory(
        {"cuda": "13.0.2", "nccl": "2.29.7", "ray": "2.58.0", "openmpi": "5.0.8"},
        pip={"requests": "2.34.1", "left-over": "1.0"},
        rpm=[("openssl-libs", "1:3.2.2-1")],
        nccl_conf="NCCL_DEBUG=INFO\n",
        environment={"FI_PROVIDER": "efa", "SAME": "1"},
    )
    after = make_inventory(
        {"cuda": "13.0.3", "nccl": "2.30.0", "ray": "2.58.0", "torch": "2.13.0"},
        pip={"requests": "2.34.2"},
        rpm=[("openssl-libs", "1:3.2.4-1")],
        environment={"FI_PROVIDER": "tcp", "SAME": "1"},
    )

    assert [(m.group, m.name, m.place, m.old, m.new) for m in moves(before, after)] == [
        ("transport stack", "nccl", "component", "2.29.7", "2.30.0"),
        ("transport stack", "openmpi", "component", "5.0.8", None),
        ("CUDA", "cuda", "component", "13.0.2", "13.0.3"),
        ("framework", "torch", "component", None, "2.13.0"),
        ("Python packages", "left-over", SITE, "1.0", None),
        ("Python packages", "requests", SITE, "2.34.1", "2.34.2"),
        ("OS packages", "openssl-libs", "rpm x86_64", "1:3.2.2-1", "1:3.2.4-1"),
        ("files and environment", "/etc/nccl.conf", "file", "NCCL_DEBUG=INFO\n", None),
        ("files and environment", "FI_PROVIDER", "environment", "efa", "tcp"),
    ]


def test_a_risk_is_told_for_what_can_change_transport_speed_or_bits() -> None:
    names = ("nccl", "efa-installer", "libfabric", "aws-ofi-nccl", "cuda-compat", "torch", "ray", "cudnn", "openmpi")
    before, after = (make_inventory(dict.fromkeys(names, version), pip={"torch": version}) for version in ("1", "2"))
    old, new = resolve_pushed(OLD, NAME), resolve_pushed(NEW, NAME)

    found = compare_images(old, new, before, after)

    assert {(move.group, move.name) for move in found.moves} - {(move.group, move.name) for move in found.risks} == {
        ("CUDA", "cudnn"),
        ("transport stack", "openmpi"),
        ("Python packages", "torch"),
    }


def test_the_copy_that_is_found_first_stands_for_a_component() -> None:
    first, second = make_inventory({"ray": "2.58.0"}), make_inventory({"ray": "2.40.0"})
    before = replace(first, components=(*first.components, *second.components))

    assert moves(before, first) == ()


def test_one_package_in_two_places_or_builds_is_told_apart() -> None:
    def in_venv(site: str, version: str) -> Distribution:
        return Distribution(name="pip", version=version, path=f"{site}/pip-{version}.dist-info", evidence="streamed")

    def kernel(version: str, architecture: str = "x86_64") -> OsPackage:
        return OsPackage(kind="rpm", name="kernel", version=version, architecture=architecture)

    base = "/usr/lib/python3/site-packages"
    before = replace(
        make_inventory(),
        distributions=(in_venv(SITE, "1"), in_venv(base, "1")),
        os_packages=(kernel("6.1"), kernel("6.2"), kernel("6.1", "i686")),
    )
    after = replace(
        make_inventory(),
        distributions=(in_venv(SITE, "1"), in_venv(base, "2")),
        os_packages=(kernel("6.1"), kernel("6.3"), kernel("6.1", "i686")),
    )

    assert [(m.name, m.place, m.old, m.new) for m in moves(before, after)] == [
        ("pip", base, "1", "2"),
        ("kernel", "rpm x86_64", "6.1, 6.2", "6.1, 6.3"),
    ]


def test_nothing_moves_between_an_image_and_itself() -> None:
    image = resolve_pushed(OLD, NAME)

    found = compare_images(image, image, BEFORE, BEFORE)

    assert (found.kind, found.moves, found.risks) == ("same", (), ())
