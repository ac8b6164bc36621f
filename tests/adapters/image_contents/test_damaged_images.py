"""Images, tables of contents and transfers that are not as they should be."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from rdlc.adapters.image_contents.cache import LayerCache
from rdlc.adapters.image_contents.reader import ReadOptions, read_contents
from rdlc.core.contents.inventory import Distribution, OsPackage
from rdlc.core.contents.layer_scan import LayerScan
from rdlc.core.contents.tar_stream import TarEntry
from rdlc.errors import InputError, OutsideError
from tests.adapters.image_contents.dlc_like import (
    SOCI_TYPE,
    VENV_SITE,
    DlcLike,
    distribution,
    layer_digests,
    publish_soci,
    rpm_entries,
    ztoc_blob,
)
from tests.adapters.image_contents.memory_source import MemorySource
from tests.adapters.image_contents.reading import (
    CONTENT,
    STREAM,
    VERIFY,
    image_of,
    read,
    resolve,
    source_of,
    versions,
)
from tests.adapters.image_contents.rpm_writer import Rpm
from tests.adapters.image_contents.ztoc_writer import write_ztoc
from tests.registry.images import Blob, Entry, build_artifact, build_image, build_index, make_layer, pack_layer


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (b"not a table", "a position of 544501614 + 4 lies outside of 11 bytes"),
        (None, "the zTOC is of a layer of 7 bytes, not {size}"),
    ],
)
def test_a_table_of_contents_that_is_not_sound_is_named_and_the_layer_streamed(
    damage: bytes | None, reason: str
) -> None:
    layer = make_layer(distribution(VENV_SITE, "ray", "2.58.0"))
    image = build_image((layer,))
    data = write_ztoc(layer.blob.data, states_size=7) if damage is None else damage
    blob = ztoc_blob(layer, data)
    content = publish_soci(image, (layer,), ())
    source = source_of(content)
    add_soci(source, content, blob)

    inventory = read(content, source).inventory

    digest = layer.blob.digest
    said = reason.format(size=len(layer.blob.data))
    assert inventory.notes == (f"the zTOC of layer {digest} is not used: {said}",)
    assert inventory.evidence == "streamed"
    assert versions(inventory)["ray"] == "2.58.0"


def add_soci(source: MemorySource, content: DlcLike, *blobs: Blob) -> None:
    """Publishes other zTOCs under the `-soci` tag than the ones that fit."""
    artifact = build_artifact(blobs, artifact_type=SOCI_TYPE)
    index = build_index((content.image, artifact), extras={1: {"artifactType": SOCI_TYPE}})
    source.add(index, "v1.1-soci")


def test_a_soci_index_that_cannot_be_read_is_named_and_layers_are_streamed() -> None:
    source = source_of(CONTENT)
    source.manifests["v1.1-soci"] = b"<html>"

    inventory = read(CONTENT, source).inventory

    assert inventory.notes == (
        "the SOCI index `v1.1-soci` is not used: not JSON: Expecting value: line 1 column 1 (char 0)",
    )
    assert inventory.evidence == "streamed"


def test_a_span_of_a_layer_that_is_not_the_one_in_the_table_is_refused_when_verifying() -> None:
    class Liar(MemorySource):
        def read_range(self, digest: str, start: int, length: int) -> bytes:
            data = MemorySource.read_range(self, digest, start, length)
            return bytes(len(data)) if digest in layer_digests(CONTENT) else data

    honest = source_of(CONTENT)
    liar = Liar(blobs=honest.blobs, manifests=honest.manifests)

    with pytest.raises(OutsideError, match=r"^bytes \d+ to \d+ of layer sha256:[0-9a-f]{64} are not "):
        read(CONTENT, liar, VERIFY)


def test_a_damaged_table_of_contents_fails_by_its_digest_when_verifying() -> None:
    source = source_of(CONTENT)
    digest = next(iter(CONTENT.ztocs.values())).digest
    source.blobs[digest] = source.blobs[digest][:-1] + b"\x01"

    with pytest.raises(OutsideError) as caught:
        read(CONTENT, source, VERIFY)
    assert caught.value.message == f"blob {digest} came damaged"


@pytest.mark.parametrize("place", [0.01, 0.3, 0.6, 0.98])
@pytest.mark.parametrize("position", range(5))
def test_a_layer_damaged_on_its_way_fails_by_its_digest(position: int, place: float) -> None:
    source = source_of(CONTENT)
    digest = layer_digests(CONTENT)[position]
    data = bytearray(source.blobs[digest])
    data[int(len(data) * place)] ^= 255
    source.blobs[digest] = bytes(data)

    with pytest.raises(OutsideError) as caught:
        read(CONTENT, source, STREAM)
    assert caught.value.message == f"blob {digest} came damaged"


def test_a_failure_stops_the_other_threads_and_is_the_one_that_is_told() -> None:
    layers = tuple(make_layer([Entry(path=f"file{number}")]) for number in range(8))
    broken = make_layer([Entry(path="x", data=b"x")])
    content = image_of(*layers, broken)
    has_failed = threading.Event()

    class Slow(MemorySource):
        def open_blob(self, digest: str, size: int) -> Iterator[bytes]:
            if digest == broken.blob.digest:
                has_failed.set()
                raise OutsideError("the registry went away")
            assert has_failed.wait(60)
            yield from MemorySource.open_blob(self, digest, size)

    whole = source_of(content)
    slow = Slow(blobs=whole.blobs, manifests=whole.manifests)
    slow_first = ReadOptions(route="stream", threads=9)

    with pytest.raises(OutsideError) as caught:
        read(content, slow, slow_first)
    assert caught.value.message == "the registry went away"


def test_progress_counts_every_byte_that_is_read() -> None:
    source = source_of(CONTENT)
    seen: list[tuple[int, int]] = []

    contents = read_contents(
        resolve(CONTENT.image),
        source,
        options=STREAM,
        progress=lambda done, planned: seen.append((done, planned)),
    )

    size = sum(len(layer.blob.data) for layer in CONTENT.layers)
    assert seen[-1] == (size, size) == (contents.read_bytes, size)
    assert all(done <= planned for done, planned in seen)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


def test_an_rpm_database_that_is_none_is_named_and_the_rest_still_listed() -> None:
    layer = make_layer(
        [
            Entry(path="var/lib/rpm/rpmdb.sqlite", data=b"SQLite format 3\0" + bytes(5000)),
            *distribution(VENV_SITE, "ray", "2.58.0"),
        ]
    )
    content = image_of(layer, indexed=(layer,))

    notes = [read(content, source_of(content), options).inventory.notes for options in (STREAM, ReadOptions())]

    assert (
        notes[0]
        == notes[1]
        == (
            "/var/lib/rpm/rpmdb.sqlite: the RPM database cannot be read: file is not a database",
            "/var/lib/rpm/rpmdb.sqlite could not be read: its packages are not listed",
        )
    )


def test_an_rpm_database_below_usr_counts_and_so_does_dpkg() -> None:
    files = rpm_entries([Rpm(name="glibc", version="2.34", release="1")])
    status = b"Package: libc6\nStatus: install ok installed\nVersion: 2.36\nArchitecture: amd64\n"
    layer = make_layer(
        [
            *(replace(entry, path=f"usr/lib/sysimage/rpm/{entry.path[12:]}") for entry in files),
            Entry(path="var/lib/rpm", kind="symlink", target="../../usr/lib/sysimage/rpm"),
            Entry(path="var/lib/dpkg/status", data=status),
        ]
    )
    content = image_of(layer)

    assert read(content, source_of(content)).inventory.os_packages == (
        OsPackage(kind="dpkg", name="libc6", version="2.36", architecture="amd64"),
        OsPackage(kind="rpm", name="glibc", version="2.34-1", architecture="x86_64"),
    )


def test_a_file_that_is_too_large_is_named_and_left() -> None:
    layer = make_layer([Entry(path="etc/nccl.conf", data=bytes(70_000))])
    content = image_of(layer, indexed=(layer,))

    for options in (STREAM, ReadOptions()):
        inventory = read(content, source_of(content), options).inventory
        assert inventory.notes == ("/etc/nccl.conf has 70000 bytes, and 65536 are read at most",)
        assert inventory.nccl_conf is None


def test_requirements_of_something_else_are_refused() -> None:
    contents = read(CONTENT, source_of(CONTENT), STREAM)
    other = Distribution(name="other", version="1", path="/x/y.dist-info", evidence="streamed")

    with pytest.raises(InputError) as caught:
        contents.requirements(other)
    assert caught.value.message == "the metadata of `other` is not known: /x/y.dist-info"


def test_a_layer_that_is_no_archive_is_named() -> None:
    layer = pack_layer(b"no archive".ljust(512, b"x"))
    content = image_of(layer)

    with pytest.raises(InputError) as caught:
        read(content, source_of(content))
    assert (caught.value.message, caught.value.file) == (
        "the layer is no sound tar at byte 0: a header has another checksum",
        f"layer {layer.blob.digest}",
    )


def test_a_layer_with_more_links_than_any_image_needs_is_refused() -> None:
    scan = LayerScan("sha256:" + "0" * 64)
    target = "t" * 4000
    entries = (
        TarEntry(path=f"l{number}", kind="symlink", size=0, offset=0, target=target) for number in range(100_000)
    )

    with pytest.raises(InputError) as caught:
        list(map(scan.add, entries))
    assert caught.value.message == ("the layer has more links, whiteouts and packages than any image needs")
    assert 1000 < len(scan.facts("streamed").links) < 17_000


def test_a_hard_link_that_leads_nowhere_is_named_and_its_layer_read_twice_at_most(
    tmp_path: Path,
) -> None:
    link = Entry(path="etc/nccl.conf", kind="hardlink", target="opt/gone")
    content = image_of(make_layer([link]))
    cache = LayerCache(tmp_path)
    first, second = source_of(content), source_of(content)

    notes = [read(content, source, STREAM, cache=cache).inventory.notes for source in (first, second)]

    assert notes == 2 * [("/etc/nccl.conf is a hard link to /opt/gone, which cannot be read in its layer",)]
    assert (len(first.whole), len(second.whole)) == (2, 0)
