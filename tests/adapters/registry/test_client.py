"""Resolving and reading on a real registry; skopeo has to give the same digests."""

import hashlib
import json
import subprocess
import threading

import pytest

from rdlc.adapters.registry.answers import ImageNotFoundError
from rdlc.core.image.oci_platform import parse_platform
from rdlc.core.image.reference import ImageReference, parse_reference
from rdlc.errors import OutsideError, RdlcError
from tests.adapters.registry.conftest import Client
from tests.registry.images import (
    INDEX_TYPES,
    MANIFEST_TYPES,
    Flavour,
    Image,
    Index,
    build_artifact,
    build_image,
    build_index,
    make_layer,
)
from tests.registry.needs import need_programs
from tests.registry.push import delete_manifest, push

SOCI = "application/vnd.amazon.soci.index.v2+json"
NO_DIGEST = "sha256:" + "0" * 64


def small_image(text: str, *, flavour: Flavour = "oci", architecture: str = "amd64") -> Image:
    layers = [make_layer({"etc/text": text.encode()}, flavour=flavour), make_layer({"etc/end": b""}, flavour=flavour)]
    return build_image(layers, flavour=flavour, architecture=architecture, labels={"text": text})


def skopeo(*arguments: str) -> bytes:
    need_programs("skopeo")
    command = ("skopeo", "--override-os", "linux", "--override-arch", "amd64", *arguments)
    done = subprocess.run(command, capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


ATTESTATION = {
    "annotations": {"vnd.docker.reference.type": "attestation-manifest"},
    "platform": {"os": "unknown", "architecture": "unknown"},
}
ARM = small_image("arm", architecture="arm64")
FORMS: dict[str, Image | Index] = {
    "oci": small_image("one"),
    "docker": small_image("docker", flavour="docker"),
    "silent": build_image([make_layer({"a": b"1"})], states_media_type=False),
    "zstd": build_image([make_layer({"a": b"1"}, compression="zstd")]),
    "index": build_index([ARM, small_image("two")]),
    "list": build_index(
        [small_image("three", flavour="docker"), small_image("three", flavour="docker", architecture="arm64")],
        flavour="docker",
    ),
    "attested": build_index([small_image("four"), small_image("proof")], extras={1: ATTESTATION}),
    "soci": build_index(
        [small_image("five"), build_artifact([], artifact_type=SOCI)], extras={1: {"artifactType": SOCI}}
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_image_has_the_digests_that_skopeo_sees(form: str, plain: str, client: Client) -> None:
    pushed = FORMS[form]
    push(plain, "forms/ray", pushed, form)
    name = f"{plain}/forms/ray:{form}"

    image = client.registry.resolve(parse_reference(name))

    raw = skopeo("inspect", "--tls-verify=false", "--raw", f"docker://{name}")
    seen = json.loads(skopeo("inspect", "--tls-verify=false", f"docker://{name}"))
    config = skopeo("inspect", "--tls-verify=false", "--config", "--raw", f"docker://{name}")
    assert image.digest == pushed.digest == "sha256:" + hashlib.sha256(raw).hexdigest() == seen["Digest"]
    assert [layer.digest for layer in image.layers] == seen["Layers"]
    assert image.config_digest == "sha256:" + hashlib.sha256(config).hexdigest()
    assert image.diff_ids == tuple(json.loads(config)["rootfs"]["diff_ids"])
    assert (image.index_digest is not None) == isinstance(pushed, Index)
    assert client.warnings == []


def test_digests_and_media_types_of_index_and_manifest_are_both_told(plain: str, client: Client) -> None:
    wanted = small_image("two")
    index = build_index([ARM, wanted])
    push(plain, "both/ray", index, "v1")

    image = client.registry.resolve(parse_reference(f"{plain}/both/ray:v1"))
    arm = client.registry.resolve(parse_reference(f"{plain}/both/ray:v1"), platform=parse_platform("linux/arm64"))

    assert (image.index_digest, image.index_media_type) == (index.digest, INDEX_TYPES["oci"])
    assert (image.manifest_digest, image.manifest_media_type) == (wanted.digest, MANIFEST_TYPES["oci"])
    assert (arm.index_digest, arm.manifest_digest) == (index.digest, ARM.digest)
    assert str(arm.platform) == "linux/arm64"


def test_indexes_in_indexes_are_followed_and_the_outermost_is_the_one_to_pin(plain: str, client: Client) -> None:
    wanted = small_image("deep")
    index = build_index([build_index([ARM]), build_index([build_index([wanted])])])
    push(plain, "nested/ray", index, "v1")

    image = client.registry.resolve(parse_reference(f"{plain}/nested/ray:v1"))

    assert (image.index_digest, image.manifest_digest) == (index.digest, wanted.digest)


def test_indexes_that_nest_too_deep_are_refused(plain: str, client: Client) -> None:
    index = build_index([small_image("deep")])
    for _ in range(5):
        index = build_index([index])
    push(plain, "nested/ray", index, "deep")

    with pytest.raises(OutsideError, match=r"nests too many indexes$"):
        client.registry.resolve(parse_reference(f"{plain}/nested/ray:deep"))


def test_an_image_without_platform_in_its_index_is_told_by_its_config(plain: str, client: Client) -> None:
    wanted = small_image("unstated")
    unstated: dict[str, object] = {"platform": None}
    push(plain, "unstated/ray", build_index([ARM, wanted], extras={0: unstated, 1: unstated}), "v1")

    image = client.registry.resolve(parse_reference(f"{plain}/unstated/ray:v1"))

    assert image.manifest_digest == wanted.digest


def test_an_index_that_contradicts_the_config_is_refused(plain: str, client: Client) -> None:
    stated = {"platform": {"os": "linux", "architecture": "amd64"}}
    push(plain, "lie/ray", build_index([ARM], extras={0: stated}), "v1")

    with pytest.raises(OutsideError) as caught:
        client.registry.resolve(parse_reference(f"{plain}/lie/ray:v1"))

    assert caught.value.message == (
        f"the index says that `{ARM.digest}` is for `linux/amd64`, its config says `linux/arm64`"
    )


@pytest.mark.parametrize(
    ("pushed", "message"),
    [
        (build_index([ARM]), "the image `{}` has no image for `linux/amd64`, it has `linux/arm64`"),
        (ARM, "the image `{}` is for `linux/arm64`, not for `linux/amd64`"),
        (build_artifact([], artifact_type=SOCI), f"the image `{{}}` is no image but `{SOCI}`"),
        (
            build_index([small_image("a"), small_image("b")]),
            "the image `{}` has 2 images for `linux/amd64`: " + f"{small_image('a').digest}, {small_image('b').digest}",
        ),
    ],
    ids=["none in the index", "other platform", "no image", "two"],
)
def test_no_or_several_images_for_the_platform_are_refused_with_the_list(
    pushed: Image | Index, message: str, plain: str, client: Client
) -> None:
    push(plain, "choice/ray", pushed, "v1")

    with pytest.raises(RdlcError) as caught:
        client.registry.resolve(parse_reference(f"{plain}/choice/ray:v1"))

    assert (caught.value.message, caught.value.exit_code) == (message.format(f"{plain}/choice/ray:v1"), 1)


def test_a_rebuild_moves_the_minor_tag_and_leaves_the_fixed_one(plain: str, client: Client) -> None:
    repository = f"{plain}/deep-learning-containers/ray"
    built = push(plain, "deep-learning-containers/ray", small_image("first"), "a-v1.1", "a-v1.1.0")
    rebuilt = push(plain, "deep-learning-containers/ray", small_image("second"), "a-v1.1")

    minor = client.registry.resolve(parse_reference(f"{repository}:a-v1.1"))
    fixed = client.registry.resolve(parse_reference(f"{repository}:a-v1.1.0"))
    both = client.registry.resolve(parse_reference(f"{repository}:a-v1.1@{built}"))
    same = client.registry.resolve(parse_reference(f"{repository}:a-v1.1.0@{built}"))
    gone = client.registry.resolve(parse_reference(f"{repository}:a-v9@{built}"))

    assert (minor.digest, minor.kind) == (rebuilt, "moving-minor")
    assert (fixed.digest, fixed.kind) == (built, "fixed")
    assert (both.digest, both.tag_digest, both.has_tag_moved) == (built, rebuilt, True)
    assert (same.digest, same.tag_digest, same.has_tag_moved) == (built, built, False)
    assert (gone.digest, gone.tag_digest, gone.has_tag_moved) == (built, None, True)


def test_a_digest_that_was_deleted_is_not_found_and_no_tag_takes_its_place(plain: str, client: Client) -> None:
    built = push(plain, "gone/ray", small_image("first"), "v1")
    push(plain, "gone/ray", small_image("second"), "v1")
    delete_manifest(plain, "gone/ray", built)
    name = f"{plain}/gone/ray:v1@{built}"

    with pytest.raises(ImageNotFoundError) as caught:
        client.registry.resolve(parse_reference(name))

    assert (caught.value.message, caught.value.exit_code) == (
        f'`{plain}` has no image `{name}`: "manifest unknown"',
        1,
    )


@pytest.mark.parametrize("name", ["gone/ray:nothing", "never/pushed:v1", f"gone/ray@{NO_DIGEST}"])
def test_a_tag_repository_or_digest_that_is_not_there_is_not_found(name: str, plain: str, client: Client) -> None:
    with pytest.raises(ImageNotFoundError):
        client.registry.resolve(parse_reference(f"{plain}/{name}"))


def test_every_missing_digest_is_listed_and_not_only_the_first(plain: str, client: Client) -> None:
    image = small_image("kept")
    built = push(plain, "missing/ray", image, "v1")
    blobs = [blob.digest for blob in image.blobs]
    others = ["sha256:" + digit * 64 for digit in "123"]

    missing = client.registry.find_missing(
        parse_reference(f"{plain}/missing/ray:v1"),
        manifests=[others[0], built, others[1]],
        blobs=[blobs[0], others[2], *blobs[1:]],
    )

    assert missing == tuple(others)


def test_tags_are_listed_in_order(plain: str, client: Client) -> None:
    push(plain, "tags/ray", small_image("a"), "v1.1", "v1", "v1.10")

    assert client.registry.list_tags(parse_reference(f"{plain}/tags/ray")) == ("v1", "v1.1", "v1.10")


def test_a_blob_is_streamed_and_read_in_pieces(plain: str, client: Client) -> None:
    layer = make_layer({"data": bytes(range(256)) * 8000}, compression="none").blob
    push(plain, "blobs/ray", build_image([make_layer({"data": bytes(range(256)) * 8000}, compression="none")]), "v1")
    reference = parse_reference(f"{plain}/blobs/ray")

    with client.registry.open_blob(reference, digest=layer.digest, size=len(layer.data)) as stream:
        start = stream.read(1000)
        rest = b"".join(stream)
    piece = client.registry.read_range(reference, digest=layer.digest, start=5000, length=700)
    end = client.registry.read_range(reference, digest=layer.digest, start=len(layer.data) - 10, length=700)

    assert start + rest == layer.data
    assert (piece.data, piece.is_honoured) == (layer.data[5000:5700], True)
    assert (end.data, end.is_honoured) == (layer.data[-10:], True)
    with pytest.raises(OutsideError, match=f"has no bytes from {len(layer.data)} on$"):
        client.registry.read_range(reference, digest=layer.digest, start=len(layer.data), length=1)


def test_one_client_serves_many_threads(plain: str, client: Client) -> None:
    references: list[ImageReference] = []
    for number in range(8):
        push(plain, f"threads/ray{number}", small_image(str(number)), "v1")
        references.append(parse_reference(f"{plain}/threads/ray{number}:v1"))
    found: dict[int, set[str]] = {number: set() for number in range(8)}

    def resolve(number: int) -> None:
        for _ in range(5):
            found[number].add(client.registry.resolve(references[number]).digest)

    threads = [threading.Thread(target=resolve, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert found == {number: {small_image(str(number)).digest} for number in range(8)}
