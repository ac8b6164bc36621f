"""Asking AWS for releases and versions: every page is read, and every trouble has one message."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rdlc.adapters.aws.offers import AwsOffers
from rdlc.core.infra.offers import AddonOffer, AddonQuery, ReleaseQuery
from rdlc.errors import OutsideError
from tests.adapters.aws.fake_aws import FakeAws, serve

RELEASE = ReleaseQuery(region="us-east-2", kubernetes="1.34", ami_type="AL2023_x86_64_NVIDIA")
ADDON = AddonQuery(region="us-east-2", kubernetes="1.34", addon="vpc-cni")
PATH = "/aws/service/eks/optimized-ami/1.34/amazon-linux-2023/x86_64/nvidia"
VARIABLES = (
    "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_CA_BUNDLE",
    "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_SSM", "AWS_ENDPOINT_URL_EKS", "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
)  # fmt: skip


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeAws]:
    with serve(FakeAws()) as fake:
        monkeypatch.setenv("AWS_ENDPOINT_URL", fake.url)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
        yield fake


def test_the_recommended_release_is_asked_for_by_its_public_parameter(aws: FakeAws) -> None:
    aws.parameters[f"{PATH}/recommended/release_version"] = "1.34.2-20261120"

    assert AwsOffers().recommended_release(RELEASE) == "1.34.2-20261120"
    assert aws.asked == [f"GetParameter {PATH}/recommended/release_version"]


def test_a_release_that_aws_does_not_know_is_none(aws: FakeAws) -> None:
    assert AwsOffers().recommended_release(RELEASE) is None


def test_all_releases_are_read_page_by_page(aws: FakeAws) -> None:
    for day in ("20261101", "20261110", "20261120"):
        aws.parameters[f"{PATH}/amazon-eks-node-{day}/image_id"] = "ami-1"
        aws.parameters[f"{PATH}/amazon-eks-node-{day}/release_version"] = f"1.34.2-{day}"
    aws.parameters[f"{PATH}/recommended/release_version"] = "1.34.2-20261120"

    assert AwsOffers().releases(RELEASE) == ("1.34.2-20261101", "1.34.2-20261110", "1.34.2-20261120")
    assert aws.asked == [f"GetParametersByPath {PATH} {start}" for start in (0, 2, 4, 6)]


def test_versions_of_an_add_on_are_read_page_by_page_for_one_kubernetes_version(aws: FakeAws) -> None:
    aws.addons["vpc-cni"] = [
        ("v1.20.4-eksbuild.2", "1.34", False),
        ("v1.20.3-eksbuild.1", "1.34", True),
        ("v1.19.0-eksbuild.1", "1.33", True),
    ]

    assert AwsOffers().addon_versions(ADDON) == (
        AddonOffer(version="v1.20.3-eksbuild.1", is_default=True),
        AddonOffer(version="v1.20.4-eksbuild.2", is_default=False),
    )
    assert aws.asked == ["DescribeAddonVersions vpc-cni 1.34 0", "DescribeAddonVersions vpc-cni 1.34 2"]


def test_an_endpoint_in_the_place_of_aws_is_never_called_aws(aws: FakeAws) -> None:
    offers = AwsOffers()
    before = offers.source()

    offers.recommended_release(RELEASE)

    assert (before, offers.source()) == ("AWS", f"not AWS but `{aws.url.removeprefix('http://')}`")


def test_without_credentials_it_says_so_and_with_them_it_does_not(
    aws: FakeAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_credentials = AwsOffers().describe_missing()
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")

    assert (with_credentials, AwsOffers().describe_missing()) == (None, "there are no AWS credentials here")


def test_a_profile_that_does_not_exist_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "gone")

    assert AwsOffers().describe_missing() == (
        "the AWS credentials cannot be used: The config profile (gone) could not be found"
    )


@pytest.mark.parametrize(
    ("failure", "message", "hint"),
    [
        (
            (400, "ExpiredTokenException", "The security token is expired"),
            "the AWS credentials have expired; AWS answered `ExpiredTokenException`",
            "`aws sso login`, or set `AWS_PROFILE`",
        ),
        (
            (400, "UnrecognizedClientException", "The token is invalid"),
            "the AWS credentials are not valid; AWS answered `UnrecognizedClientException`",
            "`aws sso login`, or set `AWS_PROFILE`",
        ),
        (
            (400, "AccessDeniedException", "not authorized"),
            "these AWS credentials may not ask; AWS answered `AccessDeniedException`",
            "ask with others: `AWS_PROFILE`",
        ),
        ((400, "ThrottlingException", "Rate exceeded"), "AWS answered `ThrottlingException`", "try again later"),
        ((500, "InternalServerError", "oh\x1b[31m"), "AWS answered `InternalServerError`", "try again later"),
    ],
)
def test_a_failure_says_whose_it_is_and_what_to_do(
    aws: FakeAws, failure: tuple[int, str, str], message: str, hint: str
) -> None:
    aws.failure = failure

    with pytest.raises(OutsideError) as caught:
        AwsOffers().recommended_release(RELEASE)

    start = f"`ssm get_parameter` in `us-east-2`: {message}: "
    assert (caught.value.message[: len(start)], caught.value.hint) == (start, hint)
    assert failure[2].replace("\x1b", "\\x1b") in caught.value.message


def test_an_answer_that_is_none_is_told(aws: FakeAws) -> None:
    aws.raw = b'{"Parameter": {"Value": 3}}'

    with pytest.raises(OutsideError) as caught:
        AwsOffers().recommended_release(RELEASE)

    assert caught.value.message == f"`{PATH}/recommended/release_version`: AWS gave an answer that cannot be read"


@pytest.mark.parametrize("raw", [b"<html>", b"[1]", b"\xff"])
def test_an_answer_that_is_no_json_is_outside_trouble(aws: FakeAws, raw: bytes) -> None:
    aws.raw = raw

    with pytest.raises(OutsideError, match=r"AWS gave an answer that cannot be read$|AWS answered"):
        AwsOffers().addon_versions(ADDON)


def test_a_region_that_no_endpoint_has_is_outside_trouble(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")

    with pytest.raises(OutsideError) as caught:
        AwsOffers().recommended_release(RELEASE)

    assert caught.value.message == (
        "`ssm get_parameter` in `us-east-2`: AWS gave no answer: "
        'Could not connect to the endpoint URL: "http://127.0.0.1:1/"'
    )
