"""The login of private ECR registries, through boto3 if it is installed."""

import base64
import binascii
from collections.abc import Callable

from rdlc.core.image.names import EcrRegistry
from rdlc.core.text import one_line


def ecr_login(ecr: EcrRegistry, *, warn: Callable[[str], None]) -> tuple[str, str] | None:
    """User and password, good for 12 hours; None, with a warning, if AWS gives none."""
    try:
        from boto3.session import Session  # takes 0.2 s: only for hosts that need it
        from botocore.config import Config
        from botocore.exceptions import BotoCoreError, ClientError
    except ImportError:
        warn("no AWS login for private ECR: boto3 is missing, `pip install 'rdlc[aws]'`")
        return None
    try:
        limits = Config(connect_timeout=10, read_timeout=30, retries={"total_max_attempts": 3})
        client = Session().client("ecr", region_name=ecr.region, config=limits)
        answer = client.get_authorization_token(registryIds=[ecr.account])
        token = answer["authorizationData"][0]["authorizationToken"]
        username, _, secret = base64.b64decode(token).decode("utf-8").partition(":")
    except (BotoCoreError, ClientError) as error:
        warn(f"no AWS login for private ECR: {one_line(str(error))}")
        return None
    except (LookupError, TypeError, UnicodeDecodeError, binascii.Error):
        warn("no AWS login for private ECR: AWS gave a token that cannot be read")
        return None
    return username, secret
