"""What lies nearest to a version that AWS does not offer any more."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdlc.core.infra.offers import (
    AddonOffer,
    OfferCheck,
    ReleaseQuery,
    nearest_release,
    nearest_version,
    newest_version,
)

RELEASES = ("1.33.5-20261118", "1.34.1-20261010", "1.34.2-20261110", "1.34.2-20261130", "not a release")


@pytest.mark.parametrize(
    ("wanted", "nearest"),
    [
        ("1.34.2-20261110", "1.34.2-20261110"),
        ("1.34.2-20261112", "1.34.2-20261110"),
        ("1.34.2-20261120", "1.34.2-20261130"),
        ("1.34.1-20250101", "1.34.1-20261010"),
        ("1.34.9-20991231", "1.34.2-20261130"),
        ("1.33.5-20261118", "1.33.5-20261118"),
        ("1.32.1-20261118", None),
        ("latest", None),
        ("1.34.2-99999999", "1.34.2-20261130"),
        ("1.34.2-00000000", "1.34.1-20261010"),
    ],
)
def test_the_nearest_release_is_of_the_same_kubernetes_and_nearest_in_time(wanted: str, nearest: str | None) -> None:
    assert nearest_release(wanted, RELEASES) == nearest


def test_of_two_releases_of_one_day_the_higher_patch_is_nearer() -> None:
    assert nearest_release("1.34.9-20261110", ["1.34.2-20261110", "1.34.3-20261110"]) == "1.34.3-20261110"


@pytest.mark.parametrize(
    ("wanted", "nearest"),
    [
        ("v1.20.4-eksbuild.2", "v1.20.4-eksbuild.2"),
        ("v1.20.4-eksbuild.3", "v1.20.4-eksbuild.2"),
        ("v1.20.3-eksbuild.1", "v1.20.4-eksbuild.2"),
        ("v1.19.9-eksbuild.1", "v1.20.4-eksbuild.2"),
        ("v1.17.0-eksbuild.1", "v1.18.0-eksbuild.1"),
        ("v9.0.0-eksbuild.1", "v2.0.0-eksbuild.1"),
        ("latest", None),
    ],
)
def test_the_nearest_version_shares_the_leading_numbers(wanted: str, nearest: str | None) -> None:
    offered = ("v1.18.0-eksbuild.1", "v1.20.0-eksbuild.1", "v1.20.4-eksbuild.2", "v2.0.0-eksbuild.1", "junk")

    assert nearest_version(wanted, offered) == nearest


def test_without_any_offer_nothing_is_near() -> None:
    assert nearest_version("v1.20.4-eksbuild.2", []) is None
    assert nearest_release("1.34.2-20261110", []) is None


def test_the_default_of_aws_is_taken_and_else_the_newest() -> None:
    old, new = "v1.9.0-eksbuild.1", "v1.10.0-eksbuild.1"

    assert newest_version([AddonOffer(version=old, is_default=True), AddonOffer(version=new, is_default=False)]) == old
    assert newest_version([AddonOffer(version=new, is_default=False), AddonOffer(version=old, is_default=False)]) == new
    assert newest_version([AddonOffer(version="latest", is_default=True)]) is None


@given(st.lists(st.text(max_size=20) | st.sampled_from(RELEASES), max_size=6), st.text(max_size=20))
def test_a_nearest_version_is_always_one_that_is_offered(offered: list[str], wanted: str) -> None:
    assert nearest_release(wanted, offered) in {None, *offered}
    assert nearest_version(wanted, offered) in {None, *offered}


def test_a_withdrawn_version_is_told_with_the_nearest() -> None:
    gone = OfferCheck(
        address="gpu_release_version",
        locked="1.34.2-20261120",
        is_offered=False,
        nearest="1.34.2-20261130",
        recommended=None,
    )

    assert gone.message == (
        "`gpu_release_version`: `1.34.2-20261120` is not offered any more; "
        "the nearest that is offered is `1.34.2-20261130`"
    )
    assert replace(gone, nearest=None).message == (
        "`gpu_release_version`: `1.34.2-20261120` is not offered any more; nor is any like it"
    )


def test_a_type_of_ami_without_releases_has_no_path() -> None:
    query = ReleaseQuery(region="us-east-2", kubernetes="1.34", ami_type="AL2023_x86_64_NVIDIA")

    assert query.path == "/aws/service/eks/optimized-ami/1.34/amazon-linux-2023/x86_64/nvidia"
    assert ReleaseQuery(region="us-east-2", kubernetes="1.34", ami_type="CUSTOM").path is None
