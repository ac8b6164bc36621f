"""Extra packages of target local: what is locked, what is kept, and what moves."""

from dataclasses import replace
from pathlib import Path

import pytest

from rdlc.core.packages.section import LockedPackage, PackagesSection
from tests.operations.fake_packages import Held, UnaskedIndex, hold
from tests.operations.package_project import ACCELERATE, PEFT, PackageProject, package_project


@pytest.fixture
def project(tmp_path: Path) -> PackageProject:
    return package_project(tmp_path)


def locked(held: Held) -> LockedPackage:
    assert held.file.sha256 is not None
    return LockedPackage(
        name=held.project,
        version=held.version,
        file=held.file.name,
        size=len(held.data),
        sha256=held.file.sha256,
    )


def test_each_extra_is_locked_with_its_one_file(project: PackageProject) -> None:
    result = project.lock()

    base = project.machine.read_base()
    assert project.section == PackagesSection(
        requested=project.section.requested,
        python="3.11.7",
        platform="x86_64-manylinux_2_36",
        constraints_digest=base.constraints_digest,
        evidence="environment",
        extras=(locked(ACCELERATE), locked(PEFT)),
        left_out={},
    )
    assert project.section.requested.requires == ("peft",)
    assert (project.voice.notes, project.voice.warnings, result.packages and result.packages.moves) == ([], [], ())


def test_the_question_names_the_base_and_what_it_is_asked_for(project: PackageProject) -> None:
    project.ask_for("{requires: [peft], index: 'https://index.example/simple/', exclude_newer: 2026-09-01}")
    project.lock()

    question = project.index.questions[0]

    assert replace(question, base=project.machine.read_base()) == replace(
        question,
        requires=("peft",),
        base=project.machine.read_base(),
        index="https://index.example/simple",
        exclude_newer="2026-09-01T23:59:59Z",
        allow_sdist=(),
        replace=frozenset(),
        preferred={},
        upgrade=frozenset(),
        is_deep=True,
    )
    assert question.base.versions == project.machine.environment.distributions


def test_with_nothing_to_change_the_index_is_not_asked(project: PackageProject) -> None:
    project.lock()
    before = project.path.read_bytes()

    result = project.lock(index=UnaskedIndex())

    assert (result.is_unchanged, project.path.read_bytes(), project.voice.notes) == (True, before, [])


def test_with_nothing_to_change_a_check_asks_nothing_and_writes_nothing(project: PackageProject) -> None:
    project.lock()

    result = project.lock(is_check=True, index=UnaskedIndex())

    assert (result.is_unchanged, result.is_written) == (True, False)


def test_a_check_that_finds_a_change_writes_nothing(project: PackageProject) -> None:
    result = project.lock(is_check=True)

    assert (result.is_unchanged, result.is_written, project.path.exists()) == (False, False, False)


def test_an_old_lock_without_packages_gets_no_section(project: PackageProject) -> None:
    project.ask_for("[]")

    result = project.lock(index=UnaskedIndex())

    assert "packages" not in result.lock.digests
    assert b"packages" not in project.path.read_bytes()


def test_what_more_is_asked_for_leaves_earlier_versions_where_they_are(project: PackageProject) -> None:
    project.lock()
    project.ask_for("[peft, trl]")
    project.index.held.append(hold("trl", "0.20.0"))
    project.index.answer = {"peft": "0.17.0", "accelerate": "1.0.0", "trl": "0.20.0"}

    result = project.lock()

    question = project.index.questions[-1]
    assert (question.preferred, question.upgrade) == ({"peft": "0.17.0", "accelerate": "1.0.0"}, frozenset())
    assert project.voice.notes == [
        "other extra packages are asked for: they are resolved again, and stay where they fit"
    ]
    assert result.packages is not None
    assert [move.words for move in result.packages.moves] == ["trl  added 0.20.0"]


def test_another_base_is_resolved_against_again_and_says_so(project: PackageProject) -> None:
    project.lock()
    project.machine.environment = replace(
        project.machine.environment, distributions={**project.machine.environment.distributions, "rich": "14.0.0"}
    )

    project.lock()

    assert (len(project.index.questions), project.index.questions[1].preferred) == (
        2,
        {"peft": "0.17.0", "accelerate": "1.0.0"},
    )
    assert project.voice.notes == [
        "the base has changed: its extra packages are resolved again, and stay where they fit"
    ]


@pytest.mark.parametrize(
    ("upgrade", "moving"), [("packages", None), ("all", None), ("packages:peft", frozenset({"peft"}))]
)
def test_an_upgrade_moves_all_or_one_and_tells_from_what_to_what(
    project: PackageProject, upgrade: str, moving: frozenset[str] | None
) -> None:
    project.lock()
    project.index.answer = {"peft": "0.18.0", "accelerate": "1.0.0"}

    result = project.lock(upgrade)

    assert (project.index.questions[-1].upgrade, project.versions) == (
        moving,
        {"peft": "0.18.0", "accelerate": "1.0.0"},
    )
    assert result.packages is not None
    assert [move.words for move in result.packages.moves] == ["peft  0.17.0 -> 0.18.0"]


def test_an_upgrade_of_what_is_no_extra_names_a_near_one(project: PackageProject) -> None:
    project.lock()

    assert project.refusal("packages:pef") == (
        "`--upgrade packages:pef`: no extra package of that name is locked",
        "did you mean `peft`?",
    )
    assert project.refusal("packages:torch") == (
        "`--upgrade packages:torch`: no extra package of that name is locked",
        "locked are: `accelerate`, `peft`",
    )


def test_like_takes_the_packages_of_another_lock(project: PackageProject) -> None:
    other = project.machine.project / "other.lock.yaml"
    project.lock(output=other)

    project.lock(like=other, index=UnaskedIndex())

    assert project.versions == {"peft": "0.17.0", "accelerate": "1.0.0"}


def test_a_requirement_whose_marker_is_false_is_left_out_and_says_so(project: PackageProject) -> None:
    project.ask_for("""['tomli; python_version < "3.11"', 'peft']""")

    project.lock()

    assert project.index.questions[0].requires == ("peft",)
    text = 'tomli; python_version < "3.11"'
    assert project.section.left_out == {text: "its marker is false on the base: Python 3.11.7, x86_64"}


def test_what_the_base_has_is_left_out_and_the_index_not_asked(project: PackageProject) -> None:
    project.ask_for("['Torch>=2.5', numpy]")

    project.lock(index=UnaskedIndex())

    assert (project.section.extras, project.section.left_out) == (
        (),
        {"numpy": "already in the base: numpy 2.4.0", "torch>=2.5": "already in the base: torch 2.13.0+cpu"},
    )


def test_a_requirements_file_and_the_list_are_one_request(project: PackageProject) -> None:
    (project.machine.project / "extra.txt").write_text("# ours\nTRL >= 0.20  # later\npeft\n")
    project.ask_for("{requires: [peft], requirements_file: extra.txt}")
    project.index.held.append(hold("trl", "0.20.0"))
    project.index.answer = {"peft": "0.17.0", "accelerate": "1.0.0", "trl": "0.20.0"}

    project.lock()

    assert project.section.requested.requires == ("peft", "trl>=0.20")


def test_a_file_that_is_uploaded_later_for_the_locked_version_is_not_picked(project: PackageProject) -> None:
    project.lock()
    project.index.held.append(hold("peft", "0.17.0", tag="cp311-cp311-manylinux_2_28_x86_64"))
    project.ask_for("[peft, accelerate]")

    project.lock()
    kept = [extra.file for extra in project.section.extras]
    project.lock("packages:peft")

    assert kept == [ACCELERATE.file.name, PEFT.file.name]
    assert project.section.extras[1].file == "peft-0.17.0-cp311-cp311-manylinux_2_28_x86_64.whl"
