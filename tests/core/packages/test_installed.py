"""What workers report of packages, held against the lock; what is not reported is not met."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdlc.core.lines import read_json_file
from rdlc.core.packages.installed import (
    Installed,
    InstalledFile,
    Question,
    describe_setup,
    find_yanked,
    package_questions,
    read_installed,
)
from rdlc.core.packages.section import PackagesSection
from rdlc.errors import InputError
from tests.core.lock_samples import packages_lock

DIGEST = "sha256:" + "e" * 64
BASE = {"numpy": "2.4.0", "torch": "2.13.0"}
EXTRAS = {"peft": "0.17.0", "trl": "0.20.0"}
FILES = {name: InstalledFile(version=version, sha256=DIGEST, is_yanked=False) for name, version in EXTRAS.items()}
RIGHT = Installed(distributions={**BASE, **EXTRAS, "rdlc": "0.1"}, files=FILES)
SAME = "the 2 of the environment"


def section() -> PackagesSection:
    found = packages_lock().sections.packages
    assert found is not None
    return found


def asked(*workers: Installed) -> dict[str, tuple[str, tuple[str | None, ...]]]:
    questions: list[Question] = list(package_questions(section(), BASE, workers))
    return {question.name: (question.locked, question.found) for question in questions}


def test_a_worker_that_has_what_is_locked_answers_every_question_with_it() -> None:
    assert asked(RIGHT, RIGHT) == {
        "package peft": ("0.17.0", ("0.17.0", "0.17.0")),
        "file of peft": (DIGEST, (DIGEST, DIGEST)),
        "package trl": ("0.20.0", ("0.20.0", "0.20.0")),
        "file of trl": (DIGEST, (DIGEST, DIGEST)),
        "other packages": (SAME, (SAME, SAME)),
    }


def test_a_package_that_is_missing_or_changed_beside_the_extras_is_named() -> None:
    worker = Installed(distributions={"peft": "0.17.0", "torch": "2.14.0", "new": "1"}, files={})

    found = asked(worker)

    assert found["package trl"] == ("0.20.0", ("none",))
    assert found["file of peft"] == (DIGEST, ("none",))
    assert found["other packages"] == (
        SAME,
        ("new 1 (locked none), numpy none (locked 2.4.0), torch 2.14.0 (locked 2.13.0)",),
    )


def test_what_a_worker_did_not_report_is_not_answered() -> None:
    assert {found for _, found in asked(Installed(distributions=None, files=None)).values()} == {(None,)}


def test_another_spelling_of_the_locked_version_is_the_locked_version() -> None:
    worker = Installed(distributions={**BASE, "peft": "0.17", "trl": "0.20.0rc"}, files=FILES)

    found = asked(worker)

    assert (found["package peft"], found["package trl"]) == (("0.17.0", ("0.17.0",)), ("0.20.0", ("0.20.0rc",)))
    assert asked(Installed(distributions={"peft": "?"}, files=None))["package peft"] == ("0.17.0", ("?",))


def test_a_replaced_distribution_is_an_extra_and_no_change_of_the_others() -> None:
    base = {**BASE, "peft": "0.16.0"}

    questions = {question.name: question for question in package_questions(section(), base, [RIGHT])}

    assert questions["other packages"].found == (SAME,)


def test_yanked_files_are_told_by_package() -> None:
    yanked = {**FILES, "trl": InstalledFile(version="0.20.0", sha256=DIGEST, is_yanked=True)}

    assert find_yanked(
        [RIGHT, Installed(distributions={}, files=yanked), Installed(distributions=None, files=None)]
    ) == ("trl",)


def test_what_the_set_up_took_is_told_for_each_node_and_never_made_up() -> None:
    first = json.dumps({"seconds": 7.46, "bytes": 3 << 20, "host": "one"}).encode()
    second = json.dumps({"bytes": 1 << 19, "host": "two\x1b"}).encode()

    assert describe_setup([first, second]) == "7.5 s, 3.0 MiB on one; time not measured, 0.5 MiB on two\\x1b"
    assert describe_setup([]) == "not measured"
    with pytest.raises(InputError):
        describe_setup([b'{"seconds": 1.0, "host": "one"}'])


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=5), lambda inner: st.dictionaries(
    st.sampled_from(["installed", "distributions", "version", "sha256", "is_yanked", "x"]), inner, max_size=4
)))  # fmt: skip
def test_any_report_is_read_or_refused_as_bad_input(value: object) -> None:
    document = value if isinstance(value, dict) else {"installed": value}
    try:
        read_installed(read_json_file(json.dumps(document).encode(), name="worker.json", limit_bytes=1 << 20))
    except InputError:
        return
