"""What a registry's refusals mean: gone, not allowed, throttled, or out of order."""

import json

from rdlc.adapters.registry.connections import Answer
from rdlc.adapters.registry.pace import RETRIED_STATUSES, Waiting
from rdlc.core.text import one_line
from rdlc.errors import OutsideError, RdlcError

ERROR_LIMIT_BYTES = 64 << 10

_DATA_LIMIT = b"data limit exceeded"


class ImageNotFoundError(RdlcError):
    """The registry answers, and has no such tag, digest or repository."""


def is_worth_another_try(answer: Answer) -> bool:
    """Whether the same request may succeed in a while; a used-up monthly quota does not come back."""
    return answer.status in RETRIED_STATUSES and _DATA_LIMIT not in answer.data.lower()


def refusal(answer: Answer, *, what: str, registry: str, known_as: str | None) -> RdlcError:
    """The error of an answer that is no success; `known_as` says whose credentials were shown."""
    said = _said(answer.data)
    if answer.status == 404:
        return ImageNotFoundError(f"`{registry}` has no {what}{said}")
    if answer.status in (401, 403):
        return _not_allowed(said, what=what, registry=registry, known_as=known_as)
    if answer.status == 429 and _DATA_LIMIT in answer.data.lower():
        return OutsideError(
            f"`{registry}` gives no more data to this address this month{said}",
            hint="log in: `aws ecr-public get-login-password` and `docker login` raise the quota",
        )
    return OutsideError(f"`{registry}` answers {answer.status} for the {what}{said}")


def throttled(answer: Answer, waiting: Waiting, *, what: str, registry: str) -> OutsideError:
    """The error when asking again did not help."""
    after = answer.header("Retry-After")
    asks = f", and asks to wait `{one_line(after, limit=40)}`" if after else ""
    state = "too many requests" if answer.status == 429 else f"status {answer.status}"
    count = "1 request" if waiting.attempts == 1 else f"{waiting.attempts} requests"
    return OutsideError(
        f"`{registry}` answers {state} for the {what} after {count}{asks}",
        hint="try again later; with credentials the limits are higher",
    )


def _not_allowed(said: str, *, what: str, registry: str, known_as: str | None) -> OutsideError:
    if known_as is None:
        return OutsideError(
            f"`{registry}` does not give the {what} without credentials, if it has it at all{said}",
            hint=f"`docker login {registry}`, or AWS credentials for a private ECR registry",
        )
    return OutsideError(
        f"`{registry}` does not give the {what} to the credentials from {known_as}{said}",
        hint=f"check the permissions, or log in again: `docker login {registry}`",
    )


def _said(data: bytes) -> str:
    """The registry's own words, if it sent some in the common form."""
    try:
        first = json.loads(data)["errors"][0]
        words = first.get("message") or first.get("code")
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return ""
    return f': "{one_line(words)}"' if isinstance(words, str) and words else ""
