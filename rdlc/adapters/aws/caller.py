"""Who AWS takes us for, and what stands in for AWS."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rdlc.adapters.aws.errors import explain, unreachable
from rdlc.core.infra.steps import Caller
from rdlc.core.text import one_line
from rdlc.errors import OutsideError, RdlcError

if TYPE_CHECKING:
    from botocore.session import Session

_ENDPOINT = "AWS_ENDPOINT_URL"
_IGNORED = "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"
_LOGIN = "`aws sso login`, or set `AWS_PROFILE`; then the same command again"


def read_caller(region: str) -> Caller:
    """The account and identity of the credentials here; raises OutsideError without valid ones."""
    try:
        from botocore.config import Config
        from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError
        from botocore.session import Session
    except ImportError as error:
        raise RdlcError("boto3 is missing, and asks AWS who we are", hint="`pip install 'rdlc[aws]'`") from error
    asked = "the identity of the AWS credentials"
    try:
        session = Session()
        limits = Config(connect_timeout=10, read_timeout=30, retries={"total_max_attempts": 3})
        client: Any = session.create_client("sts", region_name=region, config=limits)
        answer = client.get_caller_identity()
        endpoints = _endpoints(session)
    except NoCredentialsError as error:
        raise OutsideError(f"there are no AWS credentials: {one_line(str(error))}", hint=_LOGIN) from error
    except ClientError as error:
        code = str(error.response.get("Error", {}).get("Code", "unknown"))
        raise explain(code, str(error), asked=asked) from error
    except (BotoCoreError, ValueError) as error:
        raise _unusable(error, asked) from error
    account, arn = answer.get("Account"), answer.get("Arn")
    if not isinstance(account, str) or not account.isdecimal() or not isinstance(arn, str):
        raise OutsideError("AWS does not say whose credentials these are", hint="try again later")
    return Caller(account=account, arn=one_line(arn, limit=400), endpoints=endpoints)


def _unusable(error: Exception, asked: str) -> OutsideError:
    """For what botocore says itself: a profile or login that cannot be used, or no answer at all."""
    name = type(error).__name__
    if any(word in name for word in ("SSO", "Token", "Credential", "Profile", "Login", "Config")):
        return OutsideError(f"the AWS credentials cannot be used: {one_line(str(error), limit=300)}", hint=_LOGIN)
    return unreachable(str(error), asked=asked)


def _endpoints(session: "Session") -> Mapping[str, str]:
    """What stands in for AWS: from the environment, and from the profile in the config file."""
    if os.environ.get(_IGNORED, "").lower() == "true":
        return {}
    found = {name: os.environ[name] for name in os.environ if _is_endpoint(name) and os.environ[name]}
    profile = session.get_scoped_config()
    if isinstance(url := profile.get("endpoint_url"), str):
        found.setdefault(_ENDPOINT, url)
    services = session.full_config.get("services", {}).get(profile.get("services"), {})
    for service, settings in services.items():
        if isinstance(settings, Mapping) and isinstance(url := settings.get("endpoint_url"), str):
            found.setdefault(f"{_ENDPOINT}_{service.upper()}", url)
    return {name: one_line(_without_login(url), limit=300) for name, url in sorted(found.items())}


def _is_endpoint(name: str) -> bool:
    return name == _ENDPOINT or name.startswith(f"{_ENDPOINT}_")


def _without_login(url: str) -> str:
    scheme, mark, rest = url.partition("://")
    return f"{scheme}{mark}{rest.rpartition('@')[2]}"
