"""Manifests and indexes: read into types, or refused with the member that is wrong."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdlc.core.image.oci_manifest import Descriptor, Index, Manifest, parse_manifest
from rdlc.core.image.oci_platform import LINUX_AMD64, Platform
from rdlc.errors import OutsideError, RdlcError
from tests.core.oci_samples import IMAGE, JSON, with_member
from tests.registry.images import (
    INDEX_TYPES,
    MANIFEST_TYPES,
    Flavour,
    Image,
    build_image,
    build_index,
    make_layer,
)


@pytest.mark.parametrize("flavour", ["oci", "docker"])
@pytest.mark.parametrize("states_media_type", [True, False])
def test_a_manifest_is_read_with_its_layers_in_order(flavour: Flavour, states_media_type: bool) -> None:
    layers = [make_layer({f"etc/{name}": name.encode()}, flavour=flavour) for name in ("one", "two")]
    image = build_image(layers, flavour=flavour, states_media_type=states_media_type)

    parsed = parse_manifest(image.manifest.data, media_type=image.manifest.media_type, what="manifest")

    def descriptor(position: int) -> Descriptor:
        blob = image.blobs[position]
        return Descriptor(media_type=blob.media_type, digest=blob.digest, size=len(blob.data), annotations={})

    assert parsed == Manifest(
        media_type=MANIFEST_TYPES[flavour],
        artifact_type="",
        config=descriptor(0),
        layers=(descriptor(1), descriptor(2)),
        annotations={},
    )
    assert parsed.is_image


def test_an_index_is_read_with_platforms_and_annotations() -> None:
    arm = build_image([], architecture="arm64", variant="v8")
    index = build_index([IMAGE, arm], extras={1: {"annotations": {"b": "2", "a": "1"}}})

    parsed = parse_manifest(index.manifest.data, media_type="text/plain", what="index")

    def descriptor(image: Image, platform: Platform) -> Descriptor:
        return Descriptor(
            media_type=MANIFEST_TYPES["oci"],
            digest=image.digest,
            size=len(image.manifest.data),
            annotations={},
            platform=platform,
        )

    arm_entry = descriptor(arm, Platform(os="linux", architecture="arm64", variant="v8"))
    assert parsed == Index(
        media_type=INDEX_TYPES["oci"],
        entries=(descriptor(IMAGE, LINUX_AMD64), replace(arm_entry, annotations={"a": "1", "b": "2"})),
        annotations={},
    )


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("schemaVersion",), 3, "`schemaVersion` of the manifest is not 2"),
        (("layers",), {}, "`layers` of the manifest is not a list"),
        (("layers", 0), 1, "`layers[0]` of the manifest is not an object"),
        (("layers",), [{}] * 1001, "`layers` of the manifest has 1001 entries, more than 1000"),
        (("layers", 1, "digest"), "sha256:1", "`layers[1].digest` of the manifest is no digest: `sha256:1`"),
        (("layers", 1, "digest"), None, "`layers[1].digest` of the manifest is missing"),
        (("layers", 1, "digest"), 7, "`layers[1].digest` of the manifest is not a text"),
        (
            ("layers", 1, "size"),
            -1,
            "`layers[1].size` of the manifest is not a whole number from 0 to 9007199254740992",
        ),
        (
            ("layers", 1, "size"),
            True,
            "`layers[1].size` of the manifest is not a whole number from 0 to 9007199254740992",
        ),
        (
            ("layers", 1, "size"),
            1.5,
            "`layers[1].size` of the manifest is not a whole number from 0 to 9007199254740992",
        ),
        (("layers", 0, "mediaType"), "a\nb", "`layers[0].mediaType` of the manifest is no media type: `a\\nb`"),
        (("config",), None, "`config` of the manifest is missing"),
        (("manifests",), [], "the manifest is both an image and an index"),
        (
            ("mediaType",),
            INDEX_TYPES["oci"],
            f"`mediaType` of the manifest does not fit its content: `{INDEX_TYPES['oci']}`",
        ),
        (("annotations",), {"a": 1}, "`annotations.a` of the manifest is not a text"),
    ],
)
def test_a_broken_manifest_is_refused_with_the_member_that_is_wrong(
    path: tuple[str | int, ...], value: object, message: str
) -> None:
    data = with_member(IMAGE.manifest.data, path, value)

    with pytest.raises(OutsideError) as caught:
        parse_manifest(data, media_type="", what="manifest")

    assert caught.value.message == message


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"<!DOCTYPE html><title>Log in", "the manifest is not JSON, it starts with `<!DOCTYPE html><title>Log in`"),
        (b"\x1f\x8b\x08", "the manifest is not JSON, it starts with `\\x1f\ufffd\\x08`"),
        (b"[" * 100_000, "the manifest is not JSON, it starts with `" + "[" * 60 + "`"),
        (b'{"a": "\\ud800"}', 'the manifest is not JSON, it starts with `{"a": "\\ud800"}`'),
        (b'{"a": ' + b"1" * 5000 + b"}", 'the manifest is not JSON, it starts with `{"a": ' + "1" * 54 + "`"),
        (b"[]", "the manifest is not an object"),
        (b'{"schemaVersion": 2}', "the manifest is neither an image nor an index"),
        (b" " * ((4 << 20) + 1), "the manifest is larger than 4 MiB"),
    ],
)
def test_bytes_that_are_no_manifest_are_refused(data: bytes, message: str) -> None:
    with pytest.raises(OutsideError) as caught:
        parse_manifest(data, media_type="", what="manifest")

    assert caught.value.message == message


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (b'{"schemaVersion": 1, "fsLayers": []}', ""),
        (b"{}", "application/vnd.docker.distribution.manifest.v1+prettyjws"),
    ],
)
def test_schema_1_is_refused_as_it_does_not_pin_what_would_run(data: bytes, media_type: str) -> None:
    with pytest.raises(RdlcError) as caught:
        parse_manifest(data, media_type=media_type, what="manifest")

    assert caught.value.exit_code == 1
    assert caught.value.message == "the manifest has the old format `schema 1`, which does not pin what would run"


@settings(deadline=None)
@given(
    JSON,
    st.sampled_from(["schemaVersion", "mediaType", "config", "layers", "annotations", "manifests", "artifactType"]),
)
def test_any_json_in_a_manifest_gives_a_manifest_or_one_of_our_errors(value: object, key: str) -> None:
    data = with_member(IMAGE.manifest.data, (key,), value)

    try:
        parsed = parse_manifest(data, media_type="", what="manifest")
    except RdlcError:
        return

    assert isinstance(parsed, Manifest)
