"""An image and its rebuild in a real registry, read without pulling either."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rdlc.adapters.image_contents.cache import LayerCache
from rdlc.adapters.image_contents.reader import ImageContents, ReadOptions, read_contents
from rdlc.adapters.image_contents.repository_source import RepositorySource
from rdlc.adapters.registry.answers import ImageNotFoundError
from rdlc.adapters.registry.blobs import RangeRead
from rdlc.adapters.registry.client import Registry
from rdlc.core.image.reference import ImageReference, parse_reference
from tests.adapters.image_contents.dlc_like import NEXT_BUILD, DlcLike, dlc_like_image
from tests.adapters.image_contents.reading import CONTENT, source_of, versions
from tests.adapters.image_contents.reading import read as read_in_memory
from tests.registry.push import push
from tests.registry.registries import plain_registry

NAME = "deep-learning-containers/ray"
TAG = "train-ml-cuda-v1.1"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with plain_registry(tmp_path_factory.mktemp("registry")) as place:
        yield place


def publish(address: str, content: DlcLike) -> None:
    push(address, NAME, content.image, TAG)
    push(address, NAME, content.soci, f"{TAG}-soci")


def read(address: str, tag: str, folder: Path, options: ReadOptions) -> ImageContents:
    reference = parse_reference(f"{address}/{NAME}:{tag}")
    with Registry(warn=pytest.fail) as registry:
        image = registry.resolve(reference)
        source = RepositorySource(client=registry, reference=reference, not_found=ImageNotFoundError)
        return read_contents(
            image,
            source,
            manifests=source,
            tag=reference.tag,
            cache=LayerCache(folder),
            options=options,
        )


@pytest.mark.parametrize("options", [ReadOptions(), ReadOptions(verify=True), ReadOptions(route="stream")])
def test_a_real_registry_and_one_in_memory_hold_the_same_image(
    address: str, tmp_path: Path, options: ReadOptions
) -> None:
    publish(address, CONTENT)

    inventory = read(address, TAG, tmp_path, options).inventory

    assert inventory == read_in_memory(CONTENT, source_of(CONTENT), options).inventory


def test_a_rebuild_behind_the_tag_is_read_and_only_where_it_differs(address: str, tmp_path: Path) -> None:
    publish(address, CONTENT)
    push(address, NAME, CONTENT.image, "train-ml-cuda-v1.1.0")
    old = read(address, TAG, tmp_path, ReadOptions(route="stream"))
    rebuilt = dlc_like_image(NEXT_BUILD)
    publish(address, rebuilt)

    new = read(address, TAG, tmp_path, ReadOptions(route="stream"))
    frozen = read(address, "train-ml-cuda-v1.1.0", tmp_path, ReadOptions(route="stream"))

    assert versions(old.inventory)["aws-ofi-nccl"] == "1.18.0"
    assert versions(new.inventory)["aws-ofi-nccl"] == "1.20.0"
    assert frozen.inventory == old.inventory
    shared = {layer.blob.digest for layer in CONTENT.layers}
    changed = [layer for layer in rebuilt.layers if layer.blob.digest not in shared]
    assert new.read_bytes == sum(len(layer.blob.data) for layer in changed)
    assert frozen.read_bytes == 0


def test_an_image_without_soci_index_is_streamed(address: str, tmp_path: Path) -> None:
    push(address, NAME, CONTENT.image, "alone")

    inventory = read(address, "alone", tmp_path, ReadOptions()).inventory

    assert (inventory.evidence, inventory.notes) == ("streamed", ())


def test_a_registry_that_gives_no_parts_of_blobs_is_read_whole(address: str) -> None:
    class Whole(Registry):
        def read_range(self, reference: ImageReference, *, digest: str, start: int, length: int) -> RangeRead:
            return RangeRead(data=b"", is_honoured=False)

    publish(address, CONTENT)
    reference = parse_reference(f"{address}/{NAME}:{TAG}")
    with Whole(warn=pytest.fail) as registry:
        source = RepositorySource(client=registry, reference=reference, not_found=ImageNotFoundError)
        image = registry.resolve(reference)
        inventory = read_contents(image, source, manifests=source, tag=TAG).inventory

    assert inventory.evidence == "streamed"
    assert inventory.notes == tuple(
        f"the zTOC of layer {layer.blob.digest} is not used: the registry does not give parts of blobs"
        for layer in CONTENT.layers
        if layer.blob.digest in CONTENT.ztocs
    )
