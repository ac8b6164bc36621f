"""What AWS's errors mean for a user: whose fault, and what to do next."""

from rdlc.core.text import one_line
from rdlc.errors import OutsideError, RdlcError

_EXPIRED = {"ExpiredToken", "ExpiredTokenException", "RequestExpired", "TokenRefreshRequired"}
_INVALID = {
    "InvalidClientTokenId",
    "UnrecognizedClientException",
    "InvalidSignatureException",
    "SignatureDoesNotMatch",
    "AuthFailure",
}
_DENIED = {"AccessDenied", "AccessDeniedException", "UnauthorizedOperation"}
_LOGIN = "`aws sso login`, or set `AWS_PROFILE`"


def explain(code: str, text: str, *, asked: str) -> RdlcError:
    """The error for a code that AWS answered with; `asked` says what was asked for, as `SSM for X`."""
    said = f"AWS answered `{one_line(code)}`: {one_line(text, limit=300)}"
    if code in _EXPIRED:
        return OutsideError(f"{asked}: the AWS credentials have expired; {said}", hint=_LOGIN)
    if code in _INVALID:
        return OutsideError(f"{asked}: the AWS credentials are not valid; {said}", hint=_LOGIN)
    if code in _DENIED:
        return OutsideError(
            f"{asked}: these AWS credentials may not ask; {said}", hint="ask with others: `AWS_PROFILE`"
        )
    return OutsideError(f"{asked}: {said}", hint="try again later")


def unreachable(text: str, *, asked: str) -> OutsideError:
    """The error for an AWS that gave no answer at all."""
    return OutsideError(f"{asked}: AWS gave no answer: {one_line(text, limit=300)}", hint="try again later")
