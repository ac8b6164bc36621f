"""What a failure of Terraform or AWS means: one message, the text of AWS, the resource, the next step."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdlc.core.infra.events import Diagnostic
from rdlc.core.infra.failures import TROUBLES, explain_failure, recognise
from rdlc.errors import InputError, OutsideError, RdlcError

GROUP = "module.nodes.aws_eks_node_group.gpu"
WAITING = (
    "waiting for EKS Node Group (seed:gpu) create: unexpected state 'CREATE_FAILED', wanted target 'ACTIVE'. "
    "last error: "
)


def failed(summary: str, detail: str = "", address: str = "") -> Diagnostic:
    return Diagnostic(severity="error", summary=summary, detail=detail, address=address)


# What the provider and AWS say, each in the words that they really use.
SAID = {
    "credentials-absent": (
        "No valid credential sources found",
        "Error: failed to refresh cached credentials, no EC2 IMDS role found, operation error ec2imds: GetMetadata",
    ),
    "credentials-expired": (
        (
            "Retrieving AWS account details: validating provider credentials: retrieving caller identity from STS: "
            "operation error STS: GetCallerIdentity, https response error StatusCode: 403, RequestID: 1-2, api error "
            "ExpiredToken: The security token included in the request is expired"
        ),
        "",
    ),
    "not-allowed": (
        (
            "creating EKS Cluster (seed): operation error EKS: CreateCluster, https response error StatusCode: 403, "
            "RequestID: 1, api error AccessDeniedException: User: arn:aws:iam::1:user/x is not authorized to perform: "
            "eks:CreateCluster"
        ),
        "",
    ),
    "throttled": ("reading EC2 VPC: api error RequestLimitExceeded: Request limit exceeded.", ""),
    "quota": (
        WAITING + "i-1: AsgInstanceLaunchFailures: Could not launch On-Demand Instances. VcpuLimitExceeded - You have "
        "requested more vCPU capacity than your current vCPU limit of 0 allows.",
        "",
    ),
    "capacity": (
        WAITING
        + "i-1: AsgInstanceLaunchFailures: Could not launch On-Demand Instances. InsufficientInstanceCapacity - "
        "We currently do not have sufficient g6.12xlarge capacity in the Availability Zone you requested (us-east-2a).",
        "",
    ),
    "type-not-here": (
        WAITING + "i-1: AsgInstanceLaunchFailures: Could not launch On-Demand Instances. Unsupported - Your requested "
        "instance type (p5.48xlarge) is not supported in your requested Availability Zone (us-east-2c).",
        "",
    ),
    "withdrawn": (
        (
            "creating EKS Node Group (seed:gpu): api error InvalidParameterException: Requested Nodegroup release "
            "version 1.33.0-20250101 is invalid. Allowed release version is 1.33.5-20251101"
        ),
        "",
    ),
    "nodes-failed": (WAITING + "i-1: NodeCreationFailure: Instances failed to join the kubernetes cluster", ""),
    "newer-state": (
        "Resource instance managed by newer provider version",
        "The current state of aws_vpc.main was created",
    ),
    "state-held": (
        "Error acquiring the state lock",
        (
            "Error message: ConditionalCheckFailedException\nLock Info:\n  ID:        1-2\n  Path:      b/k\n"
            "  Operation: OperationTypeApply\n  Who:       ann@desk\n  Version:   1.11.4\n"
            "  Created:   2026-12-01 01:02:03 UTC\n"
        ),
    ),
    "stale-plan": ("Saved plan is stale", "The given plan file can no longer be applied"),
    "provider-changed": (
        "Failed to install provider",
        (
            "Error while installing hashicorp/aws v5.100.0: the local package doesn't match any of the checksums "
            "previously recorded in the dependency lock file"
        ),
    ),
    "provider-absent": (
        "Failed to query available provider packages",
        "Could not retrieve the list of available versions",
    ),
    "terraform-version": ("Unsupported Terraform Core version", "This configuration does not support Terraform 1.9"),
    "exists": ("creating IAM Role (seed): api error EntityAlreadyExists: Role with name seed already exists.", ""),
    "still-used": ("deleting EC2 VPC (vpc-1): api error DependencyViolation: The vpc 'vpc-1' has dependencies", ""),
    "outage": ('reading EKS: request send failed, Get "https://x": dial tcp: lookup x: no such host', ""),
    "bad-variable": ("Invalid value for variable", "EFA needs one zone.\n\nThis was checked by the validation rule"),
}


def test_every_known_trouble_has_its_example() -> None:
    assert set(SAID) == {trouble.kind for trouble in TROUBLES}


@pytest.mark.parametrize("kind", SAID)
def test_each_trouble_is_recognised_by_its_own_words(kind: str) -> None:
    summary, detail = SAID[kind]
    found = recognise(failed(summary, detail).text)

    assert found is not None
    assert found.kind == kind


@pytest.mark.parametrize("kind", ["credentials-absent", "credentials-expired", "not-allowed", "throttled", "outage"])
def test_credentials_throttling_and_outage_are_the_outsides_fault(kind: str) -> None:
    error = explain_failure([failed(*SAID[kind])], step="apply", printed="")

    assert type(error) is OutsideError
    assert error.exit_code == 3


@pytest.mark.parametrize("kind", ["quota", "capacity", "type-not-here", "withdrawn", "nodes-failed", "newer-state"])
def test_capacity_and_quota_are_a_no(kind: str) -> None:
    error = explain_failure([failed(*SAID[kind])], step="apply", printed="")

    assert type(error) is RdlcError
    assert error.exit_code == 1


def test_the_message_has_the_text_of_aws_the_resource_and_the_next_step() -> None:
    noise = failed("reading something", address="aws_vpc.main")

    error = explain_failure([noise, failed(*SAID["quota"], address=GROUP)], step="apply", printed="")

    assert error.message == (
        f"an AWS quota of this account is too small: `{GROUP}`: {WAITING}i-1: AsgInstanceLaunchFailures: Could not "
        "launch On-Demand Instances. VcpuLimitExceeded - You have requested more vCPU capacity than your current vCPU "
        "limit of 0 allows. (and 1 more)"
    )
    assert error.hint == (
        "ask for more in Service Quotas, or take a smaller profile; then the same command again goes on from here"
    )


def test_what_says_nothing_to_people_is_left_out() -> None:
    error = explain_failure([failed(*SAID["credentials-expired"])], step="plan", printed="")

    assert error.message == (
        "the AWS credentials are expired or not valid: Retrieving AWS account details: validating provider "
        "credentials: retrieving caller identity from STS: api error ExpiredToken: The security token included in the "
        "request is expired"
    )


def test_who_holds_a_shared_state_is_told() -> None:
    error = explain_failure([failed(*SAID["state-held"])], step="plan", printed="")

    assert error.message == "someone else works on this stack: Apply by ann@desk since 2026-12-01 01:02:03 UTC"


def test_a_refused_variable_is_bad_input() -> None:
    assert type(explain_failure([failed(*SAID["bad-variable"])], step="plan", printed="")) is InputError


def test_an_unknown_failure_keeps_its_text_and_resource() -> None:
    error = explain_failure([failed("odd", "more\nof it", address=GROUP)], step="apply", printed="")

    assert error.message == f"`terraform apply` failed: `{GROUP}`: odd more of it"
    assert error.hint == "the same command again goes on from here"


def test_without_a_diagnostic_the_end_of_stderr_tells() -> None:
    error = explain_failure([], step="init", printed="\nError: bad\x1b flag\n")

    assert error.message == "`terraform init` failed: Error: bad\\x1b flag"
    assert explain_failure([], step="init", printed="").message == "`terraform init` failed: it said nothing"


@given(
    st.lists(
        st.builds(
            Diagnostic,
            severity=st.sampled_from(["error", "warning"]),
            summary=st.text(),
            detail=st.text(),
            address=st.text(),
        )
    ),
    st.text(),
)
def test_any_failure_is_one_error(diagnostics: list[Diagnostic], printed: str) -> None:
    error = explain_failure(diagnostics, step="apply", printed=printed)

    assert "\x1b" not in error.message
    assert "\n" not in error.message
