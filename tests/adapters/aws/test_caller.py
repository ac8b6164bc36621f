"""Who AWS takes us for, and what stands in for AWS."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rdlc.adapters.aws.caller import read_caller
from rdlc.errors import OutsideError
from tests.adapters.aws.shell import forget_aws
from tests.registry.aws import moto_server
from tests.registry.processes import free_port

REGION = "us-east-2"
LOGIN = "`aws sso login`, or set `AWS_PROFILE`; then the same command again"


@pytest.fixture(scope="module")
def aws(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with moto_server(tmp_path_factory.mktemp("aws")) as endpoint:
        yield endpoint


@pytest.fixture(autouse=True)
def shell(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A shell with test credentials and a config file of its own; gives that file."""
    return forget_aws(monkeypatch, tmp_path)


def test_the_account_is_told_and_that_something_stands_in_for_aws(aws: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", aws)
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://user:secret@127.0.0.1:1")

    caller = read_caller(REGION)

    assert caller.account == "123456789012"
    assert caller.endpoints == {"AWS_ENDPOINT_URL": aws, "AWS_ENDPOINT_URL_S3": "http://127.0.0.1:1"}


def test_a_stand_in_of_the_config_file_is_told_too(aws: str, shell: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = (
        "[profile team]",
        f"endpoint_url = {aws}",
        "services = ours",
        "[services ours]",
        "eks =",
        "  endpoint_url = http://e",
    )
    shell.write_text("\n".join(lines), encoding="ascii")
    monkeypatch.setenv("AWS_PROFILE", "team")

    assert read_caller(REGION).endpoints == {"AWS_ENDPOINT_URL": aws, "AWS_ENDPOINT_URL_EKS": "http://e"}


def test_without_credentials_the_next_step_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")

    with pytest.raises(OutsideError) as caught:
        read_caller(REGION)

    assert caught.value.message == "there are no AWS credentials: Unable to locate credentials"
    assert caught.value.hint == LOGIN


def test_a_profile_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "absent")

    with pytest.raises(OutsideError) as caught:
        read_caller(REGION)

    assert caught.value.message == (
        "the AWS credentials cannot be used: The config profile (absent) could not be found"
    )


def test_an_aws_that_does_not_answer_is_the_outsides_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    monkeypatch.setenv("AWS_ENDPOINT_URL", url)

    with pytest.raises(OutsideError) as caught:
        read_caller(REGION)

    assert caught.value.message == (
        f'the identity of the AWS credentials: AWS gave no answer: Could not connect to the endpoint URL: "{url}/"'
    )


def test_an_invalid_region_is_no_crash() -> None:
    with pytest.raises(OutsideError):
        read_caller("not a region")
