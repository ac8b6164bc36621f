"""Which of several places a component's version is taken from."""

from collections.abc import Mapping

import pytest

from rdlc.core.contents.components import COMPONENT_NAMES, Findings, FoundText, find_components
from rdlc.core.contents.config_hints import Hint
from rdlc.core.contents.inventory import Distribution, OsPackage

VENV = "opt/venv/lib/python3.13/site-packages"
BASE = "usr/local/lib/python3.13/site-packages"
PATH = "/opt/venv/bin:/usr/bin:/usr/local/bin"


def found(
    *,
    texts: Mapping[str, str] | None = None,
    distributions: tuple[tuple[str, str, str], ...] = (),
    packages: tuple[tuple[str, str], ...] = (),
    hints: Mapping[str, str] | None = None,
) -> list[tuple[str, str, str, str]]:
    """Name, version, source and evidence of each component."""
    findings = Findings(
        texts=tuple(FoundText(path=path, text=text, evidence="streamed") for path, text in (texts or {}).items()),
        distributions=tuple(
            Distribution(
                name=name,
                version=version,
                path=f"{site}/{name}-{version}.dist-info",
                evidence="soci-toc",
            )
            for site, name, version in distributions
        ),
        os_packages=tuple(
            OsPackage(kind="rpm", name=name, version=version, architecture="x86_64") for name, version in packages
        ),
        os_evidence="soci-verified",
        hints={name: Hint(version=hint, source="hint") for name, hint in (hints or {}).items()},
        path=PATH,
    )
    return [(item.name, item.version, item.source, item.evidence) for item in find_components(findings)]


def test_nothing_is_found_in_nothing() -> None:
    assert found() == []


def test_the_copy_that_runs_stands_before_other_versions_of_it() -> None:
    distributions = ((BASE, "torch", "2.12.0"), ("srv/env/site-packages", "torch", "2.11.0"))

    components = found(distributions=(*distributions, (VENV, "torch", "2.13.0+cu130")))

    assert components[1:] == [
        ("torch", "2.13.0+cu130", f"/{VENV}/torch-2.13.0+cu130.dist-info", "soci-toc"),
        ("torch", "2.12.0", f"/{BASE}/torch-2.12.0.dist-info", "soci-toc"),
        (
            "torch",
            "2.11.0",
            "/srv/env/site-packages/torch-2.11.0.dist-info",
            "soci-toc",
        ),
    ]
    assert components[0][:2] == ("python", "3.13")


def test_python_built_from_source_stands_before_the_one_of_the_system() -> None:
    header = {"usr/local/include/python3.13/patchlevel.h": '#define PY_VERSION "3.13.12"\n'}
    packages = (("python3", "3.9.25-1.amzn2023"),)

    assert found(texts=header, packages=packages, hints={"python": "3"}) == [
        (
            "python",
            "3.13.12",
            "/usr/local/include/python3.13/patchlevel.h",
            "streamed",
        )
    ]
    assert found(packages=packages, hints={"python": "3"}) == [
        ("python", "3.9.25", "rpm python3 3.9.25-1.amzn2023", "soci-verified")
    ]


def test_a_package_stands_before_the_note_its_installer_left() -> None:
    note = {
        "opt/amazon/efa_installed_packages": (
            "# EFA installer version: 1.49.0\n"
            "libfabric-aws-2.4.0amzn5.0-1.amzn2023.x86_64 libnccl-ofi-1.20.0-1.amzn2023.x86_64\n"
        )
    }
    place = "/opt/amazon/efa_installed_packages"

    assert found(texts=note) == [
        ("efa-installer", "1.49.0", place, "streamed"),
        ("libfabric", "2.4.0amzn5.0", place, "streamed"),
        ("aws-ofi-nccl", "1.20.0", place, "streamed"),
    ]
    assert found(texts=note, packages=(("libnccl-ofi", "2:1.21.1-1.amzn2023"),))[2] == (
        "aws-ofi-nccl",
        "1.21.1",
        "rpm libnccl-ofi 2:1.21.1-1.amzn2023",
        "soci-verified",
    )


@pytest.mark.parametrize(
    ("texts", "component"),
    [
        (
            {"usr/local/cuda-13.0/version.json": '{"cuda": {"name": "SDK", "version": "13.0.2"}}'},
            ("cuda", "13.0.2"),
        ),
        ({"usr/lib64/libnccl.so.2.29.7": ""}, ("nccl", "2.29.7")),
        ({"usr/local/lib/libgdrapi.so.2.4": ""}, ("gdrcopy", "2.4")),
        (
            {"etc/os-release": 'NAME="A"\nPRETTY_NAME="Amazon Linux 2023"\n'},
            ("os", "Amazon Linux 2023"),
        ),
    ],
)
def test_files_state_versions_in_their_text_or_name(texts: Mapping[str, str], component: tuple[str, str]) -> None:
    ((path, _),) = texts.items()

    assert found(texts=texts) == [(*component, f"/{path}", "streamed")]


@pytest.mark.parametrize(
    ("distribution", "component"),
    [
        (("nvidia-nccl-cu13", "2.29.7"), "nccl"),
        (("nvidia-cudnn-cu13", "9.20.0.48"), "cudnn"),
        (("nvidia-cuda-runtime", "13.0.96"), "cuda-runtime"),
        (("flash-attn", "2.8.3"), "flash-attn"),
    ],
)
def test_wheels_carry_libraries(distribution: tuple[str, str], component: str) -> None:
    name, version = distribution

    place = f"/{VENV}/{name}-{version}.dist-info"
    assert found(distributions=((VENV, name, version),))[1:] == [(component, version, place, "soci-toc")]


def test_a_hint_counts_only_where_nothing_else_is_known_and_stays_one() -> None:
    components = found(distributions=((VENV, "torch", "2.13.0"),), hints={"torch": "2", "cuda": "13"})

    assert [(name, version, evidence) for name, version, _, evidence in components] == [
        ("python", "3.13", "soci-toc"),
        ("torch", "2.13.0", "soci-toc"),
        ("cuda", "13", "config-only"),
    ]


def test_components_come_in_one_order() -> None:
    names = [name for name, *_ in found(hints=dict.fromkeys(reversed(COMPONENT_NAMES), "1"))]

    assert names == list(COMPONENT_NAMES)
