"""The contents of an image by the cheapest route that gives the wanted evidence.

Config alone; or the layers: those that are known or cached are not read again, those that have a
zTOC are read through it, the others are streamed.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Literal, Protocol

from rdlc.adapters.image_contents.cache import LayerCache
from rdlc.adapters.image_contents.layer_reading import LayerReading
from rdlc.adapters.image_contents.meter import Meter, StoppedError
from rdlc.adapters.image_contents.ports import BlobSource, LayerBlob, ManifestSource, Progress
from rdlc.adapters.image_contents.soci import SociIndex
from rdlc.core.contents.inventory import Distribution, Evidence, Inventory, SelfDescription, evidence_rank
from rdlc.core.contents.inventory_assembly import build_inventory, unread_files
from rdlc.core.contents.layer_facts import LayerFacts
from rdlc.core.contents.layer_stack import PlacedFile, stack_layers
from rdlc.core.contents.python_distributions import metadata_field
from rdlc.core.contents.wanted_files import file_kind
from rdlc.errors import InputError

Route = Literal["auto", "config", "stream"]
_NOTHING_KNOWN: Mapping[str, LayerFacts] = MappingProxyType({})


class LayeredImage(SelfDescription, Protocol):
    """An image that was resolved to its layers, the lowest first."""

    @property
    def layers(self) -> Sequence[LayerBlob]:
        """The layers as its manifest lists them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadOptions:
    """How to read: `config` reads no layer, `stream` every byte of each, `auto` takes zTOCs.

    `verify` wants proof: zTOCs are read whole, and they and each part of a layer checked by digest.
    """

    route: Route = "auto"
    verify: bool = False
    threads: int = 4

    @property
    def least_evidence(self) -> Evidence:
        """The weakest evidence that these options accept."""
        if self.route == "config":
            return "config-only"
        if self.route == "stream":
            return "streamed"
        return "soci-verified" if self.verify else "soci-toc"


@dataclass(frozen=True, kw_only=True, slots=True)
class ImageContents:
    """The inventory of an image, and what was read of its layers."""

    inventory: Inventory
    layers: tuple[LayerFacts, ...] = field(repr=False)
    read_bytes: int
    _reading: LayerReading | None = field(repr=False, default=None)

    @property
    def known(self) -> Mapping[str, LayerFacts]:
        """The layers by digest: given to `read_contents`, another image need not read them again."""
        return {layer.digest: layer for layer in self.layers}

    def requirements(self, distribution: Distribution) -> tuple[str, ...]:
        """What a distribution of the inventory requires; reads from the registry if need be."""
        folder = distribution.path.removeprefix("/")
        files = stack_layers(self.layers).files
        place = next((f"{folder}{name}" for name in _METADATA_NAMES if f"{folder}{name}" in files), None)
        if place is None or self._reading is None:
            raise InputError(f"the metadata of `{distribution.name}` is not known: {distribution.path}")
        layer = self.layers[files[place].layer]
        layer = self._reading.read_files(layer, (files[place].stored_path,))
        text = layer.files[files[place].stored_path].content
        if text is None:
            raise InputError(f"the metadata of `{distribution.name}` cannot be read", file=f"/{place}")
        return metadata_field(text, "Requires-Dist")


_METADATA_NAMES = ("/METADATA", "/PKG-INFO", "")
_DEFAULTS = ReadOptions()


def read_contents(
    image: LayeredImage,
    source: BlobSource,
    *,
    manifests: ManifestSource | None = None,
    tag: str | None = None,
    cache: LayerCache | None = None,
    known: Mapping[str, LayerFacts] = _NOTHING_KNOWN,
    options: ReadOptions = _DEFAULTS,
    progress: Progress | None = None,
) -> ImageContents:
    """What is in an image.

    `tag` is the tag whose `-soci` twin may hold zTOCs; `known` are layers of another image. Raises
    InputError for a layer that is no sound archive, and whatever `source` raises.
    """
    if options.route == "config":
        return ImageContents(inventory=build_inventory(image, ()), layers=(), read_bytes=0)
    meter = Meter(progress)
    blobs = {layer.digest: layer for layer in image.layers}
    facts = _facts_at_hand(blobs, known, cache, options.least_evidence)
    soci = SociIndex(manifests if options.route == "auto" else None, tag)
    reading = LayerReading(blobs=blobs, soci=soci, source=source, meter=meter, verify=options.verify)
    missing = [digest for digest in blobs if digest not in facts]
    for layer in _in_threads(reading.read_layer, missing, options.threads, meter):
        facts[layer.digest] = layer
    for layer in _read_needed_files(image, facts, reading, options.threads, meter):
        facts[layer.digest] = layer
    if cache:
        for layer in facts.values():
            cache.store(layer)
    layers = tuple(facts[layer.digest] for layer in image.layers)
    inventory = build_inventory(image, layers)
    return ImageContents(
        inventory=replace(inventory, notes=(*soci.notes, *inventory.notes)),
        layers=layers,
        read_bytes=meter.read_bytes,
        _reading=reading,
    )


def read_cached(image: SelfDescription, layers: Sequence[str], cache: LayerCache) -> Inventory | None:
    """What is in an image of these layers, the lowest first, if the cache holds all that it takes."""
    known = {digest: cache.load(digest) for digest in dict.fromkeys(layers)}
    facts = [layer for digest in layers if (layer := known[digest])]
    if len(facts) < len(layers) or not facts or _needed_files(facts):
        return None
    return build_inventory(image, facts)


def _facts_at_hand(
    digests: Iterable[str],
    known: Mapping[str, LayerFacts],
    cache: LayerCache | None,
    least: Evidence,
) -> dict[str, LayerFacts]:
    found = {}
    for digest in digests:
        layer = known.get(digest)
        if cache and (layer is None or not _is_enough(layer, least)):
            layer = cache.load(digest)
        if layer and _is_enough(layer, least):
            found[digest] = layer
    return found


def _is_enough(layer: LayerFacts, least: Evidence) -> bool:
    return evidence_rank(layer.evidence) >= evidence_rank(least)


def _read_needed_files(
    image: LayeredImage,
    facts: Mapping[str, LayerFacts],
    reading: LayerReading,
    threads: int,
    meter: Meter,
) -> list[LayerFacts]:
    wanted = _needed_files([facts[layer.digest] for layer in image.layers])

    def read(digest: str) -> LayerFacts:
        return reading.read_files(facts[digest], tuple(sorted(wanted[digest])))

    return _in_threads(read, list(wanted), threads, meter)


def _needed_files(layers: Sequence[LayerFacts]) -> dict[str, set[str]]:
    """Layer to the paths in it that the inventory of these layers needs, and that were not read."""
    wanted: dict[str, set[str]] = {}
    for file in unread_files(stack_layers(layers)):
        layer = layers[file.layer]
        if layer.evidence != "streamed" or file.fact.hardlink:
            wanted.setdefault(layer.digest, set()).update(_with_log(file, layer))
    return wanted


def _with_log(file: PlacedFile, layer: LayerFacts) -> tuple[str, ...]:
    """The file, and the log that belongs to it if it is a database."""
    log = f"{file.stored_path}-wal"
    has_log = file_kind(file.stored_path) == "rpm" and log in layer.files
    return (file.stored_path, log) if has_log else (file.stored_path,)


def _in_threads(
    work: Callable[[str], LayerFacts], digests: Sequence[str], threads: int, meter: Meter
) -> list[LayerFacts]:
    """The work on each digest; the first failure ends the others at their next chunk."""
    with ThreadPoolExecutor(max_workers=max(1, threads)) as pool:
        futures = [pool.submit(work, digest) for digest in digests]
        try:
            wait(futures, return_when=FIRST_EXCEPTION)
        finally:
            if not all(future.done() and not future.exception() for future in futures):
                meter.stop()
                pool.shutdown(cancel_futures=True)
    finished = [future for future in futures if not future.cancelled()]
    # A thread that was stopped may stand before the one that failed.
    for future in sorted(finished, key=lambda future: isinstance(future.exception(), StoppedError)):
        future.result()
    return [future.result() for future in finished]
