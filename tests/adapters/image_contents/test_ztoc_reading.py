"""Single files of a layer through its zTOC, wherever they lie."""

import gzip
import io
import random
import tarfile
from contextlib import suppress
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdlc.adapters.image_contents.meter import Meter
from rdlc.adapters.image_contents.ztoc_reading import ZtocLayer
from rdlc.core.canonical import digest_of_bytes
from rdlc.core.contents.soci_index import ZtocBlob, find_soci_manifests, read_soci_manifest
from rdlc.errors import InputError, OutsideError
from tests.adapters.image_contents.memory_source import MemorySource
from tests.adapters.image_contents.reading import CONTENT
from tests.adapters.image_contents.ztoc_writer import SPAN_BYTES, gzip_points, write_ztoc
from tests.registry.images import Entry, make_tar


@dataclass(frozen=True, kw_only=True, slots=True)
class Blob:
    """A layer as a manifest lists it."""

    digest: str
    size: int
    media_type: str = "application/vnd.oci.image.layer.v1.tar+gzip"


@dataclass(frozen=True, kw_only=True, slots=True)
class Indexed:
    """A layer and its zTOC in a repository."""

    layer: Blob
    ztoc: ZtocBlob
    source: MemorySource = field(repr=False)

    def open(self, *, verify: bool = False) -> ZtocLayer:
        return ZtocLayer(self.layer, self.ztoc, self.source, Meter(None), verify=verify)


def indexed(data: bytes, ztoc: bytes) -> Indexed:
    source = MemorySource()
    digests = [digest_of_bytes(blob) for blob in (data, ztoc)]
    source.blobs |= dict(zip(digests, (data, ztoc), strict=True))
    return Indexed(
        layer=Blob(digest=digests[0], size=len(data)),
        ztoc=ZtocBlob(digest=digests[1], size=len(ztoc)),
        source=source,
    )


def mixed(seed: int, size: int) -> bytes:
    chosen = random.Random(seed)
    parts = [chosen.choice([b"tensor ", chosen.randbytes(12)]) for _ in range(size // 7 + 1)]
    return b"".join(parts)[:size]


SIZES = (0, 5, 70_000, 500_000, 300, 0, 90_000, 2, 400_000, 10)
TAR = make_tar([Entry(path=f"f{number}", data=mixed(number, size)) for number, size in enumerate(SIZES)])
LAYER = gzip.compress(TAR, 6, mtime=0)


def named_gzip(data: bytes) -> bytes:
    """A stream whose header is longer than ten bytes, as it holds a file name."""
    buffer = io.BytesIO()
    with gzip.GzipFile("a-long-file-name.tar", "wb", 6, buffer, mtime=0) as packed:
        packed.write(data)
    return buffer.getvalue()


def members() -> list[tuple[int, bytes]]:
    """Offset and bytes of each file."""
    with tarfile.open(fileobj=io.BytesIO(TAR)) as archive:
        return [(m.offset_data, TAR[m.offset_data : m.offset_data + m.size]) for m in archive]


@pytest.mark.parametrize("verify", [False, True])
@pytest.mark.parametrize("leaves_first_out", [False, True])
def test_every_file_comes_back_also_across_spans(verify: bool, leaves_first_out: bool) -> None:
    repository = indexed(LAYER, write_ztoc(LAYER, leaves_first_out=leaves_first_out))

    found = [b"".join(repository.open(verify=verify).read_file(offset, len(data))) for offset, data in members()]

    assert found == [data for _, data in members()]
    assert max(SIZES) > 3 * SPAN_BYTES
    assert len(TAR) > 6 * SPAN_BYTES


@pytest.mark.parametrize("verify", [False, True])
def test_any_range_comes_back(verify: bool) -> None:
    layer = indexed(LAYER, write_ztoc(LAYER)).open(verify=verify)
    edges = [point.uncompressed + shift for point in gzip_points(LAYER) for shift in (-1, 0, 1)]
    starts = [start for start in (*edges, 0, 1, len(TAR) - 1) if 0 <= start < len(TAR)]

    for start in starts:
        for size in (1, 700, 2 * SPAN_BYTES):
            size = min(size, len(TAR) - start)
            assert b"".join(layer.read_file(start, size)) == TAR[start : start + size]


def test_a_stream_whose_header_holds_a_name_is_read_from_its_start() -> None:
    data = named_gzip(TAR)
    repository = indexed(data, write_ztoc(data))

    for verify in (False, True):
        layer = repository.open(verify=verify)
        assert b"".join(layer.read_file(0, 700)) == TAR[:700]


def test_a_layer_that_is_not_packed_is_read_in_place() -> None:
    repository = indexed(TAR, write_ztoc(TAR))
    offset, data = members()[3]

    assert b"".join(repository.open().read_file(offset, len(data))) == data
    assert repository.source.ranges[-1] == (repository.layer.digest, offset, len(data))


def test_one_file_costs_a_checkpoint_and_about_its_own_bytes() -> None:
    repository = indexed(LAYER, write_ztoc(LAYER))
    layer = repository.open()
    repository.source.ranges.clear()
    offset, data = members()[4]

    assert b"".join(layer.read_file(offset, len(data))) == data
    of_layer = [item for item in repository.source.ranges if item[0] == repository.layer.digest]
    assert len(of_layer) == 1
    assert of_layer[0][2] <= 1.3 * SPAN_BYTES
    assert len(repository.source.ranges) <= 4


def test_a_file_that_the_layer_does_not_hold_is_refused() -> None:
    layer = indexed(LAYER, write_ztoc(LAYER)).open()

    with pytest.raises(InputError) as caught:
        list(layer.read_file(len(TAR) - 5, 12))
    assert caught.value.message == ("the layer ends 7 bytes before the end of a file that its zTOC lists")


def test_verifying_needs_a_digest_for_each_span() -> None:
    repository = indexed(LAYER, write_ztoc(LAYER, digests=[]))
    spans = len(gzip_points(LAYER))

    with pytest.raises(InputError) as caught:
        repository.open(verify=True)
    assert caught.value.message == f"the zTOC has 0 digests for {spans} spans"


def test_a_table_that_is_too_large_is_not_read() -> None:
    repository = indexed(LAYER, write_ztoc(LAYER))
    huge = replace(repository, ztoc=replace(repository.ztoc, size=1 << 40))

    with pytest.raises(InputError) as caught:
        huge.open()
    assert caught.value.message == ("the zTOC has 1099511627776 bytes, and 536870912 are read at most")
    assert repository.source.ranges == []


def test_checkpoints_in_a_mad_order_cost_few_reads() -> None:
    data = bytearray(write_ztoc(LAYER, span_bytes=33 << 10))
    points = gzip_points(LAYER, span_bytes=33 << 10)
    for point in points[1:]:
        place = data.find(point.window[:64]) - 17
        data[place + 8 : place + 16] = (len(TAR)).to_bytes(8, "little")
    repository = indexed(LAYER, bytes(data))
    layer = repository.open()
    repository.source.ranges.clear()

    assert b"".join(layer.read_file(len(TAR) - 20, 5)) == TAR[-20:-15]
    of_ztoc = [item for item in repository.source.ranges if item[0] == repository.ztoc.digest]
    assert len(of_ztoc) <= 8 + len(points).bit_length() + 1
    assert len(points) > 20


def test_the_soci_index_leads_to_the_table_of_each_layer() -> None:
    (digest,) = find_soci_manifests(CONTENT.soci.manifest.data, name="index")
    artifact = CONTENT.soci.children[1]

    found = read_soci_manifest(artifact.manifest.data, name="manifest")

    assert digest == artifact.digest
    assert found == {layer: ZtocBlob(digest=blob.digest, size=len(blob.data)) for layer, blob in CONTENT.ztocs.items()}
    assert find_soci_manifests(CONTENT.image.manifest.data, name="image") == ()


SMALL_LAYER = gzip.compress(make_tar([Entry(path="f", data=mixed(1, 190 << 10))]), mtime=0)
SMALL_ZTOC = write_ztoc(SMALL_LAYER)
HEADER_AT = SMALL_ZTOC.find(gzip_points(SMALL_LAYER)[1].window[:64]) - 17 - (32 << 10) - 17 - 12
PLACES = [
    *range(200),
    *range(HEADER_AT, HEADER_AT + 29),
    *range(HEADER_AT + 29 + (32 << 10), HEADER_AT + 46 + (32 << 10)),
    *range(len(SMALL_ZTOC) - 300, len(SMALL_ZTOC)),
]


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(PLACES), st.binary(min_size=1, max_size=8)), max_size=3),
    st.booleans(),
)
def test_no_damage_to_a_table_raises_another_error_or_reads_without_end(
    changes: list[tuple[int, bytes]], verify: bool
) -> None:
    data = bytearray(SMALL_ZTOC)
    for position, change in changes:
        data[position : position + len(change)] = change
    repository = indexed(SMALL_LAYER, bytes(data))

    with suppress(InputError, OutsideError):
        layer = repository.open(verify=verify)
        facts = layer.facts()
        assert len(facts.files) <= 1
        for offset, size in layer.sizes({"f"}).values():
            assert len(b"".join(layer.read_file(offset, size))) == size
    assert repository.source.range_bytes + len(repository.source.whole) < 4 << 20
