"""Every flipped byte in what is hashed is noticed, and the section is named."""

import re

import pytest

from rdlc.core.lockfile import read_lock, section_at_line, write_lock
from rdlc.errors import InputError
from tests.core.lock_samples import flipped, full_lock, packages_lock

DATA = write_lock(full_lock())
PACKAGES = write_lock(packages_lock())
HASHED = DATA.index(b"\nprovenance:") + 1
HEAD = DATA.index(b"\nrun:") + 1


def named_sections(data: bytes) -> set[str]:
    """What reading names as wrong; empty if it takes the data for intact."""
    try:
        findings = read_lock(data, name="x.lock.yaml").findings
    except InputError as error:
        in_message = re.search(r"\(in section `(.*)`\)$", error.message)
        return {in_message[1] if in_message else re.split(r"[.\[]", error.field or "file")[0]}
    return {finding.section for finding in findings}


@pytest.mark.parametrize(("mask", "step"), [(0x01, 1), (0x80, 1), (0x20, 4), (0x40, 4), (0xFF, 4)])
def test_every_flipped_byte_of_a_section_is_noticed_and_the_section_is_named(mask: int, step: int) -> None:
    unnamed = []
    for index, damaged in flipped(DATA, mask, end=HASHED, step=step):
        section = section_at_line(DATA, DATA.count(b"\n", 0, index) + 1)
        named = named_sections(damaged)
        is_fine = section in named if index >= HEAD else bool(named)
        if not is_fine:
            unnamed.append((index, section, named))

    assert unnamed == []
    assert HASHED > 2000


@pytest.mark.parametrize(("mask", "step"), [(0x01, 1), (0x80, 3), (0x20, 4)])
def test_every_flipped_byte_of_the_packages_is_noticed_and_named(mask: int, step: int) -> None:
    start, end = PACKAGES.index(b"\npackages:") + 1, PACKAGES.index(b"\ncluster:") + 1
    unnamed = []
    for index, damaged in flipped(PACKAGES, mask, end=end, step=step):
        if index >= start and "packages" not in (named := named_sections(damaged)):
            unnamed.append((index, named))

    assert unnamed == []
    assert end - start > 1000


@pytest.mark.parametrize("section", full_lock().digests)
def test_a_flipped_digit_of_a_section_digest_names_that_section(section: str) -> None:
    index = DATA.index(f"\n  {section}: ".encode()) + 40
    damaged = bytearray(DATA)
    damaged[index] = ord("0") if damaged[index] != ord("0") else ord("1")

    assert named_sections(bytes(damaged)) == {section, "id"}


def test_a_flipped_digit_of_the_id_is_named() -> None:
    lock = full_lock()
    stated = "sha256:" + lock.id[7:][::-1]
    damaged = DATA.replace(f'id: "{lock.id}"'.encode(), f'id: "{stated}"'.encode())

    findings = read_lock(damaged, name="x.lock.yaml").findings

    assert [(f.section, f.file, f.message) for f in findings] == [
        ("id", "x.lock.yaml:3", f"the section digests give {lock.id}, and `id` says {stated}")
    ]


def test_a_changed_value_says_both_digests() -> None:
    lock = full_lock()
    damaged = DATA.replace(b'python: "3.11.7"', b'python: "3.11.8"')

    read = read_lock(damaged, name="x.lock.yaml")

    found, stated = read.lock.digests["environment"], lock.digests["environment"]
    message = f"the contents give {found}, and `sections.environment` says {stated}"
    line = 1 + DATA[: DATA.index(b"\nenvironment:") + 1].count(b"\n")
    assert [(f.section, f.file, f.message) for f in read.findings] == [("environment", f"x.lock.yaml:{line}", message)]


@pytest.mark.parametrize(
    ("old", "new", "finding"),
    [
        (b"revision: 1\n", b"revision: 1 \n", ("revision", 2)),
        (b"revision: 1\n", b"# hello\nrevision: 1\n", ("schema", 2)),
        (b'name: "tiny"', b"name: tiny", ("run", 13)),
        (b'    name: "tiny"\n    target: "local"\n', b'    target: "local"\n    name: "tiny"\n', ("run", 13)),
        (b'tool: "rdlc 0.1.0"', b"tool: 'rdlc 0.1.0'", ("provenance", 105)),
    ],
)
def test_a_form_that_rdlc_does_not_write_is_named(old: bytes, new: bytes, finding: tuple[str, int]) -> None:
    read = read_lock(DATA.replace(old, new, 1), name="x.lock.yaml")

    section, line = finding
    assert [(f.section, f.file, f.message) for f in read.findings] == [
        (section, f"x.lock.yaml:{line}", "the line is not what rdlc writes for this content")
    ]


def test_a_wrong_code_digest_is_named_though_it_is_computed_from_the_files() -> None:
    place = DATA.index(b'digest: "sha256:') + len(b'digest: "sha256:')
    damaged = DATA[:place] + b"0" * 64 + DATA[place + 64 :]

    assert named_sections(damaged) == {"code"}


def test_lines_behind_the_end_are_named() -> None:
    read = read_lock(DATA + b"\n", name="x.lock.yaml")

    assert [finding.section for finding in read.findings] == ["provenance"]
