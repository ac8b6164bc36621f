"""The base: its platform, its digest, its markers, and what a resolver sees of it."""

import zipfile
from dataclasses import replace
from io import BytesIO

import pytest
from packaging.requirements import Requirement

from rdlc.core.canonical import digest
from rdlc.core.packages.base import PLATFORMS, Base, BaseDistribution, holds, marker_environment
from rdlc.core.packages.mending import mend_base
from rdlc.core.packages.stubs import stub_wheel
from rdlc.errors import InputError

TORCH = BaseDistribution(name="torch", version="2.13.0+cu130", requires=("sympy>=1.13", 'opt-einsum; extra == "opt"'))
SYMPY = BaseDistribution(name="sympy", version="1.14.0")
BASE = Base(
    python="3.13.12",
    implementation="CPython",
    machine="x86_64",
    glibc=(2, 34),
    distributions=(SYMPY, TORCH),
    evidence="streamed",
)


@pytest.mark.parametrize(
    ("glibc", "step"),
    [((2, 34), 34), ((2, 30), 28), ((2, 17), 17), ((2, 12), 17), ((2, 99), 40), ((3, 0), 17), (None, 17)],
)
def test_the_platform_is_the_newest_step_that_the_glibc_reaches(glibc: tuple[int, int] | None, step: int) -> None:
    platform = replace(BASE, glibc=glibc).uv_platform

    assert platform == f"x86_64-manylinux_2_{step}"
    assert platform in PLATFORMS


def test_the_digest_is_over_python_platform_and_every_distribution() -> None:
    held = [["sympy", "1.14.0", []], ["torch", "2.13.0+cu130", ['opt-einsum; extra == "opt"', "sympy>=1.13"]]]

    assert BASE.constraints_digest == digest(["3.13.12", "x86_64-manylinux_2_34", held])
    assert replace(BASE, evidence="soci-toc").constraints_digest == BASE.constraints_digest


@pytest.mark.parametrize(
    "other",
    [
        replace(BASE, python="3.13.11"),
        replace(BASE, machine="aarch64"),
        replace(BASE, distributions=(SYMPY,)),
        replace(BASE, distributions=(SYMPY, replace(TORCH, version="2.13.0"))),
        replace(BASE, distributions=(SYMPY, replace(TORCH, requires=()))),
    ],
)
def test_whatever_a_resolution_depends_on_gives_another_digest(other: Base) -> None:
    assert other.constraints_digest != BASE.constraints_digest


@pytest.mark.parametrize(
    ("marker", "is_true"),
    [
        ('python_version >= "3.13"', True),
        ('python_full_version < "3.13.12"', False),
        ('sys_platform == "linux" and platform_machine == "x86_64"', True),
        ('implementation_name == "cpython"', True),
        ('platform_system == "Windows"', False),
        ('extra == "opt"', False),
    ],
)
def test_markers_are_those_of_the_base_and_not_of_this_machine(marker: str, is_true: bool) -> None:
    assert holds(Requirement(f"x; {marker}"), marker_environment(BASE)) is is_true


def test_a_marker_that_cannot_be_compared_is_refused() -> None:
    with pytest.raises(InputError) as caught:
        holds(Requirement('x; sys_platform ~= "linux"'), marker_environment(BASE))

    assert caught.value.message == 'the marker of `x; sys_platform ~= "linux"` cannot be compared'


def test_a_sound_base_is_left_as_it_is() -> None:
    mended = mend_base(BASE)

    assert (mended.base, mended.unmet) == (BASE, ())


@pytest.mark.parametrize("line", ["sympy<1.14", "mpmath", "not a requirement", 'x; sys_platform ~= "linux"'])
def test_what_the_base_does_not_meet_itself_is_left_out(line: str) -> None:
    base = replace(BASE, distributions=(SYMPY, replace(TORCH, requires=(line, "sympy"))))

    mended = mend_base(base)

    assert mended.base.distributions == (SYMPY, replace(TORCH, requires=("sympy",)))
    assert mended.unmet == (f"torch 2.13.0+cu130 wants {line}",)


def test_requirements_with_another_marker_or_an_extra_stay() -> None:
    lines = ('mpmath; sys_platform == "win32"', 'opt-einsum; extra == "opt"')
    base = replace(BASE, distributions=(replace(TORCH, requires=lines),))

    assert mend_base(base).base == base


def test_a_version_that_cannot_be_compared_is_left_out() -> None:
    mended = mend_base(replace(BASE, distributions=(replace(SYMPY, version="2014b-odd"), TORCH)))

    assert [item.name for item in mended.base.distributions] == ["torch"]
    assert mended.unmet[0] == "sympy has the version `2014b-odd`, which cannot be compared"


def test_a_stub_wheel_has_the_metadata_and_nothing_else() -> None:
    distribution = replace(TORCH, name="torch-extra", requires=(*TORCH.requires, "x @ https://host/x.whl", "!?"))

    name, data = stub_wheel(distribution)

    with zipfile.ZipFile(BytesIO(data)) as archive:
        folder = "torch_extra-2.13.0+cu130.dist-info"
        assert archive.namelist() == [f"{folder}/METADATA", f"{folder}/WHEEL", f"{folder}/RECORD"]
        assert archive.read(f"{folder}/METADATA").decode() == (
            "Metadata-Version: 2.1\nName: torch-extra\nVersion: 2.13.0+cu130\nProvides-Extra: opt\n"
            'Requires-Dist: sympy>=1.13\nRequires-Dist: opt-einsum; extra == "opt"\nRequires-Dist: x\n'
        )
    assert name == "torch_extra-2.13.0+cu130-py3-none-any.whl"


def test_the_same_distribution_gives_the_same_bytes() -> None:
    assert stub_wheel(TORCH) == stub_wheel(replace(TORCH))
