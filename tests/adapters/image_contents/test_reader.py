"""The contents of an image by every route: the same answer, each with its evidence."""

from pathlib import Path

import pytest

from rdlc.adapters.image_contents.cache import LayerCache
from rdlc.adapters.image_contents.reader import ReadOptions, read_contents
from rdlc.core.contents.inventory import Component, Distribution, Inventory, OsPackage
from tests.adapters.image_contents.dlc_like import (
    BASE_SITE,
    ENVIRONMENT,
    NCCL_CONF,
    NEXT_BUILD,
    VENV_SITE,
    dlc_like_image,
    layer_digests,
)
from tests.adapters.image_contents.reading import (
    CONTENT,
    STREAM,
    VERIFY,
    image_of,
    read,
    resolve,
    source_of,
    versions,
    without_evidence,
)
from tests.registry.images import Entry, make_layer


def test_streaming_finds_everything_in_the_image() -> None:
    inventory = read(CONTENT, source_of(CONTENT), STREAM).inventory

    venv, base = f"/{VENV_SITE}", f"/{BASE_SITE}"
    components = {
        "os": ("Amazon Linux 2023.8.20250818", "/usr/lib/os-release"),
        "python": ("3.13.12", "/usr/local/include/python3.13/patchlevel.h"),
        "ray": ("2.58.0", f"{venv}/ray-2.58.0.dist-info"),
        "torch": ("2.13.0+cu130", f"{venv}/torch-2.13.0+cu130.dist-info"),
        "cuda": ("13.0.2", "/usr/local/cuda-13.0/version.json"),
        "cuda-runtime": ("13.0.96", "rpm cuda-cudart-13-0 13.0.96-1"),
        "cuda-compat": ("580.82.07", "rpm cuda-compat-13-0 1:580.82.07-1.el9"),
        "cudnn": ("9.20.0.48", f"{venv}/nvidia_cudnn_cu13-9.20.0.48.dist-info"),
        "nccl": ("2.29.7", f"{venv}/nvidia_nccl_cu13-2.29.7.dist-info"),
        "efa-installer": ("1.47.0", "/opt/amazon/efa_installed_packages"),
        "libfabric": ("2.4.0amzn4.0", "rpm libfabric-aws 2.4.0amzn4.0-1.amzn2023"),
        "aws-ofi-nccl": ("1.18.0", "rpm libnccl-ofi 1.18.0-1.amzn2023"),
        "openmpi": ("5.0.8amzn1", "rpm openmpi50-aws 5.0.8amzn1-13"),
        "flash-attn": ("2.8.3", f"{venv}/flash_attn-2.8.3.dist-info"),
    }
    distributions = (
        ("flash-attn", "2.8.3", f"{venv}/flash_attn-2.8.3.dist-info"),
        ("nvidia-cudnn-cu13", "9.20.0.48", f"{venv}/nvidia_cudnn_cu13-9.20.0.48.dist-info"),
        ("nvidia-nccl-cu13", "2.29.7", f"{venv}/nvidia_nccl_cu13-2.29.7.dist-info"),
        ("pip", "26.1.2", f"{base}/pip-26.1.2.dist-info"),
        ("ray", "2.58.0", f"{venv}/ray-2.58.0.dist-info"),
        ("requests", "2.34.1", f"{venv}/requests-2.34.1.dist-info"),
        ("requests", "2.32.0", f"{base}/requests-2.32.0.dist-info"),
        ("torch", "2.13.0+cu130", f"{venv}/torch-2.13.0+cu130.dist-info"),
    )
    packages = (
        ("cuda-compat-13-0", "1:580.82.07-1.el9", "x86_64"),
        ("cuda-cudart-13-0", "13.0.96-1", "x86_64"),
        ("glibc", "2.34-231.amzn2023.0.2", "x86_64"),
        ("gpg-pubkey", "d832c631-6515c85e", ""),
        ("libfabric-aws", "2.4.0amzn4.0-1.amzn2023", "x86_64"),
        ("libnccl-ofi", "1.18.0-1.amzn2023", "x86_64"),
        ("openmpi50-aws", "5.0.8amzn1-13", "x86_64"),
        ("openssl-libs", "1:3.2.2-1.amzn2023.0.1", "x86_64"),
        ("python3", "3.9.25-1.amzn2023.0.1", "x86_64"),
    )
    assert inventory == Inventory(
        evidence="streamed",
        components=tuple(
            Component(name=name, version=version, source=place, evidence="streamed")
            for name, (version, place) in components.items()
        ),
        distributions=tuple(
            Distribution(name=name, version=version, path=path, evidence="streamed")
            for name, version, path in distributions
        ),
        os_packages=tuple(
            OsPackage(kind="rpm", name=name, version=version, architecture=architecture)
            for name, version, architecture in packages
        ),
        nccl_conf=NCCL_CONF,
        environment=ENVIRONMENT,
    )


def test_every_route_gives_the_same_answer_with_its_own_evidence() -> None:
    by_toc = read(CONTENT, source_of(CONTENT)).inventory
    verified = read(CONTENT, source_of(CONTENT), VERIFY).inventory
    streamed = read(CONTENT, source_of(CONTENT), STREAM).inventory

    assert without_evidence(by_toc) == without_evidence(verified) == without_evidence(streamed)
    assert (by_toc.evidence, verified.evidence) == ("soci-toc", "soci-verified")
    # The layer of flash-attn is packed with zstd, so it has no zTOC.
    assert {item.name: item.evidence for item in by_toc.components} == {
        **dict.fromkeys((item.name for item in by_toc.components), "soci-toc"),
        "flash-attn": "streamed",
    }


def test_the_table_of_contents_saves_reading_layers_whole() -> None:
    content = dlc_like_image(payload_bytes=3_000_000)
    source = source_of(content)

    contents = read(content, source)

    zstd_layer = layer_digests(content)[2]
    assert source.whole == [zstd_layer]
    venv = layer_digests(content)[1]
    assert [item for item in source.ranges if item[0] == venv] == []
    ztoc = content.ztocs[venv]
    read_of_ztoc = sum(length for digest, _, length in source.ranges if digest == ztoc.digest)
    assert read_of_ztoc < 80_000 < len(ztoc.data)
    assert contents.read_bytes == source.range_bytes + len(source.blobs[zstd_layer])


def test_the_config_alone_reads_no_layer() -> None:
    source = source_of(CONTENT)

    contents = read(CONTENT, source, ReadOptions(route="config"))

    assert versions(contents.inventory) == {
        "python": "3.13.12",
        "ray": "2.58.0",
        "cuda": "13.0.2",
        "efa-installer": "1.47.0",
    }
    assert (contents.inventory.evidence, source.whole, source.ranges) == ("config-only", [], [])


def test_a_rebuild_shows_what_moved_and_shared_layers_are_not_read_again() -> None:
    rebuilt = dlc_like_image(NEXT_BUILD)
    source = source_of(CONTENT)
    source.add(rebuilt.image)
    old = read(CONTENT, source, STREAM)
    source.whole.clear()

    new = read_contents(resolve(rebuilt.image), source, known=old.known, options=STREAM)

    before, after = versions(old.inventory), versions(new.inventory)
    assert {name: after[name] for name in after if after[name] != before[name]} == {
        "efa-installer": "1.49.0",
        "libfabric": "2.4.0amzn5.0",
        "aws-ofi-nccl": "1.20.0",
    }
    changed = set(new.inventory.os_packages) - set(old.inventory.os_packages)
    assert {item.name for item in changed} == {"libfabric-aws", "libnccl-ofi", "openssl-libs"}
    moved = set(new.inventory.distributions) - set(old.inventory.distributions)
    assert [(item.name, item.version) for item in moved] == [("requests", "2.34.2")]
    assert sorted(source.whole) == sorted(set(layer_digests(rebuilt)) - set(layer_digests(CONTENT)))
    assert len(source.whole) == 3


def test_layers_come_from_the_cache_the_second_time(tmp_path: Path) -> None:
    cache = LayerCache(tmp_path)
    first = read(CONTENT, source_of(CONTENT), cache=cache)
    source = source_of(CONTENT)

    second = read(CONTENT, source, cache=cache)

    assert second.inventory == first.inventory
    assert (source.whole, source.ranges, second.read_bytes) == ([], [], 0)


def test_weaker_evidence_in_the_cache_does_not_answer_for_stronger(tmp_path: Path) -> None:
    cache = LayerCache(tmp_path)
    read(CONTENT, source_of(CONTENT), cache=cache)
    source = source_of(CONTENT)

    streamed = read(CONTENT, source, STREAM, cache=cache)
    again = read(CONTENT, source_of(CONTENT), cache=cache)

    assert streamed.inventory.evidence == again.inventory.evidence == "streamed"
    assert sorted(source.whole) == sorted(set(layer_digests(CONTENT)) - {layer_digests(CONTENT)[2]})


@pytest.mark.parametrize("options", [STREAM, ReadOptions(), VERIFY])
def test_requirements_of_a_distribution_are_read_on_demand(options: ReadOptions) -> None:
    contents = read(CONTENT, source_of(CONTENT), options)
    ray = next(item for item in contents.inventory.distributions if item.name == "ray")

    assert contents.requirements(ray) == ("click>=7.0", "filelock")


def test_requirements_are_read_through_the_table_of_contents_after_the_cache_too(
    tmp_path: Path,
) -> None:
    read(CONTENT, source_of(CONTENT), cache=LayerCache(tmp_path))
    source = source_of(CONTENT)
    contents = read(CONTENT, source, cache=LayerCache(tmp_path))
    torch = next(item for item in contents.inventory.distributions if item.name == "torch")

    assert contents.requirements(torch) == ("filelock", "sympy>=1.13.3")
    assert source.whole == []
    assert source.ranges != []


@pytest.mark.parametrize("options", [STREAM, ReadOptions(), VERIFY])
def test_hardlinked_files_are_read_where_their_bytes_lie(options: ReadOptions) -> None:
    layer = make_layer(
        [
            Entry(path="opt/store/conf", data=b"NCCL_DEBUG=WARN\n"),
            Entry(path="opt/store/meta", data=b"Name: odd\nVersion: 1.5\n\n"),
            Entry(path="etc/nccl.conf", kind="hardlink", target="opt/store/conf"),
            Entry(
                path=f"{VENV_SITE}/odd.dist-info/METADATA",
                kind="hardlink",
                target="opt/store/meta",
            ),
        ]
    )
    content = image_of(layer, indexed=(layer,))

    inventory = read(content, source_of(content), options).inventory

    assert inventory.nccl_conf == "NCCL_DEBUG=WARN\n"
    assert [(item.name, item.version) for item in inventory.distributions] == [("odd", "1.5")]
    assert inventory.notes == ()
