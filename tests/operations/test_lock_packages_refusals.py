"""Extra packages that are refused, or locked with a warning."""

from dataclasses import replace
from pathlib import Path

import pytest

from rdlc.core.packages.base import BaseDistribution
from rdlc.errors import InputError, OutsideError
from tests.operations.fake_packages import UnaskedIndex, hold
from tests.operations.package_project import PEFT, PackageProject, package_project


@pytest.fixture
def project(tmp_path: Path) -> PackageProject:
    return package_project(tmp_path)


def test_an_upgrade_of_no_packages_is_refused(project: PackageProject) -> None:
    project.ask_for("[]")

    assert project.refusal("packages") == ("`--upgrade packages`: the spec asks for no extra packages", None)
    assert project.refusal(replacements={"torch": "why"}) == (
        "`--allow-replace`: the spec asks for no extra packages",
        None,
    )


def test_another_version_of_what_the_base_has_is_refused(project: PackageProject) -> None:
    project.ask_for("['torch>=2.14']")

    assert project.refusal() == (
        "`torch>=2.14` would replace `torch 2.13.0+cpu` of the base",
        "ask for what the base has, or say why it may be: `--allow-replace torch=REASON`",
    )


def test_another_ray_has_no_way_out(project: PackageProject) -> None:
    project.ask_for("['ray>=2.60']")

    assert project.refusal() == (
        "`ray>=2.60` would replace `ray 2.58.0` of the base",
        "ask for what the base has: `ray` cannot be replaced",
    )


def test_an_extra_that_would_replace_is_refused_and_says_who_wants_it(project: PackageProject) -> None:
    project.index.held.append(hold("numpy", "2.5.0"))
    project.index.held[0] = hold("peft", "0.17.0", "numpy>=2.5", "accelerate")
    project.index.answer = {"peft": "0.17.0", "numpy": "2.5.0"}

    assert project.refusal() == (
        "`numpy 2.5.0` would replace `numpy 2.4.0` of the base; wanted by `peft 0.17.0` (`numpy>=2.5`)",
        "ask for versions that take what the base has, or say why it may be: `--allow-replace numpy=REASON`",
    )
    assert project.index.fetched == ["peft-0.17.0-py3-none-any.whl"]


def test_an_extra_of_the_training_stack_is_refused_though_the_base_lacks_it(project: PackageProject) -> None:
    project.index.held.append(hold("flash-attn", "2.8.3"))
    project.index.answer = {"flash-attn": "2.8.3"}
    project.ask_for("[flash-attn]")
    why = "belongs to the stack that training stands on, and the base does not have it"

    assert project.refusal() == (
        f"`flash-attn 2.8.3` {why}; wanted by the spec (`flash-attn`)",
        "take a base that has it, or say why it may be: `--allow-replace flash-attn=REASON`",
    )


def test_what_may_be_replaced_is_locked_with_the_reason_and_warned_of(project: PackageProject) -> None:
    project.ask_for("['torch>=2.14']")
    project.index.held.append(hold("torch", "2.14.0"))
    project.index.answer = {"torch": "2.14.0"}

    project.lock(replacements={"torch": "a fix"})

    assert (project.section.requested.allow_replace, project.versions) == ({"torch": "a fix"}, {"torch": "2.14.0"})
    assert project.index.questions[0].replace == frozenset({"torch"})
    assert project.voice.warnings == ["`torch 2.13.0+cpu` of the base is replaced by 2.14.0: a fix"]


def test_what_a_replacement_breaks_in_the_base_is_warned_of(project: PackageProject) -> None:
    base = project.machine.read_base()
    project.machine.base = replace(
        base,
        distributions=tuple(
            BaseDistribution(name="torch", version=item.version, requires=("numpy<2.5", "sympy"))
            if item.name == "torch"
            else item
            for item in base.distributions
        ),
    )
    project.ask_for("['numpy>=2.5']")
    project.index.held.append(hold("numpy", "2.5.0"))
    project.index.answer = {"numpy": "2.5.0"}

    project.lock(replacements={"numpy": "faster"})

    assert project.voice.warnings == [
        "`numpy 2.4.0` of the base is replaced by 2.5.0: faster",
        "what is replaced no longer fits the base: torch 2.13.0+cpu wants numpy<2.5",
    ]


def test_an_extra_whose_files_fall_on_the_base_is_refused(project: PackageProject) -> None:
    project.index.held[0] = hold("peft", "0.17.0", members=["peft/__init__.py", "torch/fast.py"])
    project.machine.files_of_base = {"torch/fast.py": "torch"}

    assert project.refusal() == (
        "`peft` holds `torch/fast.py`, which is of `torch` in the base",
        "leave it out, or say why it may be: `--allow-replace torch=REASON`",
    )


def test_a_yanked_file_is_locked_where_that_version_is_asked_for_and_warned_of_each_time(
    project: PackageProject,
) -> None:
    project.ask_for("['peft==0.17.0']")
    project.index.yank(PEFT.file.name, "broken")
    warning = f"`{PEFT.file.name}` was yanked from the index: broken; it is locked, and installs"

    project.lock()
    first = project.voice.warnings
    project.lock(index=UnaskedIndex())

    origin = project.written.provenance.packages
    assert origin is not None
    assert (origin.index, origin.yanked) == ("http://index/simple", {PEFT.file.name: "broken"})
    assert (first, project.voice.warnings) == ([warning], [warning])


def test_a_yanked_file_is_no_answer_otherwise(project: PackageProject) -> None:
    project.index.yank(PEFT.file.name, "broken")

    assert project.refusal() == (
        "`peft 0.17.0` was yanked from the index: broken",
        "ask for that very version to take it all the same: `peft==0.17.0`",
    )


def test_a_locked_file_that_is_yanked_later_stays(project: PackageProject) -> None:
    project.lock()
    project.index.yank(PEFT.file.name, "broken")
    project.ask_for("[peft, accelerate]")

    project.lock()

    assert project.versions == {"peft": "0.17.0", "accelerate": "1.0.0"}


def test_a_source_is_locked_only_where_it_is_allowed_by_name(project: PackageProject) -> None:
    project.index.held = [hold("peft", "0.17.0", name="peft-0.17.0.tar.gz")]
    project.index.answer = {"peft": "0.17.0"}
    refused = project.refusal()
    project.ask_for("{requires: [peft], allow_sdist: [Peft]}")

    project.lock()

    assert refused == (
        "`peft 0.17.0` has no wheel for `x86_64-manylinux_2_36` and Python 3.11.7; the index has `peft-0.17.0.tar.gz`",
        "ask for another version, or let it be built from source on each node: `allow_sdist: [peft]`",
    )
    assert [extra.is_sdist for extra in project.section.extras] == [True]
    assert project.voice.warnings == ["`peft` is built from source on each node: what it installs was not checked"]


def test_an_option_in_a_requirements_file_is_named_with_its_line(project: PackageProject) -> None:
    (project.machine.project / "extra.txt").write_text("peft\n--extra-index-url https://x\n")
    project.ask_for("{requirements_file: extra.txt}")

    with pytest.raises(InputError) as caught:
        project.lock()

    assert (caught.value.message, caught.value.file) == (
        "`--extra-index-url` is an option of pip, and only requirements are read",
        f"{project.machine.project / 'extra.txt'}:2",
    )


def test_faults_of_the_base_itself_are_left_to_it_and_said(project: PackageProject) -> None:
    base = project.machine.read_base()
    torch = BaseDistribution(name="torch", version="2.13.0+cpu", requires=("numpy<2", "sympy", 'x; extra == "y"'))
    project.machine.base = replace(base, distributions=(*base.distributions[:2], torch))

    project.lock()

    assert project.index.questions[0].base.distributions[-1].requires == ('x; extra == "y"',)
    unmet = "torch 2.13.0+cpu wants numpy<2; torch 2.13.0+cpu wants sympy"
    assert project.voice.notes == [f"the base does not meet its own requirements, which is left to it: {unmet}"]


def test_an_index_that_is_down_ends_it_and_leaves_the_old_lock(project: PackageProject) -> None:
    project.lock()
    before = project.path.read_bytes()
    project.index.is_down = True

    with pytest.raises(OutsideError):
        project.lock("packages")

    assert project.path.read_bytes() == before


def test_a_resolution_without_an_answer_is_not_written(project: PackageProject) -> None:
    project.index.answer = {"accelerate": "1.0.0"}

    assert project.refusal() == ("the resolution has nothing for `peft`", None)


def test_other_bytes_under_a_locked_name_are_taken_only_by_an_upgrade(project: PackageProject) -> None:
    project.lock()
    project.index.held[0] = hold("peft", "0.17.0", data=b"other bytes")
    project.ask_for("[peft, accelerate]")

    refused = project.refusal()
    result = project.lock("packages:peft")

    assert refused == (
        f"the index has other bytes under `{PEFT.file.name}` than are locked",
        "`rdlc lock SPEC --upgrade packages:peft` takes them",
    )
    assert result.packages is not None
    assert [move.words for move in result.packages.moves] == [f"peft  0.17.0: other bytes in {PEFT.file.name}"]
