"""From files, packages and hints to what an image holds."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pytest

from rdlc.core.contents.config_hints import Hint, config_hints
from rdlc.core.contents.dpkg_status import read_dpkg_status
from rdlc.core.contents.inventory import (
    Component,
    Distribution,
    Inventory,
    OsPackage,
    evidence_rank,
    weakest,
)
from rdlc.core.contents.inventory_assembly import build_inventory
from rdlc.core.contents.layer_facts import FileFact
from rdlc.core.contents.python_distributions import (
    metadata_field,
    name_and_version,
    summarise_metadata,
)
from rdlc.core.contents.wanted_files import file_kind
from tests.layer_samples import layer

SITE = "opt/venv/lib/python3.13/site-packages"


@dataclass(frozen=True, kw_only=True, slots=True)
class Config:
    """What an image says about itself."""

    env: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    history: tuple[str, ...] = ()


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        (f"{SITE}/torch-2.13.0+cu130.dist-info/METADATA", "metadata"),
        ("usr/lib/python3/dist-packages/six-1.16.0.egg-info", "metadata"),
        ("usr/lib/python3/dist-packages/attrs-23.2.0.egg-info/PKG-INFO", "metadata"),
        (f"{SITE}/torch-2.13.0+cu130.dist-info/RECORD", None),
        (f"{SITE}/setuptools/_vendor/packaging-24.2.dist-info/METADATA", None),
        ("opt/other/torch-2.13.0.dist-info/METADATA", None),
        ("etc/nccl.conf", "text"),
        ("usr/local/cuda-13.0/version.json", "text"),
        ("usr/local/include/python3.13/patchlevel.h", "text"),
        ("var/lib/rpm/rpmdb.sqlite", "rpm"),
        ("usr/lib/sysimage/rpm/rpmdb.sqlite-wal", "rpm-wal"),
        ("var/lib/rpm/rpmdb.sqlite-shm", None),
        ("var/lib/dpkg/status", "dpkg"),
        ("var/lib/dpkg/status.d/base", "dpkg"),
        ("var/lib/dpkg/status.d/base.md5sums", None),
        ("usr/lib/x86_64-linux-gnu/libnccl.so.2.29.7", "name"),
        ("usr/local/lib/libgdrapi.so.2.4", "name"),
        ("usr/lib/libnccl.so.2", None),
    ],
)
def test_wanted_files_are_picked_by_path(path: str, kind: str | None) -> None:
    assert file_kind(path) == kind


@pytest.mark.parametrize(
    ("folder", "known"),
    [
        ("a/Nvidia_NCCL.cu13-2.29.7.dist-info", ("nvidia-nccl-cu13", "2.29.7")),
        ("a/zope-interface-5.0.dist-info", ("zope-interface", "5.0")),
        ("a/six-1.16.0-py3.12.egg-info", ("six", "1.16.0")),
        ("a/distribution.dist-info", None),
    ],
)
def test_name_and_version_come_from_the_folder(folder: str, known: tuple[str, str] | None) -> None:
    assert name_and_version(folder) == known


def test_metadata_ends_with_its_header_and_joins_continued_lines() -> None:
    text = "Name: ray\r\nRequires-Dist: click>=7.0\r\nRequires-Dist: a;\r\n  extra == 'x'\r\n\r\nName: no\n"

    assert metadata_field(text, "Requires-Dist") == ("click>=7.0", "a; extra == 'x'")
    assert summarise_metadata(text) == ("Name: ray\nRequires-Dist: click>=7.0\nRequires-Dist: a; extra == 'x'\n")


def test_dpkg_lists_what_is_installed() -> None:
    text = (
        "Package: libc6\nStatus: install ok installed\nArchitecture: amd64\nVersion: 2.36-9\n"
        "Description: long\n Version: of a continued line\n\n"
        "Package: gone\nStatus: deinstall ok config-files\nVersion: 1\n\n"
        "Package: distroless\nVersion: 2:3\n"
    )

    assert read_dpkg_status(text) == (
        OsPackage(kind="dpkg", name="libc6", version="2.36-9", architecture="amd64"),
        OsPackage(kind="dpkg", name="distroless", version="2:3", architecture=""),
    )


def test_hints_come_from_labels_environment_and_build_arguments() -> None:
    config = Config(
        env={"CUDA_VERSION": "13.0.2"},
        labels={"framework": "ray", "framework_version": "2.58.0"},
        history=(
            "/bin/sh -c #(nop)  ARG PYTHON_VERSION=3.13.12",
            "RUN |3 CUDA_VERSION=12 EFA_VERSION=1.47.0 NAME=a b /bin/sh -c bash x TORCH_VERSION=9 # buildkit",
            "RUN |1 EFA_VERSION=1.49.0 /bin/bash -o pipefail -c make",
            "RUN |1 EFA_VERSION=1.49.0 /bin/bash -ec make",
        ),
    )

    assert config_hints(config) == {
        "python": Hint(version="3.13.12", source="history: PYTHON_VERSION"),
        "cuda": Hint(version="13.0.2", source="environment: CUDA_VERSION"),
        "efa-installer": Hint(version="1.49.0", source="history: EFA_VERSION"),
        "ray": Hint(version="2.58.0", source="label: framework_version"),
    }


def test_an_inventory_of_the_config_alone_says_that_it_is_not_complete() -> None:
    config = Config(env={"FI_PROVIDER": "efa"}, labels={"framework": "ray", "framework_version": "2.58.0"})

    inventory = build_inventory(config, ())

    hint = Component(name="ray", version="2.58.0", source="label: framework_version", evidence="config-only")
    assert inventory == Inventory(
        evidence="config-only",
        components=(hint,),
        distributions=(),
        os_packages=(),
        nccl_conf=None,
        environment={"FI_PROVIDER": "efa"},
    )
    assert not inventory.complete
    assert inventory.component("ray") == hint
    assert inventory.component("torch") is None


def test_the_whole_is_as_sure_as_its_weakest_layer_and_each_part_as_its_own() -> None:
    lower = layer(f"{SITE}/ray-2.58.0.dist-info/METADATA", evidence="soci-toc")
    upper = layer(contents={"etc/nccl.conf": "NCCL_DEBUG=INFO\n"})

    inventory = build_inventory(Config(), (lower, upper))

    assert inventory.evidence == "soci-toc"
    assert inventory.complete
    assert inventory.nccl_conf == "NCCL_DEBUG=INFO\n"
    assert inventory.distributions == (
        Distribution(
            name="ray",
            version="2.58.0",
            path=f"/{SITE}/ray-2.58.0.dist-info",
            evidence="soci-toc",
        ),
    )
    assert inventory.distributions[0].site == f"/{SITE}"


def test_a_distribution_without_version_in_its_path_is_read_from_its_text() -> None:
    text = "Name: Odd_One\nVersion: 1.0\n"
    facts = layer(contents={f"{SITE}/odd.dist-info/METADATA": text})

    (found,) = build_inventory(Config(), (facts,)).distributions

    assert (found.name, found.version) == ("odd-one", "1.0")


def test_what_was_not_read_is_said() -> None:
    database = "var/lib/rpm/rpmdb.sqlite"
    main = replace(layer(), files={database: FileFact(size=1, packages=())}, notes=("a note",))
    log = layer(f"{database}-wal", "var/lib/dpkg/status")
    old = layer("var/lib/rpm/Packages")

    assert build_inventory(Config(), (main, log)).notes == (
        "a note",
        "/var/lib/dpkg/status could not be read: its packages are not listed",
        f"/{database}-wal came in another layer than its database: the RPM packages may be older",
    )
    assert build_inventory(Config(), (old,)).notes == (
        "/var/lib/rpm/Packages is no SQLite database: the RPM packages are not listed",
    )


def test_evidence_rises_from_hint_to_proof() -> None:
    assert weakest(["streamed", "soci-toc", "soci-verified"]) == "soci-toc"
    assert weakest([]) == "config-only"
    assert evidence_rank("streamed") > evidence_rank("soci-verified") > evidence_rank("soci-toc") > 0
