"""The contents of an image from the cache alone: all of them, or nothing."""

from dataclasses import replace
from pathlib import Path

import pytest

from rdlc.adapters.image_contents.cache import LayerCache
from rdlc.adapters.image_contents.reader import ReadOptions, read_cached
from rdlc.core.contents.layer_facts import LayerFacts
from tests.adapters.image_contents.reading import CONTENT, STREAM, read, resolve, source_of

IMAGE = resolve(CONTENT.image)
DIGESTS = [layer.digest for layer in IMAGE.layers]


@pytest.mark.parametrize("options", [STREAM, ReadOptions()])
def test_an_image_that_was_read_before_is_known_whole(tmp_path: Path, options: ReadOptions) -> None:
    cache = LayerCache(tmp_path)
    inventory = read(CONTENT, source_of(CONTENT), options, cache=cache).inventory

    assert read_cached(IMAGE, DIGESTS, cache) == inventory


def test_a_layer_that_is_missing_leaves_nothing_known(tmp_path: Path) -> None:
    contents = read(CONTENT, source_of(CONTENT), STREAM)
    for position in range(len(DIGESTS)):
        cache = LayerCache(tmp_path / str(position))
        for layer in contents.layers[:position] + contents.layers[position + 1 :]:
            cache.store(layer)

        assert read_cached(IMAGE, DIGESTS, cache) is None


def test_a_file_that_was_not_read_leaves_nothing_known(tmp_path: Path) -> None:
    cache = LayerCache(tmp_path)
    for layer in read(CONTENT, source_of(CONTENT)).layers:
        cache.store(_without_contents(layer))

    assert read_cached(IMAGE, DIGESTS, cache) is None


def test_an_image_without_layers_is_not_known(tmp_path: Path) -> None:
    assert read_cached(IMAGE, [], LayerCache(tmp_path)) is None


def _without_contents(layer: LayerFacts) -> LayerFacts:
    files = {path: replace(fact, content=None, packages=None) for path, fact in layer.files.items()}
    return replace(layer, files=files)
