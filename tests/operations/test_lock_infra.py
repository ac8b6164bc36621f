"""Locking infrastructure: files and variables are pinned, and the plan gets a fingerprint."""

from dataclasses import replace
from pathlib import Path

import pytest

from rdlc.core.infra.offline import MissingPlan, OfflinePlan
from rdlc.core.infra.origin import InfraOrigin
from rdlc.core.infra.section import find_infra_contradictions
from rdlc.core.infra.tree import file_hashes
from rdlc.errors import InputError, RdlcError
from tests.core.infra.roots import FILES, IDENTITY
from tests.operations.infra_tools import EXACT, FakePlanner, Outside, lock, make_root, refusal
from tests.operations.scripted import Voice


@pytest.fixture
def project(tmp_path: Path) -> Path:
    make_root(tmp_path)
    return tmp_path


def test_a_lock_holds_files_providers_and_every_identity_variable(project: Path) -> None:
    outside = Outside()

    locked = lock(project, outside)

    assert locked.section.variables == IDENTITY
    assert locked.section.files == file_hashes(FILES)
    assert (locked.section.requested, locked.section.required_version) == (EXACT, ">= 1.11, < 2")
    assert list(locked.section.providers) == ["hashicorp/aws"]
    assert list(find_infra_contradictions(locked.section)) == []
    assert outside.offers.asked == []


def test_the_fingerprint_is_planned_with_stand_ins_and_origins_are_kept(project: Path) -> None:
    outside = Outside()

    locked = lock(project, outside)

    assert outside.planner.planned == [{**IDENTITY, "name": "offline", "zones": ["us-east-2a"]}]
    assert outside.planner.configured == ("aws",)
    assert locked.origin == InfraOrigin(
        plan="sha256:dbc62006ebb8fb384b7fce7acf579f3f0ec43583e0453a63bc95f8dd579ebfef",
        plan_missing="",
        values={
            "addon_versions": "spec",
            "gpu_ami_id": "default",
            "gpu_ami_type": "default",
            "gpu_count": "spec",
            "gpu_release_version": "spec",
            "kubernetes_version": "profile",
            "region": "spec",
        },
        bindings={},
    )


def test_locking_the_same_again_gives_the_same_and_plans_nothing(project: Path) -> None:
    first = lock(project, Outside())
    outside = Outside()

    again = lock(project, outside, previous=first)

    assert again == first
    assert outside.planner.planned == []


def test_without_terraform_the_lock_says_that_the_fingerprint_is_missing(project: Path) -> None:
    voice = Voice()
    outside = Outside(planner=FakePlanner(answer=MissingPlan(reason="Terraform is not on this machine")))

    locked = lock(project, outside, voice=voice)

    assert (locked.origin.plan, locked.origin.plan_missing) == ("", "Terraform is not on this machine")
    assert voice.warnings == ["the lock has no plan fingerprint: Terraform is not on this machine"]
    assert locked.section == lock(project, Outside()).section


def test_a_fingerprint_of_the_same_section_is_kept_without_terraform(project: Path) -> None:
    first = lock(project, Outside())
    outside = Outside(planner=FakePlanner(answer=MissingPlan(reason="Terraform is not on this machine")))

    assert lock(project, outside, previous=first).origin == first.origin


def test_a_root_without_stand_ins_has_no_fingerprint(project: Path) -> None:
    (project / "terraform/placeholders.json").unlink()

    assert lock(project, Outside()).origin.plan_missing == (
        f"no value stands in for `name`, `zones` in `{project / 'terraform/placeholders.json'}`"
    )


def test_variables_that_terraform_refuses_are_not_locked(project: Path) -> None:
    failure = RdlcError("Terraform refuses these variables: no", field="infra.variables")

    assert refusal(project, Outside(planner=FakePlanner(failure=failure))) == (
        "Terraform refuses these variables: no",
        "infra.variables",
        None,
    )


def test_a_value_that_terraform_reads_otherwise_is_not_locked(project: Path) -> None:
    shown = b'{"format_version": "1.2", "planned_values": {"outputs": {"inputs": {"value": {"gpu_count": 5}}}}}'

    assert refusal(project, Outside(planner=FakePlanner(answer=OfflinePlan(shown=shown)))) == (
        "Terraform reads another value of `gpu_count` than the lock holds",
        "infra.variables.gpu_count",
        None,
    )


def test_bindings_are_kept_beside_the_lock_and_not_in_it(project: Path, tmp_path: Path) -> None:
    bind = tmp_path / "bind.yaml"
    bind.write_text("zones: [us-east-2b]\n")
    first = lock(project, Outside())

    bound = lock(project, Outside(), bind=bind)
    again = lock(project, Outside(), previous=bound)

    assert bound.section == first.section
    assert (bound.origin.plan, bound.origin.bindings) == (first.origin.plan, {"zones": ["us-east-2b"]})
    assert again == bound


def test_bindings_that_the_root_does_not_know_any_more_are_left_behind(project: Path) -> None:
    first = lock(project, Outside())
    origin = replace(first.origin, bindings={"name": 3, "gone": "x", "gpu_count": 4, "zones": ["a"]})
    previous = replace(first, origin=origin)

    assert lock(project, Outside(), previous=previous).origin.bindings == {"zones": ["a"]}


def test_a_secret_in_bindings_or_in_the_root_is_refused_by_place(project: Path, tmp_path: Path) -> None:
    secret = "AKIA" + "ABCDEFGHIJKLMNOP"
    bind = tmp_path / "bind.yaml"
    bind.write_text(f"\nname: {secret}\n")

    with pytest.raises(RdlcError) as in_bindings:
        lock(project, Outside(), bind=bind)
    (project / "terraform/user_data.tftpl").write_text(f"\n\nkey={secret}\n")
    with pytest.raises(RdlcError) as in_root:
        lock(project, Outside())

    assert [caught.value.file for caught in (in_bindings, in_root)] == [
        f"{bind}:2",
        f"{project / 'terraform/user_data.tftpl'}:3",
    ]
    assert secret not in in_bindings.value.message + in_root.value.message


def test_an_unknown_profile_is_refused_with_those_that_are_there(project: Path) -> None:
    assert refusal(project, Outside(), replace(EXACT, profile="large")) == (
        f"there is no profile `large` in `{project / 'terraform/profiles'}`",
        "infra.profile",
        "known: `small`",
    )


def test_a_binding_in_a_profile_is_refused(project: Path) -> None:
    (project / "terraform/profiles/small.tfvars.json").write_text('{"zones": ["a"]}')

    with pytest.raises(InputError) as caught:
        lock(project, Outside())

    assert caught.value.file == f"{project / 'terraform/profiles/small.tfvars.json'}:1"
