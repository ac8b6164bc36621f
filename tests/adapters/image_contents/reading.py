"""Reading test images as the commands do, from a repository in memory."""

from dataclasses import dataclass, replace

from rdlc.adapters.image_contents.cache import LayerCache
from rdlc.adapters.image_contents.reader import ImageContents, ReadOptions, read_contents
from rdlc.core.contents.inventory import Inventory
from rdlc.core.image.oci_config import ImageConfig, parse_config
from rdlc.core.image.oci_manifest import Descriptor, Manifest, parse_manifest
from tests.adapters.image_contents.dlc_like import (
    DlcLike,
    dlc_like_image,
    publish_soci,
)
from tests.adapters.image_contents.memory_source import MemorySource
from tests.registry.images import Image, Layer, build_image

STREAM, VERIFY = ReadOptions(route="stream"), ReadOptions(verify=True)
CONTENT = dlc_like_image()


@dataclass(frozen=True, kw_only=True, slots=True)
class Resolved:
    """An image as a registry client resolves it."""

    config: ImageConfig
    layers: tuple[Descriptor, ...]

    @property
    def env(self) -> dict[str, str]:
        return dict(self.config.env)

    @property
    def labels(self) -> dict[str, str]:
        return dict(self.config.labels)

    @property
    def history(self) -> tuple[str, ...]:
        return self.config.history


def resolve(image: Image) -> Resolved:
    media_type = image.manifest.media_type
    manifest = parse_manifest(image.manifest.data, media_type=media_type, what="manifest")
    assert isinstance(manifest, Manifest)
    config = parse_config(image.blobs[0].data, what="config")
    return Resolved(config=config, layers=tuple(manifest.layers))


def source_of(content: DlcLike, tag: str = "v1.1") -> MemorySource:
    source = MemorySource()
    source.add(content.image, tag)
    source.add(content.soci, f"{tag}-soci")
    return source


def read(
    content: DlcLike,
    source: MemorySource,
    options: ReadOptions | None = None,
    *,
    cache: LayerCache | None = None,
) -> ImageContents:
    return read_contents(
        resolve(content.image),
        source,
        manifests=source,
        tag="v1.1",
        cache=cache,
        options=options or ReadOptions(),
    )


def without_evidence(inventory: Inventory) -> Inventory:
    return replace(
        inventory,
        evidence="config-only",
        components=tuple(replace(item, evidence="config-only") for item in inventory.components),
        distributions=tuple(replace(item, evidence="config-only") for item in inventory.distributions),
    )


def image_of(*layers: Layer, indexed: tuple[Layer, ...] = ()) -> DlcLike:
    return publish_soci(build_image(layers), layers, indexed)


def versions(inventory: Inventory) -> dict[str, str]:
    return {item.name: item.version for item in inventory.components}
