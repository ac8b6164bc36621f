"""The image of a run spec, and the `image` section of a lock."""

from dataclasses import replace

import pytest

from rdlc.core.canonical import digest
from rdlc.core.document import parse_document
from rdlc.core.fields import Fields
from rdlc.core.image.section import (
    ImageRequest,
    ImageSection,
    LockedLayer,
    lock_image,
    read_image_request,
)
from rdlc.core.lockfile import read_lock, write_lock
from rdlc.errors import InputError
from tests.image_samples import DLC, LOWER, TAG, UPPER, image_lock, resolve_pushed, small_image
from tests.registry.images import INDEX_TYPES, LAYER_TYPES, MANIFEST_TYPES, build_index

REQUEST = ImageRequest(reference=f"{DLC}:{TAG}", platform="linux/amd64")
IMAGE = small_image()
LAYER_TYPE = LAYER_TYPES["oci", "none"]
DATA = write_lock(image_lock())


def request_of(text: str) -> ImageRequest:
    return read_image_request(Fields.of(parse_document(text.encode(), name="run.yaml")))


def test_the_section_holds_all_that_a_reference_resolved_to() -> None:
    index = build_index([IMAGE])
    resolved = resolve_pushed(index, REQUEST.reference)

    assert lock_image(REQUEST, resolved, base_digest="") == ImageSection(
        requested=ImageRequest(reference=f"deep-learning-containers/ray:{TAG}", platform="linux/amd64"),
        repository="deep-learning-containers/ray",
        index_digest=index.digest,
        index_media_type=INDEX_TYPES["oci"],
        manifest_digest=IMAGE.digest,
        manifest_media_type=MANIFEST_TYPES["oci"],
        config_digest=IMAGE.blobs[0].digest,
        content_id=resolved.content_id,
        layers=(
            LockedLayer(digest=LOWER.blob.digest, size=10240, media_type=LAYER_TYPE, diff_id=LOWER.diff_id),
            LockedLayer(digest=UPPER.blob.digest, size=10240, media_type=LAYER_TYPE, diff_id=UPPER.diff_id),
        ),
        env={"EMPTY": "", "FI_PROVIDER": "efa"},
        labels={"framework": "ray"},
        entrypoint=("/entry", ""),
        command=("bash",),
        user="1000",
        working_folder="/workspace",
        base_digest="",
    )


def test_the_digest_of_a_section_is_that_of_the_index_if_there_is_one() -> None:
    index = build_index([IMAGE])

    with_index = lock_image(REQUEST, resolve_pushed(index, REQUEST.reference), base_digest="")
    without = lock_image(REQUEST, resolve_pushed(IMAGE, REQUEST.reference), base_digest="")

    assert (with_index.digest, without.digest) == (index.digest, IMAGE.digest)
    assert (without.index_digest, without.index_media_type) == ("", "")


@pytest.mark.parametrize(
    "host",
    ["763104351884.dkr.ecr.us-west-2.amazonaws.com/ray", "mirror.example/aws/deep-learning-containers/ray"],
)
def test_every_name_of_one_deep_learning_container_gives_the_same_section(host: str) -> None:
    other = replace(REQUEST, reference=f"{host}:{TAG}")

    sections = [
        lock_image(request, resolve_pushed(IMAGE, request.reference), base_digest="") for request in (REQUEST, other)
    ]

    assert digest(sections[0].payload()) == digest(sections[1].payload())


def test_a_request_of_a_spec_is_read_with_its_references_in_full() -> None:
    assert request_of("reference: ray\n") == ImageRequest(reference="docker.io/library/ray", platform="linux/amd64")
    assert request_of(
        f"reference: r.example/x:1\nplatform: linux/arm64/v8\nbase: {DLC}\nreason: ours\n"
    ) == ImageRequest(reference="r.example/x:1", platform="linux/arm64/v8", base=DLC, reason="ours")


@pytest.mark.parametrize(
    ("text", "message", "place", "field"),
    [
        ("platform: linux/amd64\n", "is missing", "run.yaml:1", "reference"),
        ("reference: 7\n", "must be a text, not the number 7", "run.yaml:1", "reference"),
        (
            "reference: a\nbase: B\nreason: x\n",
            "the image reference `B` has capital letters in the repository",
            "run.yaml:2",
            "base",
        ),
        (
            "reference: a\nplatform: windows\n",
            "the platform `windows` is not of the form `linux/amd64` or `linux/arm64/v8`",
            "run.yaml:2",
            "platform",
        ),
        ("reference: a\nbase: b\n", "is missing", "run.yaml:1", "reason"),
        ("reference: a\nreason: b\n", "this key is not known here", "run.yaml:2", "reason"),
        ("reference: a\ndigest: b\n", "this key is not known here", "run.yaml:2", "digest"),
    ],
)
def test_a_wrong_request_is_refused_with_its_field(text: str, message: str, place: str, field: str) -> None:
    with pytest.raises(InputError) as caught:
        request_of(text)

    assert (caught.value.message, caught.value.file, caught.value.field) == (message, place, field)


def test_an_image_lock_with_every_field_reads_back_as_it_was_written() -> None:
    read = read_lock(DATA, name="x")

    assert (read.lock, read.findings) == (image_lock(), ())


def test_layers_are_read_in_their_order_whatever_their_number() -> None:
    section = image_lock().sections.image
    assert section is not None
    layers = tuple(replace(section.layers[0], size=size) for size in range(1100))
    lock = replace(image_lock(), sections=replace(image_lock().sections, image=replace(section, layers=layers)))

    read = read_lock(write_lock(lock), name="x")

    assert (read.lock, read.findings) == (lock, ())


@pytest.mark.parametrize(
    ("old", "new", "message", "field"),
    [
        ('    user: "1000"', "    user: 1000", "must be a text, not the number 1000", "image.resolved.user"),
        (
            '    entrypoint: ["/entry", ""]',
            '    entrypoint: ["/entry", 1]',
            "must be a text, not the number 1",
            "image.resolved.entrypoint[1]",
        ),
        ("        size: 10240", "        size: -1", "must be at least 0, not -1", "image.resolved.layers.000.size"),
        (
            '    base_digest: "sha256:b',
            '    base_digest: "sha512:b',
            f'must be `sha256:` and 64 hex digits, not the text "sha512:{"b" * 50}..."',
            "image.resolved.base_digest",
        ),
        ('    repository: "team/ray"', '    repository: ""', "must be a text, not an empty text",
         "image.resolved.repository"),
    ],
)  # fmt: skip
def test_a_wrong_value_in_a_lock_is_refused_with_its_address(old: str, new: str, message: str, field: str) -> None:
    data = DATA.replace(old.encode(), new.encode(), 1)
    assert data != DATA

    with pytest.raises(InputError) as caught:
        read_lock(data, name="x")

    assert (caught.value.message, caught.value.field) == (message, field)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('      FI_PROVIDER: "efa"', '      FI_PROVIDER: "tcp"'),
        ('    manifest_digest: "sha256:e', '    manifest_digest: "sha256:f'),
        ('    entrypoint: ["/entry", ""]', '    entrypoint: ["/entry"]'),
        ('    reason: "our tokenizer"', '    reason: "theirs"'),
        ('    index_digest: "sha256:', '    index_digest: ""\n'),
    ],
)
def test_a_change_in_the_image_is_found_in_its_section(old: str, new: str) -> None:
    rows = [
        new.rstrip("\n") if row.startswith(old) and new.endswith("\n") else row.replace(old, new)
        for row in DATA.decode().split("\n")
    ]
    data = "\n".join(rows).encode()
    assert data != DATA

    assert [finding.section for finding in read_lock(data, name="x").findings] == ["image"]
