"""AMI releases and add-ons of a lock against what AWS offers; what could not be asked is never current."""

from dataclasses import replace
from pathlib import Path

import pytest

from rdlc.cli.wiring import LocalWorkspace
from rdlc.core.lockfile import write_lock
from rdlc.errors import OutsideError
from rdlc.operations.outdated import LockState, look_upstream
from rdlc.operations.upstream_infra import InfraState, VersionState, look_at_infra
from tests.core.infra.roots import SECTION, with_variables
from tests.infra_samples import eks_lock
from tests.operations.fake_packages import UnaskedIndex
from tests.operations.fake_registries import FakeRegistries
from tests.operations.infra_tools import FakeOffers
from tests.operations.test_outdated import NOW

RELEASE = VersionState(address="gpu_release_version", locked="1.34.2-20261120", state="current", now="1.34.2-20261120")


def state_of(name: str, offers: FakeOffers) -> VersionState:
    (found,) = (item for item in look_at_infra(SECTION, offers).versions if item.address == name)
    return found


def test_versions_that_aws_names_are_current() -> None:
    found = look_at_infra(SECTION, FakeOffers())

    assert [(item.address, item.state) for item in found.versions] == [
        ("gpu_release_version", "current"),
        ("addon_versions.coredns", "current"),
        ("addon_versions.kube-proxy", "current"),
        ("addon_versions.vpc-cni", "current"),
    ]
    assert (set(found.states), found.trouble) == ({"current"}, "")


@pytest.mark.parametrize(
    ("published", "wanted"),
    [
        (("1.34.2-20261120", "1.34.2-20261127"), replace(RELEASE, state="newer", now="1.34.2-20261127")),
        (("1.34.2-20261110", "1.34.2-20261127"), replace(RELEASE, state="gone", now="1.34.2-20261127")),
        ((), replace(RELEASE, state="not-checked", now="")),
    ],
)
def test_a_release_that_is_not_the_newest_is_told_apart_from_one_that_is_gone_or_unknown(
    published: tuple[str, ...], wanted: VersionState
) -> None:
    assert state_of("gpu_release_version", FakeOffers(published=published)) == wanted


def test_an_ami_of_ones_own_is_not_asked_for() -> None:
    found = look_at_infra(with_variables(gpu_ami_id="ami-0123456789abcdef0"), FakeOffers())

    assert [item.address for item in found.versions if "release" in item.address] == []


@pytest.mark.parametrize(
    ("offers", "trouble"),
    [
        (FakeOffers(missing="there are no AWS credentials here"), "there are no AWS credentials here"),
        (FakeOffers(failure=OutsideError("AWS is down")), "AWS is down"),
    ],
    ids=["credentials", "down"],
)
def test_aws_that_cannot_be_asked_is_never_current(offers: FakeOffers, trouble: str) -> None:
    found = look_at_infra(SECTION, offers)

    assert (found, set(found.states)) == (InfraState(trouble=trouble), {"not-checked"})


def test_a_lock_for_eks_is_looked_at_with_its_image(tmp_path: Path) -> None:
    path = tmp_path / "x.lock.yaml"
    path.write_bytes(write_lock(eks_lock()))

    state: LockState = look_upstream(
        path,
        workspace=LocalWorkspace(),
        upstream=FakeRegistries(),
        index=UnaskedIndex(),
        offers=FakeOffers(missing="no credentials"),
        now=NOW,
    )

    assert state.infra == InfraState(trouble="no credentials")
    assert "not-checked" in state.states
