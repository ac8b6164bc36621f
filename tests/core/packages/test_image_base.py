"""Which Python of an image is the base."""

from dataclasses import replace

import pytest

from rdlc.core.contents.inventory import Distribution, Inventory, OsPackage
from rdlc.core.image.oci_platform import Platform
from rdlc.core.packages.base import Base, BaseDistribution
from rdlc.core.packages.image_base import find_python, image_base
from rdlc.errors import RdlcError
from tests.image_samples import make_inventory

AMD64 = Platform(os="linux", architecture="amd64")
VENV = "/opt/venv/lib/python3.13/site-packages"
SYSTEM = "/usr/lib/python3.9/site-packages"


def inventory(*places: tuple[str, str, str], python: str = "3.13.12", **environment: str) -> Inventory:
    """An inventory with distributions as site, name and version."""
    held = make_inventory(
        {"python": python} if python else {}, environment=environment or {"PATH": "/opt/venv/bin:/usr/bin"}
    )
    return replace(
        held,
        distributions=tuple(
            Distribution(name=name, version=version, path=f"{site}/{name}-{version}.dist-info", evidence="streamed")
            for site, name, version in places
        ),
    )


def versions(held: Inventory) -> dict[str, str]:
    return {item.name: item.version for item in find_python(held).distributions}


def test_only_the_python_that_path_finds_first_counts() -> None:
    held = inventory((SYSTEM, "urllib3", "1.0"), (VENV, "torch", "2.13.0"), ("/srv/x-packages", "z", "1"))

    python = find_python(held)

    assert (python.version, python.sites, versions(held)) == ("3.13.12", (VENV,), {"torch": "2.13.0"})


def test_a_virtual_environment_goes_before_path() -> None:
    held = inventory((SYSTEM, "urllib3", "1.0"), (VENV, "torch", "2.13.0"), VIRTUAL_ENV="/opt/venv/", PATH="/usr/bin")

    assert versions(held) == {"torch": "2.13.0"}


def test_every_folder_of_that_python_counts_and_the_first_wins() -> None:
    places = ("/usr/lib/python3/dist-packages", "/usr/local/lib/python3.13/dist-packages", "/usr/lib/python3.12/x")
    held = inventory(
        (places[0], "numpy", "1.0"), (places[1], "numpy", "2.0"), (places[1], "torch", "2.13.0"),
        ("/usr/lib64/python3.13/site-packages", "rich", "14.0"), PATH="/usr/bin",
    )  # fmt: skip

    assert versions(held) == {"numpy": "1.0", "rich": "14.0", "torch": "2.13.0"}


def test_folders_of_another_python_than_stated_decide() -> None:
    assert find_python(inventory((VENV, "torch", "2.13.0"), python="3.9.1")).version == "3.13"
    assert find_python(inventory((VENV, "torch", "2.13.0"), python="")).version == "3.13"


@pytest.mark.parametrize(("python", "stated"), [("", "nothing"), ("three", "`three`"), ("2.7.18", "`2.7.18`")])
def test_a_python_that_is_not_known_is_refused(python: str, stated: str) -> None:
    with pytest.raises(RdlcError) as caught:
        find_python(inventory(python=python))

    assert caught.value.message == f"which Python the image has is not known: it states {stated}"


@pytest.mark.parametrize(
    ("package", "glibc"),
    [
        (("rpm", "glibc", "2.34-231.amzn2023"), (2, 34)),
        (("rpm", "glibc", "1:2.34-231"), (2, 34)),
        (("dpkg", "libc6", "2.35-0ubuntu3.8"), (2, 35)),
        (("dpkg", "glibc", "2.35"), None),
        (("rpm", "glibc", "odd"), None),
    ],
)
def test_the_glibc_is_that_of_the_operating_system(
    package: tuple[str, str, str], glibc: tuple[int, int] | None
) -> None:
    kind, name, version = package
    os_package = OsPackage(kind="rpm" if kind == "rpm" else "dpkg", name=name, version=version, architecture="x")
    held = replace(inventory(), os_packages=(os_package,))

    assert image_base(held, find_python(held), platform=AMD64, requires={}).glibc == glibc


def test_the_base_of_an_image_has_what_was_read_and_its_evidence() -> None:
    held = inventory((VENV, "torch", "2.13.0"))
    python = find_python(held)

    base = image_base(held, python, platform=AMD64, requires={python.distributions[0].path: ("sympy",)})

    assert base == Base(
        python="3.13.12",
        implementation="CPython",
        machine="x86_64",
        glibc=None,
        distributions=(BaseDistribution(name="torch", version="2.13.0", requires=("sympy",)),),
        evidence="streamed",
    )


def test_of_an_image_that_was_not_looked_into_only_python_and_machine_are_known() -> None:
    held = replace(inventory(), evidence="config-only")

    base = image_base(held, find_python(held), platform=Platform(os="linux", architecture="arm64"), requires={})

    assert (base.machine, base.distributions, base.is_complete) == ("aarch64", (), False)


def test_another_machine_is_refused() -> None:
    held = inventory()

    with pytest.raises(RdlcError) as caught:
        image_base(held, find_python(held), platform=Platform(os="linux", architecture="s390x"), requires={})

    assert caught.value.message == "extra packages are not resolved for the platform `linux/s390x`"
