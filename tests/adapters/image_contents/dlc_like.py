"""An image shaped like the Ray Train DLC, and its rebuild, small enough to be built in a moment.

Five layers: the base system; a virtual environment; the same folder copied over it, which removes
and replaces some of it (packed with zstd); the EFA installer, with an RPM database whose last
changes stand in its log; a security update.
"""

import random
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from rdlc.core.canonical import digest_of_bytes
from tests.adapters.image_contents.rpm_writer import Rpm, make_database
from tests.adapters.image_contents.ztoc_writer import write_ztoc
from tests.registry.images import (
    Blob,
    Entry,
    Image,
    Index,
    Layer,
    build_artifact,
    build_image,
    build_index,
    make_layer,
)

BASE_SITE = "usr/local/lib/python3.13/site-packages"
VENV_SITE = "opt/venv/lib/python3.13/site-packages"
SOCI_TYPE = "application/vnd.amazon.soci.index.v2+json"
ENVIRONMENT = {
    "PATH": "/opt/venv/bin:/opt/amazon/efa/bin:/usr/local/cuda/bin:/usr/local/bin:/usr/bin",
    "FI_PROVIDER": "efa",
    "NCCL_DEBUG": "INFO",
    "CUDA_HOME": "/usr/local/cuda",
}
NCCL_CONF = "NCCL_DEBUG=INFO\nNCCL_SOCKET_IFNAME=^docker0,lo\n"


@dataclass(frozen=True, kw_only=True, slots=True)
class Build:
    """What varies from one build to the next."""

    ray: str = "2.58.0"
    torch: str = "2.13.0+cu130"
    nccl: str = "2.29.7"
    efa: str = "1.47.0"
    libfabric: str = "2.4.0amzn4.0"
    ofi_nccl: str = "1.18.0"
    openssl: str = "3.2.2"
    requests: str = "2.34.1"
    minor: str = "0"


FIRST_BUILD = Build()
# What a rebuild behind the same tag moves: the EFA stack, a pip package, an RPM.
NEXT_BUILD = replace(
    FIRST_BUILD,
    efa="1.49.0",
    libfabric="2.4.0amzn5.0",
    ofi_nccl="1.20.0",
    openssl="3.2.4",
    requests="2.34.2",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class DlcLike:
    """The image, its layers, and what is published under its `-soci` tag."""

    image: Image
    layers: tuple[Layer, ...]
    soci: Index
    ztocs: Mapping[str, Blob] = field(repr=False)


def dlc_like_image(build: Build = FIRST_BUILD, *, payload_bytes: int = 400_000) -> DlcLike:
    """`payload_bytes` of each virtual environment layer cannot be packed."""
    layers = (
        _base_layer(build),
        _venv_layer(build, payload_bytes),
        _overlay_layer(build, payload_bytes),
        _efa_layer(build),
        _update_layer(build),
    )
    image = build_image(
        layers,
        env=ENVIRONMENT,
        labels={
            "framework": "ray",
            "framework_version": build.ray,
            "dlc_major_version": "1",
            "dlc_minor_version": build.minor,
        },
        history=(
            "ARG PYTHON_VERSION=3.13.12",
            f"RUN |2 EFA_VERSION={build.efa} CUDA_VERSION=13.0.2 /bin/sh -c bash /tmp/install_efa.sh",
        ),
        runtime={"Entrypoint": ["/usr/local/bin/entrypoint.sh"], "WorkingDir": "/workspace"},
    )
    packed = [layer for layer in layers if layer.blob.data[:2] == b"\x1f\x8b"]
    return publish_soci(image, layers, packed)


def publish_soci(image: Image, layers: Sequence[Layer], indexed: Sequence[Layer]) -> DlcLike:
    """An image with a SOCI index that has zTOCs of some of its layers."""
    ztocs = {layer.blob.digest: ztoc_blob(layer) for layer in indexed}
    artifact = build_artifact(tuple(ztocs.values()), artifact_type=SOCI_TYPE)
    extra = {
        "artifactType": SOCI_TYPE,
        "platform": dict(image.platform),
        "annotations": {"com.amazon.soci.image-manifest-digest": image.digest},
    }
    soci = build_index((image, artifact), extras={1: extra})
    return DlcLike(image=image, layers=tuple(layers), soci=soci, ztocs=ztocs)


def ztoc_blob(layer: Layer, data: bytes | None = None) -> Blob:
    """The blob of a layer's zTOC, or one that stands in for it."""
    return Blob(
        data=write_ztoc(layer.blob.data) if data is None else data,
        media_type="application/octet-stream",
        annotations={"com.amazon.soci.image-layer-digest": layer.blob.digest},
    )


def distribution(site: str, name: str, version: str, *requirements: str) -> list[Entry]:
    """The files by which a distribution is known, and one of its modules."""
    folder = f"{site}/{name}-{version}.dist-info"
    lines = [f"Requires-Dist: {requirement}" for requirement in requirements]
    metadata = "\n".join(["Metadata-Version: 2.4", f"Name: {name}", f"Version: {version}", *lines, "", "Text\n"])
    return [
        Entry(path=f"{folder}/", kind="folder"),
        Entry(path=f"{folder}/METADATA", data=metadata.encode()),
        Entry(path=f"{folder}/RECORD", data=b""),
        Entry(path=f"{site}/{name}/__init__.py", data=b"pass\n"),
    ]


def noise(name: str, count: int) -> Entry:
    """A file that cannot be packed, the same in every build."""
    data = random.Random(name).randbytes(count)
    return Entry(path=f"opt/data/{name}.bin", data=data)


def rpm_packages(build: Build, *, has_efa: bool, openssl: str) -> list[Rpm]:
    """What the RPM database lists."""
    packages = [
        Rpm(name="glibc", version="2.34", release="231.amzn2023.0.2"),
        Rpm(name="openssl-libs", version=openssl, release="1.amzn2023.0.1", epoch=1),
        Rpm(name="cuda-cudart-13-0", version="13.0.96", release="1"),
        Rpm(name="cuda-compat-13-0", version="580.82.07", release="1.el9", epoch=1),
        Rpm(name="python3", version="3.9.25", release="1.amzn2023.0.1"),
        Rpm(name="gpg-pubkey", version="d832c631", release="6515c85e", architecture=""),
    ]
    if has_efa:
        packages += [
            Rpm(name="libfabric-aws", version=build.libfabric, release="1.amzn2023"),
            Rpm(name="libnccl-ofi", version=build.ofi_nccl, release="1.amzn2023"),
            Rpm(name="openmpi50-aws", version="5.0.8amzn1", release="13"),
        ]
    return packages


def rpm_entries(packages: Sequence[Rpm], *, in_log: Sequence[Rpm] = ()) -> list[Entry]:
    """The files of an RPM database, its log as `rpm` leaves it."""
    with tempfile.TemporaryDirectory() as folder:
        database = make_database(Path(folder), packages, in_log=in_log)
    return [
        Entry(path="var/lib/rpm/rpmdb.sqlite", data=database.main),
        Entry(path="var/lib/rpm/rpmdb.sqlite-wal", data=database.log),
    ]


def _base_layer(build: Build) -> Layer:
    release = 'NAME="Amazon Linux"\nVERSION="2023"\nPRETTY_NAME="Amazon Linux 2023.8.20250818"\n'
    version = '{\n   "cuda" : {\n      "name" : "CUDA SDK",\n      "version" : "13.0.2"\n   }\n}\n'
    python = '#define PY_MAJOR_VERSION 3\n#define PY_VERSION          "3.13.12"\n'
    return make_layer(
        [
            Entry(path="usr/lib/os-release", data=release.encode()),
            Entry(path="etc/os-release", kind="symlink", target="../usr/lib/os-release"),
            Entry(path="usr/local/cuda-13.0/version.json", data=version.encode()),
            Entry(path="usr/local/cuda", kind="symlink", target="cuda-13.0"),
            Entry(path="usr/local/include/python3.13/patchlevel.h", data=python.encode()),
            noise("base", 150_000),
            *distribution(BASE_SITE, "pip", "26.1.2"),
            *distribution(BASE_SITE, "requests", "2.32.0"),
            *rpm_entries(rpm_packages(build, has_efa=False, openssl="3.2.2")),
        ]
    )


def _venv_layer(build: Build, payload_bytes: int) -> Layer:
    nested = f"{VENV_SITE}/setuptools/_vendor/packaging-24.2.dist-info/METADATA"
    return make_layer(
        [
            noise("torch", payload_bytes),
            *distribution(VENV_SITE, "ray", build.ray, "click>=7.0", "filelock"),
            *distribution(VENV_SITE, "torch", build.torch, "filelock", "sympy>=1.13.3"),
            *distribution(VENV_SITE, "nvidia_nccl_cu13", build.nccl),
            *distribution(VENV_SITE, "nvidia_cudnn_cu13", "9.20.0.48"),
            *distribution(VENV_SITE, "left_over", "1.0"),
            *distribution(VENV_SITE, "flash_attn", "2.7.0"),
            Entry(path=nested, data=b"Name: packaging\nVersion: 24.2\n"),
            noise("behind", payload_bytes // 4),
        ]
    )


def _overlay_layer(build: Build, payload_bytes: int) -> Layer:
    return make_layer(
        [
            Entry(path=f"{VENV_SITE}/.wh.left_over-1.0.dist-info"),
            Entry(path=f"{VENV_SITE}/.wh.flash_attn-2.7.0.dist-info"),
            Entry(path=f"{VENV_SITE}/nvidia/.wh..wh..opq"),
            noise("overlay", payload_bytes // 4),
            *distribution(VENV_SITE, "flash_attn", "2.8.3"),
            *distribution(VENV_SITE, "requests", build.requests, "urllib3<3,>=1.21.1"),
        ],
        compression="zstd",
    )


def _efa_layer(build: Build) -> Layer:
    packages = rpm_packages(build, has_efa=True, openssl="3.2.2")
    installed = f"# EFA installer version: {build.efa}\n# Debug packages installed: no\n"
    return make_layer(
        [
            Entry(path="opt/amazon/efa_installed_packages", data=installed.encode()),
            Entry(path="etc/nccl.conf", data=NCCL_CONF.encode()),
            noise("efa", 200_000),
            *rpm_entries(packages[:6], in_log=packages[6:]),
        ]
    )


def _update_layer(build: Build) -> Layer:
    packages = rpm_packages(build, has_efa=True, openssl=build.openssl)
    return make_layer(
        [
            Entry(path="tmp/.wh.install_efa.sh"),
            *rpm_entries(packages[:-1], in_log=packages[-1:]),
        ]
    )


def layer_digests(content: DlcLike) -> tuple[str, ...]:
    """The digests of the layers, the lowest first."""
    return tuple(digest_of_bytes(layer.blob.data) for layer in content.layers)
