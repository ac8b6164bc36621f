"""What the names of Deep Learning Containers promise."""

import pytest

from rdlc.core.image.names import (
    EcrRegistry,
    is_dlc,
    neutral_repository,
    parse_ecr_registry,
    private_name,
    public_name,
    tag_kind,
)
from rdlc.core.image.reference import parse_reference

PUBLIC = "public.ecr.aws/deep-learning-containers/ray"
PRIVATE = "763104351884.dkr.ecr.us-west-2.amazonaws.com/ray"
DIGEST = "sha256:" + "0" * 64


@pytest.mark.parametrize(
    ("rest", "kind"),
    [
        ("", "unversioned"),
        (":train-ml-cuda", "unversioned"),
        (":train-ml-cuda-v1", "moving-major"),
        (":train-ml-cuda-v1-soci", "moving-major"),
        (":train-ml-cuda-v1.1", "moving-minor"),
        (":train-ml-cuda-v1.10-soci", "moving-minor"),
        (":train-ml-cuda-v1.1.0", "fixed"),
        (":train-ml-cuda-v1.1.0-soci", "moving-minor"),
        (":train-ml-cuda-v1.1.0.0", "unversioned"),
        (f"@{DIGEST}", "digest"),
        (f":train-ml-cuda-v1@{DIGEST}", "digest"),
    ],
)
def test_the_suffix_of_a_tag_says_how_firm_it_is(rest: str, kind: str) -> None:
    assert tag_kind(parse_reference(PUBLIC + rest)) == kind
    assert tag_kind(parse_reference(PRIVATE + rest)) == kind


def test_tags_of_other_images_promise_nothing() -> None:
    assert tag_kind(parse_reference("rayproject/ray:train-v1.1.0")) == "other"
    assert tag_kind(parse_reference("123456789012.dkr.ecr.us-west-2.amazonaws.com/ray:a-v1.1.0")) == "other"


@pytest.mark.parametrize(
    "name",
    [
        PUBLIC,
        PRIVATE,
        "626614931356.dkr.ecr.af-south-1.amazonaws.com/ray",
        "727897471807.dkr.ecr.cn-north-1.amazonaws.com.cn/ray",
        "763104351884.dkr-ecr.us-west-2.on.aws/ray",
        "127.0.0.1:5000/deep-learning-containers/ray",
        "123456789012.dkr.ecr.us-west-2.amazonaws.com/ecr-public/deep-learning-containers/ray",
    ],
)
def test_all_names_of_one_container_have_one_neutral_and_one_public_name(name: str) -> None:
    reference = parse_reference(f"{name}:v1")

    assert is_dlc(reference)
    assert neutral_repository(reference) == "deep-learning-containers/ray"
    assert public_name(reference) == parse_reference(f"{PUBLIC}:v1")


@pytest.mark.parametrize(
    ("region", "host"),
    [
        ("us-west-2", "763104351884.dkr.ecr.us-west-2.amazonaws.com"),
        ("eu-south-1", "692866216735.dkr.ecr.eu-south-1.amazonaws.com"),
        ("cn-north-1", "727897471807.dkr.ecr.cn-north-1.amazonaws.com.cn"),
    ],
)
def test_the_private_name_is_that_of_the_account_in_the_region(region: str, host: str) -> None:
    public = parse_reference(f"{PUBLIC}:train-ml-cuda-v1.1@{DIGEST}")

    private = private_name(public, region=region)

    assert private == parse_reference(f"{host}/ray:train-ml-cuda-v1.1@{DIGEST}")
    assert private is not None
    assert public_name(private) == public


def test_other_images_have_neither_a_public_nor_a_private_name() -> None:
    reference = parse_reference("rayproject/ray:v1")

    assert public_name(reference) is None
    assert private_name(reference, region="us-west-2") is None
    assert neutral_repository(reference) == "rayproject/ray"


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("123456789012.dkr.ecr.us-west-2.amazonaws.com", EcrRegistry(account="123456789012", region="us-west-2")),
        ("123456789012.dkr.ecr-fips.us-east-1.amazonaws.com", EcrRegistry(account="123456789012", region="us-east-1")),
        ("123456789012.dkr-ecr.eu-west-1.on.aws", EcrRegistry(account="123456789012", region="eu-west-1")),
        ("public.ecr.aws", None),
        ("12345678901.dkr.ecr.us-west-2.amazonaws.com", None),
        ("123456789012.dkr.ecr.us-west-2.amazonaws.com.example", None),
    ],
)
def test_a_private_ecr_registry_is_known_by_its_host(host: str, expected: EcrRegistry | None) -> None:
    assert parse_ecr_registry(host) == expected
