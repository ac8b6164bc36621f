"""Reading one layer: through its zTOC where that is sound, else all of its bytes."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace

from rdlc.adapters.image_contents.file_reading import RpmFolder, read_fact
from rdlc.adapters.image_contents.layer_stream import stream_files, stream_layer
from rdlc.adapters.image_contents.meter import Meter
from rdlc.adapters.image_contents.ports import BlobSource, LayerBlob
from rdlc.adapters.image_contents.soci import SociIndex
from rdlc.adapters.image_contents.ztoc_reading import ZtocLayer
from rdlc.core.contents.layer_facts import FileFact, LayerFacts
from rdlc.core.contents.wanted_files import file_kind, size_limit
from rdlc.errors import InputError


@dataclass(frozen=True, kw_only=True, slots=True)
class LayerReading:
    """The layers of an image, and where to read them; several threads may use it."""

    blobs: Mapping[str, LayerBlob]
    soci: SociIndex
    source: BlobSource
    meter: Meter
    verify: bool
    _open: dict[str, ZtocLayer] = field(default_factory=dict, repr=False)

    def read_layer(self, digest: str) -> LayerFacts:
        """The facts of a layer."""
        try:
            ztoc = self._ztoc(digest)
            return ztoc.facts() if ztoc else self._stream(digest)
        except InputError as error:
            return self._stream(digest, f"the zTOC of layer {digest} is not used: {error.message}")

    def read_files(self, layer: LayerFacts, paths: Sequence[str]) -> LayerFacts:
        """The layer with the contents of some of its files."""
        missing = [path for path in paths if _is_unread(layer.files[path])]
        if not missing:
            return layer
        if layer.evidence == "streamed":
            return self._read_hardlinks(layer, missing)
        try:
            ztoc = self._ztoc(layer.digest)
            return _read_through(ztoc, layer, missing) if ztoc else self._stream(layer.digest)
        except InputError as error:
            note = f"the zTOC of layer {layer.digest} is not used: {error.message}"
            return self._stream(layer.digest, note)

    def _stream(self, digest: str, *notes: str) -> LayerFacts:
        layer = self.blobs[digest]
        self.meter.plan(layer.size)
        facts = stream_layer(layer, self.source, self.meter)
        return replace(facts, notes=(*notes, *facts.notes))

    def _ztoc(self, digest: str) -> ZtocLayer | None:
        # A layer is read by one thread at a time, so each key is too.
        blob = self.soci.ztoc(digest)
        if blob and digest not in self._open:
            self._open[digest] = ZtocLayer(self.blobs[digest], blob, self.source, self.meter, verify=self.verify)
        return self._open.get(digest)

    def _read_hardlinks(self, layer: LayerFacts, paths: Sequence[str]) -> LayerFacts:
        targets = {path: layer.files[path].hardlink or path for path in paths}
        self.meter.plan(self.blobs[layer.digest].size)
        found = stream_files(self.blobs[layer.digest], self.source, self.meter, set(targets.values()))
        for path, target in targets.items():
            kind = file_kind(path)
            if target in found and kind in ("text", "metadata", "dpkg"):
                fact = replace(layer.files[path], size=len(found[target]))
                layer = layer.with_file(path, read_fact(fact, kind, iter((found[target],))))
            else:
                layer = _without_bytes(layer, path, target)
        return layer


def _without_bytes(layer: LayerFacts, path: str, target: str) -> LayerFacts:
    """Says that a hard link leads nowhere, so that the layer is not read for it again."""
    note = f"/{path} is a hard link to /{target}, which cannot be read in its layer"
    is_database = file_kind(path) in ("rpm", "dpkg")
    fact = replace(layer.files[path], content="", packages=() if is_database else None)
    return replace(layer.with_file(path, fact), notes=(*layer.notes, note))


def _read_through(ztoc: ZtocLayer, layer: LayerFacts, paths: Sequence[str]) -> LayerFacts:
    linked = {target for path in paths if (target := layer.files[path].hardlink)}
    places = ztoc.sizes(linked) if linked else {}
    with closing(RpmFolder()) as folder:
        for path in paths:
            layer = _read_file(ztoc, layer, path, place=_place(layer.files[path], places), folder=folder)
        for path in folder.databases:
            layer = _with_packages(layer, path, folder)
    return layer


def _read_file(
    ztoc: ZtocLayer, layer: LayerFacts, path: str, *, place: tuple[int, int], folder: RpmFolder
) -> LayerFacts:
    kind = file_kind(path)
    offset, size = place
    if kind is None:
        return layer
    if size > size_limit(kind):
        note = f"/{path} has {size} bytes, and {size_limit(kind)} are read at most"
        return replace(layer, notes=(*layer.notes, note))
    pieces = ztoc.read_file(offset, size)
    if kind in ("rpm", "rpm-wal"):
        folder.store(path, pieces)
        return layer
    return layer.with_file(path, read_fact(layer.files[path], kind, pieces))


def _is_unread(fact: FileFact) -> bool:
    return fact.content is None and fact.packages is None


def _place(fact: FileFact, places: Mapping[str, tuple[int, int]]) -> tuple[int, int]:
    if fact.hardlink:
        return places.get(fact.hardlink, (0, 0))
    return fact.offset or 0, fact.size


def _with_packages(layer: LayerFacts, path: str, folder: RpmFolder) -> LayerFacts:
    fact = layer.files.get(path)
    if fact is None:
        return layer
    try:
        return layer.with_file(path, replace(fact, packages=folder.packages(path)))
    except InputError as error:
        return replace(layer, notes=(*layer.notes, f"/{path}: {error.message}"))
