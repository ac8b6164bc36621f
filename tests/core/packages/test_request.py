"""What a spec may ask for, and the one spelling that it gets."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdlc.core.packages.request import (
    PackagesRequest,
    normalise_index,
    normalise_moment,
    normalise_package_name,
    normalise_requirement,
    read_requirements,
)
from rdlc.core.spec import read_spec
from rdlc.errors import InputError
from tests.projects import SPEC

HINT = 'write it as `name`, `name==1.2` or `name>=1.2; python_version < "3.13"`'
NETRC = "put them into `~/.netrc` on each machine, and write the address without"


def read(packages: str) -> PackagesRequest | None:
    return read_spec(f"{SPEC}packages: {packages}\n".encode(), name="run.yaml", settings={}).packages


def refusal(packages: str) -> tuple[str, str | None, str | None]:
    with pytest.raises(InputError) as caught:
        read(packages)
    assert caught.value.file == "run.yaml:10"
    return caught.value.message, caught.value.field, caught.value.hint


def test_a_list_is_normalised_sorted_and_without_repeats() -> None:
    request = read("[TRL >=0.20, peft, 'peft', 'Foo_Bar[B,a]==1 ; python_version<\"3.12\"']")

    assert request == PackagesRequest(requires=('foo-bar[a,b]==1; python_version < "3.12"', "peft", "trl>=0.20"))


def test_a_mapping_tells_all() -> None:
    request = read(
        "{requires: [peft], requirements_file: a/extra.txt, index: 'https://index.example/simple/', "
        "exclude_newer: 2026-09-01, install: wheelhouse, allow_sdist: [Foo_B], allow_replace: {Numpy: a fix}}"
    )

    assert request == PackagesRequest(
        requires=("peft",),
        requirements_file="a/extra.txt",
        index="https://index.example/simple",
        exclude_newer="2026-09-01T23:59:59Z",
        install="wheelhouse",
        allow_sdist=("foo-b",),
        allow_replace={"numpy": "a fix"},
    )


@pytest.mark.parametrize("packages", ["[]", "{requires: []}", "{install: wheelhouse}", "null"])
def test_what_asks_for_nothing_is_no_request(packages: str) -> None:
    assert read(packages) is None


@pytest.mark.parametrize(
    ("packages", "expected"),
    [
        ("peft", ('must be a list, not the text "peft"', "packages", None)),
        ("[1]", ("must be a text, not the number 1", "packages[0]", None)),
        ("['peft >> 1']", ("`peft >> 1` is no requirement", "packages[0]", HINT)),
        ("[peft, 'x @ https://user:pass-word@host/x.whl']",
         ("`x @ ...` names an address, and a lock takes packages from an index", "packages[1]", HINT)),
        ("['git+https://user:pass-word@host/x']", ("`git+https://...@host/x` is no requirement", "packages[0]", HINT)),
        ("['-e .']", ("`-e` is an option of pip, and only requirements are read", "packages[0]", HINT)),
        ("['peft==1 --hash=sha256:ab']",
         ("`--hash` is an option of pip, and only requirements are read", "packages[0]", HINT)),
        ("{requires: [./peft]}", ("`./peft` is no requirement", "packages.requires[0]", HINT)),
        ("{requires: [peft], requirements_file: ../x}",
         ("must be a path below the folder, without `..`, not `../x`", "packages.requirements_file", None)),
        ("{requires: [peft], index: 'https://me:secret@host/simple'}",
         ("has a user or a password in it, which no lock may hold", "packages.index", NETRC)),
        ("{requires: [peft], index: 'https://me:se/cret@host/simple'}",
         ("has a user or a password in it, which no lock may hold", "packages.index", NETRC)),
        ("{requires: [peft], exclude_newer: yesterday}",
         ("must be a date or a time, not `yesterday`", "packages.exclude_newer",
          "as `2026-09-01` or `2026-09-01T12:00:00Z`")),
        ("{requires: [peft], install: nowhere}",
         ("must be one of `index`, `wheelhouse`, not `nowhere`", "packages.install", None)),
        ("{requires: [peft], allow_sdist: ['a b']}",
         ("`a b` is no name of a package", "packages.allow_sdist[0]", None)),
        ("{requires: [peft], allow_replace: {Ray: why}}",
         ("`ray` cannot be replaced: Ray leaves itself out of what it installs", "packages.allow_replace", None)),
        ("{requires: [peft], allow_replace: {numpy: ''}}",
         ("must be a text, not an empty text", "packages.allow_replace.numpy", None)),
        ("{require: [peft]}", ("this key is not known here", "packages.require", "did you mean `requires`?")),
    ],
)  # fmt: skip
def test_what_cannot_be_locked_is_refused_with_its_place(
    packages: str, expected: tuple[str, str | None, str | None]
) -> None:
    assert refusal(packages) == expected


@pytest.mark.parametrize(
    "text", ["ftp://host/x", "host/simple", "https:///x", "https://h/x?y", "https://h/#x", "file:///x", "https://h/a b"]
)
def test_an_index_is_an_address_of_the_web(text: str) -> None:
    with pytest.raises(InputError) as caught:
        normalise_index(text)

    assert caught.value.message == "must be the `https://` address of a package index, without `?`, `#` and blanks"


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-09-01", "2026-09-01T23:59:59Z"),
        ("2026-09-01T12:00:00Z", "2026-09-01T12:00:00Z"),
        ("2026-09-01T12:00:00.5+02:00", "2026-09-01T10:00:00Z"),
    ],
)
def test_a_cut_off_is_a_moment_in_utc(text: str, moment: str) -> None:
    assert (normalise_moment(text), normalise_moment(moment)) == (moment, moment)


def test_a_moment_without_a_time_zone_is_refused() -> None:
    with pytest.raises(InputError) as caught:
        normalise_moment("2026-09-01T12:00:00")

    assert (caught.value.message, caught.value.hint) == (
        "`2026-09-01T12:00:00` names no time zone",
        "end it with `Z` for UTC",
    )


def test_a_requirements_file_is_read_with_comments_and_continued_lines() -> None:
    data = b"\xef\xbb\xbf# ours\n\nTRL>=0.20 \\\n  , <1  # pinned\r\npeft\n"

    assert read_requirements(data, name="extra.txt") == ("peft", "trl<1,>=0.20")


@pytest.mark.parametrize(
    ("data", "message", "file"),
    [
        (b"peft\n-r other.txt\n", "`-r` is an option of pip, and only requirements are read", "extra.txt:2"),
        (b"\npeft \\\n --index-url x\n",
         "`--index-url` is an option of pip, and only requirements are read", "extra.txt:2"),
        (b"peft\n./wheel.whl\n", "`./wheel.whl` is no requirement", "extra.txt:2"),
        (b"x @ file:///x\n", "`x @ ...` names an address, and a lock takes packages from an index", "extra.txt:1"),
        (b"\xff\n", "is no UTF-8 text", "extra.txt"),
    ],
)  # fmt: skip
def test_what_a_requirements_file_must_not_hold_is_named_with_its_line(data: bytes, message: str, file: str) -> None:
    with pytest.raises(InputError) as caught:
        read_requirements(data, name="extra.txt")

    assert (caught.value.message, caught.value.file) == (message, file)


@given(st.text(max_size=20) | st.from_regex(r"[a-z]{1,3} ?[=<>!~@]{1,3} ?[0-9.]{1,4}[; a-z]*"))
def test_any_requirement_is_normalised_once_or_refused(text: str) -> None:
    with contextlib.suppress(InputError):
        once = normalise_requirement(text)
        assert normalise_requirement(once) == once


@given(st.text(max_size=30))
def test_any_other_text_is_normalised_once_or_refused(text: str) -> None:
    for normalise in (normalise_index, normalise_moment, normalise_package_name):
        with contextlib.suppress(InputError):
            once = normalise(text)
            assert normalise(once) == once


@given(st.binary(max_size=40) | st.text("ab=<>1.# \\\n-@:/;\"'", max_size=30).map(str.encode))
def test_any_requirements_file_is_read_or_refused(data: bytes) -> None:
    with contextlib.suppress(InputError):
        assert list(read_requirements(data, name="x")) == sorted(set(read_requirements(data, name="x")))
