"""Extra packages against their index: newer, yanked, gone, changed; asked for at `outdated` and `verify --online`."""

import datetime
from dataclasses import replace
from pathlib import Path

import pytest

from rdlc.core.lockfile import Finding
from rdlc.errors import OutsideError
from rdlc.operations.online import OnlineCheck, check_online
from rdlc.operations.outdated import look_upstream
from rdlc.operations.upstream_packages import PackageState
from tests.operations.fake_packages import Held, hold
from tests.operations.fake_registries import FakeRegistries
from tests.operations.infra_tools import UnaskedOffers
from tests.operations.package_project import ACCELERATE, PEFT, PackageProject, package_project

NOW = datetime.datetime(2026, 12, 1, tzinfo=datetime.UTC)
CURRENT = PackageState(name="accelerate", locked="1.0.0", file=ACCELERATE.file.name, state="current", newest="1.0.0")
PEFT_STATE = replace(CURRENT, name="peft", locked="0.17.0", file=PEFT.file.name, newest="0.17.0")
NEWER = replace(PEFT_STATE, state="newer", newest="0.18.0")


@pytest.fixture
def project(tmp_path: Path) -> PackageProject:
    """A project that is locked with `peft` and `accelerate`, and an index with exactly these."""
    made = package_project(tmp_path)
    made.lock()
    made.index.held = [PEFT, ACCELERATE]
    return made


def look(project: PackageProject) -> tuple[PackageState, ...]:
    state = look_upstream(
        project.path,
        workspace=project.machine,
        upstream=FakeRegistries(),
        index=project.index,
        offers=UnaskedOffers(),
        now=NOW,
    )
    assert state.image is None
    return state.packages


def check(project: PackageProject) -> OnlineCheck:
    return check_online(project.path, workspace=project.machine, stores=FakeRegistries(), index=project.index)


def finding(project: PackageProject, message: str) -> Finding:
    return Finding(section="packages", file=str(project.path), message=message)


def without_digest(held: Held) -> Held:
    return replace(held, file=replace(held.file, sha256=None))


def test_what_is_the_newest_is_current(project: PackageProject) -> None:
    assert look(project) == (CURRENT, PEFT_STATE)


@pytest.mark.parametrize(
    ("held", "state"),
    [
        (hold("peft", "0.18.0"), NEWER),
        (hold("peft", "0.18.0", tag="cp311-cp311-manylinux_2_28_x86_64"), NEWER),
        (hold("peft", "0.18.0", tag="cp312-cp312-manylinux_2_28_x86_64"), PEFT_STATE),
        (hold("peft", "0.18.0", name="peft-0.18.0.tar.gz"), PEFT_STATE),
        (hold("peft", "0.18.0", yanked=""), PEFT_STATE),
        (hold("peft", "0.18.0rc1"), PEFT_STATE),
        (hold("peft", "nightly"), PEFT_STATE),
        (hold("peft", "0.9.0"), PEFT_STATE),
    ],
)
def test_newer_is_what_the_base_could_take(project: PackageProject, held: Held, state: PackageState) -> None:
    project.index.held.append(held)

    assert look(project) == (CURRENT, state)


def test_a_yanked_file_tells_the_reason_and_what_is_newer(project: PackageProject) -> None:
    project.index.held.append(hold("peft", "0.18.0"))
    project.index.yank(PEFT.file.name, "bro\x1bken")

    assert look(project)[1] == replace(NEWER, state="yanked", reason="bro\\x1bken")


def test_a_file_that_is_gone_or_has_other_bytes_is_told(project: PackageProject) -> None:
    project.index.held = [hold("peft", "0.17.0", data=b"other")]

    assert look(project) == (
        replace(CURRENT, state="gone", newest=""),
        replace(PEFT_STATE, state="changed"),
    )


def test_an_index_that_is_down_leaves_every_package_unchecked(project: PackageProject) -> None:
    project.index.is_down = True
    reason = "the index does not answer"

    assert look(project) == (
        replace(CURRENT, state="not-checked", newest="", reason=reason),
        replace(PEFT_STATE, state="not-checked", newest="", reason=reason),
    )


def test_online_every_locked_file_is_asked_for(project: PackageProject) -> None:
    assert (check(project), project.index.listed) == (OnlineCheck(asked=2, findings=()), ["accelerate", "peft"])


def test_online_all_that_are_gone_or_changed_are_listed(project: PackageProject) -> None:
    project.index.held = [hold("peft", "0.17.0", data=b"other")]

    assert check(project) == OnlineCheck(
        asked=2,
        findings=(
            finding(project, f"the index no longer has `{ACCELERATE.file.name}`"),
            finding(project, f"the index has other bytes under `{PEFT.file.name}` than {PEFT.file.sha256}"),
        ),
    )


def test_online_the_bytes_are_fetched_where_the_index_states_no_digest(project: PackageProject) -> None:
    project.index.held = [without_digest(PEFT), without_digest(hold("accelerate", "1.0.0", data=b"other"))]
    project.index.fetched.clear()

    found = check(project)

    assert [item.message for item in found.findings] == [
        f"the index has other bytes under `{ACCELERATE.file.name}` than {ACCELERATE.file.sha256}"
    ]
    assert project.index.fetched == [ACCELERATE.file.name, PEFT.file.name]


def test_online_a_yanked_file_is_a_warning(project: PackageProject) -> None:
    project.index.yank(PEFT.file.name, "broken")

    assert check(project) == OnlineCheck(
        asked=2,
        findings=(),
        warnings=(f"`{PEFT.file.name}` was yanked from the index: broken; it still installs",),
    )


def test_online_an_index_that_is_down_is_an_error_and_no_finding(project: PackageProject) -> None:
    project.index.is_down = True

    with pytest.raises(OutsideError):
        check(project)
