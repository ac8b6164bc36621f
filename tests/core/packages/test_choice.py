"""Which file of a release is taken."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdlc.core.packages.choice import Site, choose_file, is_usable, why_unfit
from rdlc.core.packages.resolution import IndexFile, Pin
from rdlc.errors import RdlcError

SITE = Site(python="3.13.12", platform="x86_64-manylinux_2_34")


def file(name: str, yanked: str | None = None) -> IndexFile:
    return IndexFile(name=name, url=f"https://host/{name}", size=1, sha256=None, yanked=yanked)


def choose(*names: str, may_be_yanked: bool = False, allow_sdist: bool = False, site: Site = SITE) -> str:
    pin = Pin(name="foo-bar", version="1.0", files=tuple(file(name) for name in names))
    return choose_file(pin, site, may_be_yanked=may_be_yanked, allow_sdist=allow_sdist).name


PURE = "foo_bar-1.0-py3-none-any.whl"
OLD = "foo_bar-1.0-cp313-cp313-manylinux2014_x86_64.manylinux_2_17_x86_64.whl"
NEW = "foo_bar-1.0-cp313-cp313-manylinux_2_28_x86_64.whl"
STABLE = "foo_bar-1.0-cp39-abi3-manylinux_2_28_x86_64.whl"
TOO_NEW = "foo_bar-1.0-cp313-cp313-manylinux_2_35_x86_64.whl"
OTHERS = (
    "foo_bar-1.0-cp312-cp312-manylinux_2_28_x86_64.whl",
    "foo_bar-1.0-cp313-cp313t-manylinux_2_28_x86_64.whl",
    "foo_bar-1.0-cp313-cp313-manylinux_2_28_aarch64.whl",
    "foo_bar-1.0-cp313-cp313-musllinux_1_2_x86_64.whl",
    "foo_bar-1.0-cp313-cp313-win_amd64.whl",
)
SDIST = "foo_bar-1.0.tar.gz"


@pytest.mark.parametrize(
    ("names", "chosen"),
    [
        ((PURE, OLD, NEW, TOO_NEW, *OTHERS, SDIST), NEW),
        ((PURE, OLD, TOO_NEW), OLD),
        ((PURE, STABLE), STABLE),
        ((PURE, *OTHERS), PURE),
        (("foo_bar-1.0-1-py3-none-any.whl", PURE, "foo_bar-1.0-12-py3-none-any.whl", "foo_bar-1.0-2-py3-none-any.whl"),
         "foo_bar-1.0-12-py3-none-any.whl"),
        (("other-1.0-py3-none-any.whl", "foo_bar-1.1-py3-none-any.whl", "foo_bar.whl", PURE), PURE),
        (("Foo.Bar-1.0.0-py2.py3-none-any.whl",), "Foo.Bar-1.0.0-py2.py3-none-any.whl"),
    ],
)  # fmt: skip
def test_the_wheel_that_fits_best_is_taken_in_whatever_order_they_come(names: tuple[str, ...], chosen: str) -> None:
    assert (choose(*names), choose(*reversed(names))) == (chosen, chosen)


def test_the_machine_that_locks_does_not_matter() -> None:
    arm = Site(python="3.11.9", platform="aarch64-manylinux_2_28")

    assert choose("foo_bar-1.0-cp311-cp311-manylinux_2_17_aarch64.whl", OLD, site=arm) == (
        "foo_bar-1.0-cp311-cp311-manylinux_2_17_aarch64.whl"
    )


def test_a_source_is_taken_only_where_it_is_allowed_and_no_wheel_fits() -> None:
    assert (choose(SDIST, PURE, allow_sdist=True), choose(SDIST, *OTHERS, allow_sdist=True)) == (PURE, SDIST)


@pytest.mark.parametrize("yanked", ["", "broken"])
def test_a_yanked_file_is_taken_only_where_it_may_be(yanked: str) -> None:
    pin = Pin(name="foo-bar", version="1.0", files=(file(NEW, yanked), file(PURE)))

    assert choose_file(pin, SITE, may_be_yanked=False, allow_sdist=False).name == PURE
    assert choose_file(pin, SITE, may_be_yanked=True, allow_sdist=False).name == NEW


@pytest.mark.parametrize(
    ("names", "found", "hint"),
    [
        ((), "it has no files", "ask for another version"),
        ((TOO_NEW,), f"the index has `{TOO_NEW}`", "ask for another version"),
        ((SDIST,), f"the index has `{SDIST}`",
         "ask for another version, or let it be built from source on each node: `allow_sdist: [foo-bar]`"),
        (tuple(f"x{n}" for n in range(10)),
         "the index has `x0`, `x1`, `x2`, `x3`, `x4`, `x5`, `x6`, `x7` and 2 more", "ask for another version"),
    ],
)  # fmt: skip
def test_without_a_wheel_for_the_base_it_is_said_what_there_is(names: tuple[str, ...], found: str, hint: str) -> None:
    with pytest.raises(RdlcError) as caught:
        choose(*names)

    assert (caught.value.message, caught.value.hint) == (
        f"`foo-bar 1.0` has no wheel for `x86_64-manylinux_2_34` and Python 3.13.12; {found}",
        hint,
    )


@pytest.mark.parametrize(
    ("name", "unfit"),
    [
        (PURE, ""),
        (SDIST, ""),
        ("foo-bar-1.0.zip", ""),
        (TOO_NEW, "does not fit `x86_64-manylinux_2_34` and Python 3.13.12"),
        ("foo_bar-1.1-py3-none-any.whl", "is no wheel of `foo-bar 1.0`"),
        ("evil-1.0-py3-none-any.whl", "is no wheel of `foo-bar 1.0`"),
        ("../foo_bar-1.0.tar.gz", "is no source of `foo-bar 1.0`"),
        ("foo_bar-1.0.exe", "is no source of `foo-bar 1.0`"),
    ],
)
def test_a_locked_file_must_be_of_its_package_and_fit_the_base(name: str, unfit: str) -> None:
    assert why_unfit(name, name="foo-bar", version="1.0", site=SITE) == unfit


def test_a_source_is_usable_only_where_it_is_allowed() -> None:
    assert not is_usable(SDIST, "foo-bar", version="1.0", site=SITE, allow_sdist=False)
    assert is_usable(SDIST, "foo-bar", version="1.0", site=SITE, allow_sdist=True)
    assert is_usable(PURE, "foo-bar", version="1.0", site=SITE, allow_sdist=False)


names = st.from_regex(r"[a-z_]{1,4}-[0-9a-z.!]{0,4}(-[a-z0-9._]{0,6}){0,4}(\.whl|\.tar\.gz|\.zip|)") | st.text(
    max_size=20
)


@given(st.lists(names, max_size=3), st.text(max_size=6), st.text(max_size=10))
def test_no_file_name_and_no_place_gives_another_error(files: list[str], python: str, platform: str) -> None:
    for site in (SITE, Site(python=python, platform=platform)):
        with contextlib.suppress(RdlcError):
            choose(*files, may_be_yanked=True, allow_sdist=True, site=site)
