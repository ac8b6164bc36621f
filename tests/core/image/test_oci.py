"""A resolved image, and which entry of an index it is."""

import pytest

from rdlc.core.image.oci import Located, describe_image, refuse_choice, select_entries
from rdlc.core.image.oci_config import parse_config
from rdlc.core.image.oci_manifest import Index, Manifest, parse_manifest
from rdlc.core.image.oci_platform import LINUX_AMD64, parse_platform
from rdlc.core.image.reference import parse_reference
from rdlc.errors import InputError, OutsideError
from tests.core.oci_samples import CONFIG, IMAGE
from tests.registry.images import (
    CREATED,
    INDEX_TYPES,
    MANIFEST_TYPES,
    Image,
    build_artifact,
    build_image,
    build_index,
    make_layer,
)

DIGEST = "sha256:" + "0" * 64


def manifest_of(image: Image) -> Manifest:
    parsed = parse_manifest(image.manifest.data, media_type="", what="manifest")
    assert isinstance(parsed, Manifest)
    return parsed


def test_an_image_is_described_with_everything_that_a_lock_holds() -> None:
    requested = parse_reference("r.example/deep-learning-containers/ray:train-ml-cuda-v1.1")
    manifest = manifest_of(IMAGE)
    config = parse_config(CONFIG.data, what="config")
    located = Located(manifest=manifest, digest=IMAGE.digest, index_digest=DIGEST, index_media_type=INDEX_TYPES["oci"])

    image = describe_image(requested, located, config, tag_digest=None)

    assert (image.requested, image.kind, image.repository) == (
        requested,
        "moving-minor",
        "deep-learning-containers/ray",
    )
    assert (image.index_digest, image.index_media_type) == (DIGEST, INDEX_TYPES["oci"])
    assert (image.manifest_digest, image.manifest_media_type) == (IMAGE.digest, MANIFEST_TYPES["oci"])
    assert (image.platform, image.config_digest, image.layers) == (LINUX_AMD64, CONFIG.digest, manifest.layers)
    assert image.diff_ids == (make_layer({"etc/one": b"1"}).diff_id, make_layer({"etc/two": b"2"}).diff_id)
    assert (image.env, image.labels) == ({"EMPTY": "", "FI_PROVIDER": "efa"}, {"framework": "ray"})
    assert (image.entrypoint, image.command) == (("/entry",), ("bash",))
    assert (image.user, image.working_folder, image.created) == ("1000", "/workspace", CREATED)
    assert image.history == ("RUN one", "RUN two")
    assert str(image.pinned) == f"r.example/deep-learning-containers/ray@{DIGEST}"
    assert not image.has_tag_moved


def test_a_manifest_and_a_config_with_other_layer_counts_do_not_belong_together() -> None:
    config = parse_config(build_image([]).blobs[0].data, what="config")
    located = Located(manifest=manifest_of(IMAGE), digest=IMAGE.digest, index_digest=None, index_media_type=None)

    with pytest.raises(OutsideError) as caught:
        describe_image(parse_reference("ray"), located, config, tag_digest=None)

    assert caught.value.message == f"the manifest {IMAGE.digest} has 2 layers, its config 0 diff_ids"


def entries_for(platform: str, index: bytes) -> tuple[str, ...]:
    parsed = parse_manifest(index, media_type="", what="index")
    assert isinstance(parsed, Index)
    return tuple(entry.digest for entry in select_entries(parsed, parse_platform(platform)))


def test_attestations_artefacts_and_other_platforms_are_not_selected() -> None:
    others = [build_image([], architecture="arm64"), build_image([], os="windows"), IMAGE, IMAGE]
    soci = build_artifact([], artifact_type="application/vnd.amazon.soci.index.v2+json")
    unknown = {"os": "unknown", "architecture": "unknown"}
    index = build_index(
        [IMAGE, *others, soci],
        extras={
            3: {"annotations": {"vnd.docker.reference.type": "attestation-manifest"}},
            4: {"platform": unknown},
            5: {"artifactType": "application/vnd.amazon.soci.index.v2+json"},
        },
    )

    assert entries_for("linux/amd64", index.manifest.data) == (IMAGE.digest,)


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("linux/arm64", ["", "v8"]),
        ("linux/arm64/v8", ["", "v8"]),
        ("linux/arm64/v9", ["v9"]),
        ("linux/amd64", []),
        ("linux/arm", ["v6", "v7"]),
        ("linux/arm/v7", ["v7"]),
    ],
)
def test_an_absent_variant_means_the_usual_one_where_there_is_one(wanted: str, found: list[str]) -> None:
    variants = [("arm64", ""), ("arm64", "v8"), ("arm64", "v9"), ("arm", "v6"), ("arm", "v7")]
    images = [
        build_image([], architecture=name, variant=variant, labels={"variant": variant}) for name, variant in variants
    ]
    index = build_index(images)

    name = parse_platform(wanted).architecture
    by_variant = {variant: image for (kind, variant), image in zip(variants, images, strict=True) if kind == name}
    assert entries_for(wanted, index.manifest.data) == tuple(by_variant[variant].digest for variant in found)


def test_a_choice_that_cannot_be_made_is_refused_with_the_list() -> None:
    index = parse_manifest(
        build_index([build_image([], architecture="arm64"), build_image([], os="windows"), IMAGE]).manifest.data,
        media_type="",
        what="index",
    )
    assert isinstance(index, Index)
    none = refuse_choice("image `x`", platform=parse_platform("linux/s390x"), fitting=[], offered=index.entries)
    two = refuse_choice("image `x`", platform=LINUX_AMD64, fitting=["sha256:1", "sha256:2"], offered=index.entries)
    empty = refuse_choice("image `x`", platform=LINUX_AMD64, fitting=[], offered=[])

    listed = "`linux/amd64`, `linux/arm64`, `windows/amd64`"
    assert none.message == f"the image `x` has no image for `linux/s390x`, it has {listed}"
    assert two.message == "the image `x` has 2 images for `linux/amd64`: sha256:1, sha256:2"
    assert empty.message == "the image `x` has no image for `linux/amd64`, it has no image at all"
    assert (none.exit_code, two.exit_code) == (1, 1)


@pytest.mark.parametrize("text", ["", "linux", "linux/", "/amd64", "linux/amd64/v1/x", "Linux/amd64", "linux/amd64\n"])
def test_what_is_no_platform_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"is not of the form `linux/amd64` or `linux/arm64/v8`$"):
        parse_platform(text)
