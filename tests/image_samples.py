"""Resolved images, their contents, and a lock with one, small and whole."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from rdlc.core.contents.inventory import Component, Distribution, Evidence, Inventory, OsPackage
from rdlc.core.determinism import worker_settings
from rdlc.core.image.oci import Located, ResolvedImage, describe_image
from rdlc.core.image.oci_config import parse_config
from rdlc.core.image.oci_manifest import Manifest, parse_manifest
from rdlc.core.image.reference import parse_reference
from rdlc.core.image.section import ImageRequest, lock_image
from rdlc.core.lockfile import RunLock
from rdlc.core.provenance import ImageOrigin
from tests.core.lock_samples import full_lock
from tests.registry.images import CREATED, Image, Index, build_image, build_index, make_layer

DLC = "public.ecr.aws/deep-learning-containers/ray"
TAG = "train-ml-cuda-v1.1"
SITE = "/opt/venv/lib/python3.13/site-packages"
# Layers that are not packed: their digests are the same whichever zlib this Python has.
LOWER = make_layer({"etc/one": b"1"}, compression="none")
UPPER = make_layer({"etc/two": b"2"}, compression="none")
ENVIRONMENT = {"EMPTY": "", "FI_PROVIDER": "efa"}


def small_image(
    content: str = "2",
    *,
    created: str = CREATED,
    env: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    runtime: Mapping[str, object] | None = None,
) -> Image:
    """An image of two layers; `content` is what its upper one holds."""
    return build_image(
        [LOWER, make_layer({"etc/two": content.encode()}, compression="none")],
        env=ENVIRONMENT if env is None else env,
        labels={"framework": "ray"} if labels is None else labels,
        runtime={"Entrypoint": ["/entry", ""], "Cmd": ["bash"], "User": "1000", "WorkingDir": "/workspace"}
        if runtime is None
        else runtime,
        created=created,
    )


def resolve_pushed(pushed: Image | Index, reference: str, *, tag_digest: str | None = None) -> ResolvedImage:
    """What a registry client makes of an image, or of an index whose first entry it is."""
    image = pushed.children[0] if isinstance(pushed, Index) else pushed
    assert isinstance(image, Image)
    manifest = parse_manifest(image.manifest.data, media_type=image.manifest.media_type, what="manifest")
    assert isinstance(manifest, Manifest)
    is_index = isinstance(pushed, Index)
    located = Located(
        manifest=manifest,
        digest=image.digest,
        index_digest=pushed.digest if is_index else None,
        index_media_type=pushed.manifest.media_type if is_index else None,
    )
    config = parse_config(image.blobs[0].data, what="config")
    return describe_image(parse_reference(reference), located, config, tag_digest=tag_digest)


def make_inventory(
    components: Mapping[str, str] | None = None,
    *,
    pip: Mapping[str, str] | None = None,
    rpm: Sequence[tuple[str, str]] = (),
    nccl_conf: str | None = None,
    environment: Mapping[str, str] | None = None,
    evidence: Evidence = "streamed",
) -> Inventory:
    """Contents with these versions."""
    return Inventory(
        evidence=evidence,
        components=tuple(
            Component(name=name, version=version, source="a test", evidence=evidence)
            for name, version in (components or {}).items()
        ),
        distributions=tuple(
            Distribution(name=name, version=version, path=f"{SITE}/{name}-{version}.dist-info", evidence=evidence)
            for name, version in (pip or {}).items()
        ),
        os_packages=tuple(
            OsPackage(kind="rpm", name=name, version=version, architecture="x86_64") for name, version in rpm
        ),
        nccl_conf=nccl_conf,
        environment=environment or {},
    )


def image_lock() -> RunLock:
    """The full lock for target docker, with an image that has an index and a base."""
    lock = full_lock()
    request = ImageRequest(
        reference="registry.example/team/ray:v3",
        platform="linux/amd64",
        base="registry.example/team/base:v2",
        reason="our tokenizer",
    )
    index = build_index([small_image()])
    section = lock_image(request, resolve_pushed(index, request.reference), base_digest="sha256:" + "b" * 64)
    origin = ImageOrigin(
        reference=request.reference,
        tag_kind="other",
        created=CREATED,
        twin="",
        evidence="config-only",
        components={"efa-installer": "1.47.0", "ray": "2.58.0"},
        known_issues=("aws-ofi-nccl-1.18.0-broadcast",),
    )
    run = replace(lock.sections.run.requested, target="docker")
    held = lock.sections
    sections = replace(
        held,
        run=replace(held.run, requested=run),
        environment=None,
        image=section,
        cluster=replace(held.cluster, settings=worker_settings(held.cluster.requested, is_exact=True)),
        code=replace(held.code, files={**held.code.files, "fsdp_qwen/train.py": "d" * 64}),
    )
    return RunLock(sections=sections, provenance=replace(lock.provenance, image=origin))
