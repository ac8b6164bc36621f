"""What a failure of Terraform or AWS means: one message with the text of AWS, the resource, the next step."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rdlc.core.infra.events import Diagnostic, errors_of
from rdlc.core.text import one_line
from rdlc.errors import InputError, OutsideError, RdlcError

_AWS_TEXT_LIMIT = 600
# What stands around the text of AWS in a provider's message and says nothing to people.
_NOISE = re.compile(
    r"operation error [A-Za-z0-9 ]+: [A-Za-z]+, |https response error StatusCode: \d+, |RequestID: [0-9A-Za-z-]*, "
    r"|Encoded authorization failure message: \S+"
)
_LOCK_FIELD = re.compile(r"^\s*(Who|Operation|Created):\s*(\S.*?)\s*$", re.MULTILINE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Trouble:
    """One known kind of failure: how its text is recognised, what it means and what to do next."""

    kind: str
    pattern: re.Pattern[str]
    meaning: str
    hint: str
    error: type[RdlcError] = RdlcError


def _trouble(kind: str, pattern: str, meaning: str, hint: str, error: type[RdlcError] = RdlcError) -> Trouble:
    return Trouble(kind=kind, pattern=re.compile(pattern), meaning=meaning, hint=hint, error=error)


# In the order in which they are tried: the more special text first.
TROUBLES = (
    _trouble(
        "stale-plan",
        r"Saved plan is stale",
        "the world or the state moved after the plan was shown; nothing was applied",
        "the same command again makes and shows a new plan",
    ),
    _trouble(
        "state-held",
        r"Error acquiring the state lock|state lock",
        "someone else works on this stack",
        "wait until that has ended, then the same command again",
    ),
    _trouble(
        "provider-changed",
        r"match any of the checksums|doesn't match any of the|Provider dependency changes detected"
        r"|[Cc]hecksum(s)? .*lock file|Inconsistent dependency lock file",
        "the provider here is not the one that is locked",
        "`rdlc lock SPEC --upgrade infra` locks another one on purpose",
    ),
    _trouble(
        "provider-absent",
        r"Failed to (query available|install) provider|Required plugins are not installed"
        r"|Could not (retrieve|load) the (list of available versions|schema)",
        "Terraform finds no provider of the locked version",
        "give it a registry or a mirror in the file that `TF_CLI_CONFIG_FILE` names",
        OutsideError,
    ),
    _trouble(
        "terraform-version",
        r"Unsupported Terraform Core version",
        "this Terraform is not of a version that the lock allows",
        "`--terraform-bin PATH` names another one",
    ),
    _trouble(
        "newer-state",
        r"managed by newer provider version|failed to decode identity|created by (a newer version of )?Terraform v"
        r"|newer provider version|unsupported state file format|Unsupported state file format|version \d+ of the state",
        "the state was written by a newer Terraform or provider than the locked one, and there is no way back",
        "take the newer version into the lock: `rdlc lock SPEC --upgrade infra`",
    ),
    _trouble(
        "credentials-absent",
        r"No valid credential sources|NoCredentialProviders|no EC2 IMDS role found|failed to refresh cached credentials"
        r"|Unable to locate credentials|failed to get shared config profile",
        "there are no AWS credentials",
        "`aws configure sso`, `aws sso login`, or set `AWS_PROFILE`; then the same command again",
        OutsideError,
    ),
    _trouble(
        "credentials-expired",
        r"ExpiredToken|RequestExpired|token .{0,60}expired|SSO session .{0,60}(expired|invalid)|InvalidClientTokenId"
        r"|UnrecognizedClientException|SignatureDoesNotMatch|AuthFailure",
        "the AWS credentials are expired or not valid",
        "`aws sso login` or fresh credentials; then the same command again",
        OutsideError,
    ),
    _trouble(
        "not-allowed",
        r"AccessDenied|UnauthorizedOperation|is not authorized to perform|You are not authorized",
        "the AWS credentials do not allow this",
        "`aws sts get-caller-identity` says who asks; give that role the action named above",
        OutsideError,
    ),
    _trouble(
        "throttled",
        r"Throttling|RequestLimitExceeded|TooManyRequests|Rate exceeded|SlowDown",
        "AWS throttles the requests",
        "the same command again in some minutes: it goes on from here",
        OutsideError,
    ),
    _trouble(
        "quota",
        r"VcpuLimitExceeded|(Resource|Service|Address|Vpc|NatGateway|PlacementGroup|Cluster|Instance|Volume)?"
        r"(Limit|Quota)s?(Has)?Exceeded|MaxSpotInstanceCountExceeded|limit exceeded|exceed(s|ed)? .{0,40}(quota|limit)",
        "an AWS quota of this account is too small",
        "ask for more in Service Quotas, or take a smaller profile; then the same command again goes on from here",
    ),
    _trouble(
        "type-not-here",
        r"instance type .{0,80}(is )?not supported in|instance types? do(es)? not exist|Unsupported - "
        r"|instance type .{0,60}not (available|offered)|InvalidInstanceType",
        "this region or zone has no such instance type",
        "take another zone in the `--bind` file, or another region in the spec; then the same command again",
    ),
    _trouble(
        "capacity",
        r"InsufficientInstanceCapacity|UnfulfillableCapacity|ReservationCapacityExceeded|InsufficientCapacity"
        r"|not have sufficient|Could not launch|AsgInstanceLaunchFailures",
        "AWS has no capacity for these nodes now",
        "the same command later goes on from here; another zone or a reservation in the `--bind` file may have some; "
        "`rdlc destroy STACK` takes away what stands",
    ),
    _trouble(
        "withdrawn",
        r"release version .{0,80}(not valid|invalid|not supported|unsupported)|[Aa]ddon version .{0,60}not supported"
        r"|unsupported Kubernetes version|Requested .{0,20}release version|InvalidAMIID",
        "a locked version is no longer offered",
        "`--substitute infra.VARIABLE=VERSION --reason ...` goes on with another one, recorded as a deviation",
    ),
    _trouble(
        "nodes-failed",
        r"CREATE_FAILED|NodeCreationFailure|failed to join",
        "the nodes came up and did not join, or could not be made",
        "the same command again replaces what failed; `rdlc destroy STACK` takes away what stands",
    ),
    _trouble(
        "exists",
        r"AlreadyExists|already exists|ResourceInUse|BucketAlreadyOwnedByYou|InvalidGroup\.Duplicate",
        "something of this name is there already and is not in the state",
        "another `name` in the spec, or take that away first",
    ),
    _trouble(
        "still-used",
        r"DependencyViolation|BucketNotEmpty|has dependent|currently in use",
        "something that Terraform does not own still uses this",
        "`rdlc destroy STACK` lists what else costs money; take that away, then the same command again",
    ),
    _trouble(
        "outage",
        r"connection refused|no such host|i/o timeout|connection reset|StatusCode: 5\d\d|ServiceUnavailable"
        r"|InternalFailure|InternalError|dial tcp|TLS handshake|context deadline exceeded|request send failed",
        "AWS does not answer as it should",
        "the same command again goes on from here",
        OutsideError,
    ),
    _trouble(
        "bad-variable",
        r"Invalid value for variable|Resource precondition failed|No value for required variable|Check block assertion",
        "the variables do not go together",
        "change the spec or the `--bind` file, then `rdlc lock SPEC`",
        InputError,
    ),
)


def recognise(text: str) -> Trouble | None:
    """The kind of failure that a text tells of; None for one that is not known."""
    flat = " ".join(text.split())
    return next((trouble for trouble in TROUBLES if trouble.pattern.search(flat)), None)


def tells_stale_plan(diagnostics: Sequence[Diagnostic]) -> bool:
    """Whether Terraform refused its plan because the state has moved since: then it has touched nothing."""
    found = (recognise(diagnostic.text) for diagnostic in errors_of(diagnostics))
    return any(trouble is not None and trouble.kind == "stale-plan" for trouble in found)


def explain_failure(diagnostics: Sequence[Diagnostic], *, step: str, printed: str) -> RdlcError:
    """The one error to raise for a step that failed: the first known trouble, else the first error.

    `printed` is the end of what Terraform wrote to stderr, for when it told no diagnostic.
    """
    errors = errors_of(diagnostics)
    for diagnostic in errors:
        if trouble := recognise(diagnostic.text):
            return _known(trouble, diagnostic, more=len(errors) - 1)
    if not errors:
        text = one_line(" ".join(printed.split()), limit=_AWS_TEXT_LIMIT) or "it said nothing"
        trouble = recognise(printed)
        kind, hint = (trouble.error, trouble.hint) if trouble else (RdlcError, None)
        return kind(f"`terraform {step}` failed: {text}", hint=hint)
    first = errors[0]
    return RdlcError(
        f"`terraform {step}` failed: {_place(first)}{aws_text(first)}{_more(len(errors) - 1)}",
        hint="the same command again goes on from here" if step == "apply" else None,
    )


def aws_text(diagnostic: Diagnostic) -> str:
    """What AWS or Terraform said, on one line, without what says nothing to people."""
    flat = " ".join(diagnostic.text.split())
    return one_line(_NOISE.sub("", flat), limit=_AWS_TEXT_LIMIT)


def _known(trouble: Trouble, diagnostic: Diagnostic, *, more: int) -> RdlcError:
    said = _holder(diagnostic.text) if trouble.kind == "state-held" else aws_text(diagnostic)
    message = f"{trouble.meaning}: {_place(diagnostic)}{said}{_more(more)}"
    return trouble.error(message, hint=trouble.hint)


def _place(diagnostic: Diagnostic) -> str:
    return f"`{one_line(diagnostic.address, limit=400)}`: " if diagnostic.address else ""


def _more(count: int) -> str:
    return f" (and {count} more)" if count else ""


def _holder(text: str) -> str:
    """Who holds the state, as Terraform's lock tells it."""
    found = dict(_LOCK_FIELD.findall(text))
    if "Who" not in found:
        return one_line(" ".join(text.split()), limit=_AWS_TEXT_LIMIT)
    operation = found.get("Operation", "").removeprefix("OperationType")
    return one_line(f"{operation or 'held'} by {found['Who']} since {found.get('Created', 'an unknown time')}")
