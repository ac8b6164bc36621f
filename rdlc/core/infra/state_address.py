"""Where Terraform keeps its state: beside the stack, or in an S3 bucket that a team shares."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from rdlc.core.canonical import Json
from rdlc.core.infra.stack import LOCAL_STATE, StackKey
from rdlc.core.text import one_line
from rdlc.errors import InputError

_S3 = re.compile(
    r"s3://(?P<bucket>[a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?P<prefix>(/[A-Za-z0-9._-]+)*)/?(\?region=(?P<region>[a-z0-9-]+))?"
)
_HINT = "`--state s3://BUCKET/PREFIX`, with `?region=REGION` if the bucket is in another one"


@dataclass(frozen=True, kw_only=True, slots=True)
class StateAddress:
    """A bucket, the prefix of its keys, and its region; "" for the stack's own."""

    bucket: str
    prefix: str
    region: str


def read_state_address(text: str) -> StateAddress | None:
    """The address in its text form; None for `local`, InputError for anything else."""
    if text == LOCAL_STATE:
        return None
    found = _S3.fullmatch(text)
    if not found or ".." in found["prefix"].split("/"):
        raise InputError(f"`--state {one_line(text)}` is no address of a state", hint=_HINT)
    return StateAddress(bucket=found["bucket"], prefix=found["prefix"].strip("/"), region=found["region"] or "")


def backend_document(state: str, key: StackKey, *, local_path: str, is_stand_in: bool) -> Mapping[str, Json]:
    """The backend of the stack as the content of a `.tf.json` file.

    S3 locks with a file of its own beside the state. Only a stand-in for AWS needs path-style requests.
    """
    address = read_state_address(state)
    if address is None:
        backend: dict[str, Json] = {"local": {"path": local_path}}
    else:
        place = f"{address.prefix}/{key}" if address.prefix else str(key)
        settings: dict[str, Json] = {
            "bucket": address.bucket,
            "key": f"{place}/terraform.tfstate",
            "region": address.region or key.region,
            "encrypt": True,
            "use_lockfile": True,
        }
        backend = {"s3": {**settings, "use_path_style": True} if is_stand_in else settings}
    return {"terraform": {"backend": backend}}
