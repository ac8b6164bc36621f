"""What floats is asked of AWS once, kept, and compared with what is offered now."""

from dataclasses import replace
from pathlib import Path

import pytest

from rdlc.core.canonical import Json
from rdlc.core.infra.offers import AddonQuery, OfferCheck, ReleaseQuery
from rdlc.errors import OutsideError
from rdlc.operations.infra_offers import check_offers
from tests.core.infra.roots import IDENTITY
from tests.operations.infra_tools import REQUEST, FakeOffers, Outside, lock, make_root, refusal
from tests.operations.scripted import Voice

RELEASE = ReleaseQuery(region="us-east-2", kubernetes="1.34", ami_type="AL2023_x86_64_NVIDIA")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    make_root(tmp_path)
    return tmp_path


def test_what_floats_is_asked_of_aws_and_told(project: Path) -> None:
    outside, voice = Outside(), Voice()

    locked = lock(project, outside, REQUEST, voice=voice)

    assert locked.section.variables == IDENTITY
    assert (locked.origin.values["gpu_release_version"], locked.origin.values["addon_versions"]) == ("AWS", "AWS")
    assert voice.notes == [
        "`gpu_release_version` is `1.34.2-20261120`: what AWS gives now",
        "`coredns` is `v1.12.4-eksbuild.1`: what AWS gives now",
        "`kube-proxy` is `v1.34.1-eksbuild.2`: what AWS gives now",
        "`vpc-cni` is `v1.20.4-eksbuild.2`: what AWS gives now",
    ]
    assert voice.warnings == []


def test_what_floated_is_kept_and_a_move_is_told(project: Path) -> None:
    first = lock(project, Outside(), REQUEST)
    moved = Outside(offers=FakeOffers(published=("1.34.3-20261129",)))
    voice = Voice()

    again = lock(project, moved, REQUEST, previous=first, voice=voice)

    assert again == first
    assert voice.notes == [
        (
            "`gpu_release_version` has moved: AWS gives `1.34.3-20261129` now; "
            "the lock keeps `1.34.2-20261120`; `--upgrade infra` takes the new one"
        )
    ]


def test_without_credentials_what_floated_is_kept_and_said_to_be_unchecked(project: Path) -> None:
    first = lock(project, Outside(), REQUEST)
    voice = Voice()
    outside = Outside(offers=FakeOffers(missing="there are no AWS credentials here"))

    again = lock(project, outside, REQUEST, previous=first, voice=voice)

    assert again == first
    assert voice.notes == [
        (
            "whether `gpu_release_version`, `addon_versions.coredns`, `addon_versions.kube-proxy`, "
            "`addon_versions.vpc-cni` moved was not checked: there are no AWS credentials here"
        )
    ]


def test_an_aws_that_does_not_answer_takes_nothing_from_a_lock(project: Path) -> None:
    first = lock(project, Outside(), REQUEST)
    voice = Voice()
    outside = Outside(offers=FakeOffers(failure=OutsideError("AWS gave no answer")))

    assert lock(project, outside, REQUEST, previous=first, voice=voice) == first
    assert voice.warnings == [
        (
            "whether `gpu_release_version`, `addon_versions.coredns`, `addon_versions.kube-proxy`, "
            "`addon_versions.vpc-cni` moved was not checked: AWS gave no answer"
        )
    ]


def test_an_upgrade_takes_what_aws_gives_now_and_says_what_moved(project: Path) -> None:
    first = lock(project, Outside(), REQUEST)
    moved = Outside(offers=FakeOffers(published=("1.34.3-20261129",)))

    upgraded = lock(project, moved, REQUEST, previous=first, is_upgrade=True)

    assert upgraded.moved == {"gpu_release_version": ("1.34.2-20261120", "1.34.3-20261129")}
    assert upgraded.section.variables == {**IDENTITY, "gpu_release_version": "1.34.3-20261129"}


@pytest.mark.parametrize(
    "changed", [{"region": "us-west-2"}, {"kubernetes_version": "1.34", "gpu_ami_type": "AL2023_ARM_64_NVIDIA"}]
)
def test_another_question_gets_a_new_answer(project: Path, changed: dict[str, Json]) -> None:
    first = lock(project, Outside(), REQUEST)
    outside = Outside()

    lock(project, outside, replace(REQUEST, variables={**REQUEST.variables, **changed}), previous=first)

    assert len(outside.offers.asked) == 4


def test_without_credentials_what_floats_must_be_given(project: Path) -> None:
    outside = Outside(offers=FakeOffers(missing="there are no AWS credentials here"))

    assert refusal(project, outside, REQUEST) == (
        (
            "`gpu_release_version`, `addon_versions.coredns`, `addon_versions.kube-proxy`, `addon_versions.vpc-cni`: "
            "not given, and AWS cannot be asked: there are no AWS credentials here"
        ),
        "infra.variables.gpu_release_version",
        "give exact versions under `infra.variables` in the run spec, or lock where AWS credentials are",
    )


def test_what_aws_does_not_have_is_named(project: Path) -> None:
    no_release = Outside(offers=FakeOffers(published=()))
    no_addon = Outside(offers=FakeOffers(versions={}))

    assert refusal(project, no_release, REQUEST) == (
        "AWS has no AMI of the type `AL2023_x86_64_NVIDIA` for Kubernetes 1.34 in `us-east-2`",
        "infra.variables.gpu_release_version",
        "choose another `kubernetes_version`",
    )
    assert refusal(project, no_addon, REQUEST) == (
        "AWS offers no version of the add-on `coredns` for Kubernetes 1.34 in `us-east-2`",
        "infra.variables.addon_versions",
        "choose another `kubernetes_version`",
    )


def test_every_locked_version_is_compared_with_what_is_offered() -> None:
    offers = FakeOffers(published=("1.34.2-20261110", "1.34.2-20261130"))

    checks = check_offers({**IDENTITY, "addon_versions": {"vpc-cni": "v1.20.3-eksbuild.1"}}, offers)

    assert checks == (
        OfferCheck(
            address="gpu_release_version",
            locked="1.34.2-20261120",
            is_offered=False,
            nearest="1.34.2-20261130",
            recommended="1.34.2-20261130",
        ),
        OfferCheck(
            address="addon_versions.vpc-cni",
            locked="v1.20.3-eksbuild.1",
            is_offered=True,
            nearest="v1.20.3-eksbuild.1",
            recommended="v1.20.4-eksbuild.2",
        ),
    )
    assert offers.asked == [RELEASE, RELEASE, AddonQuery(region="us-east-2", kubernetes="1.34", addon="vpc-cni")]


def test_an_own_ami_takes_the_place_of_the_release() -> None:
    offers = FakeOffers()

    assert check_offers({**IDENTITY, "gpu_ami_id": "ami-0123", "addon_versions": {}}, offers) == ()
    assert offers.asked == []
