"""Private ECR: the login comes from AWS, which moto imitates."""

import base64
from pathlib import Path

import boto3
import pytest

from rdlc.adapters.registry.client import Registry
from rdlc.core.image.reference import parse_reference
from rdlc.errors import OutsideError
from tests.adapters.registry.conftest import USERS
from tests.adapters.registry.test_client import small_image
from tests.registry.authority import Authority
from tests.registry.aws import moto_server
from tests.registry.push import push
from tests.registry.secured import basic_registry

DLC_HOST = "763104351884.dkr.ecr.us-west-2.amazonaws.com"


@pytest.fixture
def aws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """AWS credentials in the environment, for whatever endpoint is set."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test-key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test-secret")


@pytest.mark.usefixtures("aws")
def test_private_ecr_opens_with_a_login_from_aws(
    storage: Path, plain: str, authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = push(plain, "ray", small_image("private"), "train-ml-cuda-v1.1")
    with moto_server(tmp_path) as endpoint:
        monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
        ecr = boto3.client("ecr", region_name="us-west-2")
        answer = ecr.get_authorization_token(registryIds=["763104351884"])["authorizationData"][0]
        user, _, password = base64.b64decode(answer["authorizationToken"]).decode().partition(":")
        with basic_registry(storage, authority, users={user: password}, names=(DLC_HOST,)) as address:
            port = int(address.rpartition(":")[2])
            warnings: list[str] = []
            with Registry(
                warn=warnings.append,
                ca_file=str(authority.file),
                connect_to={f"{DLC_HOST}:443": ("127.0.0.1", port)},
            ) as registry:
                image = registry.resolve(parse_reference(f"{DLC_HOST}/ray:train-ml-cuda-v1.1"))

    assert (image.digest, image.kind, image.repository) == (built, "moving-minor", "deep-learning-containers/ray")
    assert warnings == []


def test_private_ecr_without_aws_credentials_says_so(storage: Path, authority: Authority, tmp_path: Path) -> None:
    with basic_registry(storage, authority, users=USERS, names=(DLC_HOST,)) as address:
        port = int(address.rpartition(":")[2])
        warnings: list[str] = []
        with (
            Registry(
                warn=warnings.append,
                ca_file=str(authority.file),
                connect_to={f"{DLC_HOST}:443": ("127.0.0.1", port)},
            ) as registry,
            pytest.raises(OutsideError) as caught,
        ):
            registry.resolve(parse_reference(f"{DLC_HOST}/ray:v1"))

    assert caught.value.message.startswith(f"`{DLC_HOST}` does not give the image `{DLC_HOST}/ray:v1` without")
    assert warnings == ["no AWS login for private ECR: Unable to locate credentials"]
