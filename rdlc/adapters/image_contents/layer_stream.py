"""The facts of a layer from all of its bytes, in constant memory and with its digest checked."""

from collections.abc import Callable, Set
from contextlib import closing
from dataclasses import replace

from rdlc.adapters.image_contents.decompression import unpack
from rdlc.adapters.image_contents.file_reading import RpmFolder, read_fact
from rdlc.adapters.image_contents.meter import Meter
from rdlc.adapters.image_contents.ports import BlobSource, LayerBlob
from rdlc.core.contents.layer_facts import FileFact, LayerFacts
from rdlc.core.contents.layer_scan import LayerScan
from rdlc.core.contents.tar_stream import ChunkReader, TarEntry, TarLimits, read_tar
from rdlc.core.contents.wanted_files import FileKind, size_limit
from rdlc.errors import InputError

_LIMITS = TarLimits()


def stream_layer(layer: LayerBlob, source: BlobSource, meter: Meter, *, limits: TarLimits = _LIMITS) -> LayerFacts:
    """Reads the whole layer once; InputError when it is no sound archive or out of bounds."""
    scan = LayerScan(layer.digest)
    with closing(RpmFolder()) as folder:

        def visit(reader: ChunkReader, entry: TarEntry) -> None:
            kind = scan.add(entry)
            if kind is not None and kind != "name":
                _read_file(scan, reader, entry, kind, folder)

        _walk(layer, source, meter, limits, visit)
        _read_databases(scan, folder)
    return scan.facts("streamed")


def stream_files(layer: LayerBlob, source: BlobSource, meter: Meter, paths: Set[str]) -> dict[str, bytes]:
    """The bytes of some small files of a layer, by path; those that it lacks are left out."""
    found = {}

    def visit(reader: ChunkReader, entry: TarEntry) -> None:
        if entry.path in paths and entry.kind == "file" and entry.size <= size_limit("metadata"):
            found[entry.path] = reader.read(entry.size)

    _walk(layer, source, meter, _LIMITS, visit)
    return found


def _walk(
    layer: LayerBlob,
    source: BlobSource,
    meter: Meter,
    limits: TarLimits,
    visit: Callable[[ChunkReader, TarEntry], None],
) -> None:
    """Visits every entry, which may take its bytes from the reader, and reads the blob to its end."""
    blob = meter.counted(source.open_blob(layer.digest, layer.size))
    try:
        chunks = unpack(blob, layer.media_type)
        reader = ChunkReader(chunks, limit_bytes=limits.archive_bytes)
        for entry in read_tar(reader, limits):
            visit(reader, entry)
        reader.drain()
    except InputError as error:
        if error.hint is None:
            # A layer that was damaged on its way fails for that reason: its digest, known at its end.
            for _ in blob:
                pass
        place = f"layer {layer.digest}"
        raise InputError(error.message, hint=error.hint, file=place) from error


def _read_file(scan: LayerScan, reader: ChunkReader, entry: TarEntry, kind: FileKind, folder: RpmFolder) -> None:
    if entry.size > size_limit(kind):
        scan.note(f"/{entry.path} has {entry.size} bytes, and {size_limit(kind)} are read at most")
    elif kind in ("rpm", "rpm-wal"):
        folder.store(entry.path, reader.pieces(entry.size))
    else:
        fact = FileFact(size=entry.size, offset=entry.offset)
        scan.fill(entry.path, read_fact(fact, kind, reader.pieces(entry.size)))


def _read_databases(scan: LayerScan, folder: RpmFolder) -> None:
    for path in folder.databases:
        fact = scan.file(path)
        if fact is None or fact.hardlink:
            continue
        try:
            scan.fill(path, replace(fact, packages=folder.packages(path)))
        except InputError as error:
            scan.note(f"/{path}: {error.message}")
