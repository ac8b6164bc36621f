"""What the calls of Terraform and AWS give back."""

from collections.abc import Mapping
from dataclasses import dataclass

from rdlc.core.infra.events import Diagnostic


@dataclass(frozen=True, kw_only=True, slots=True)
class StepEnd:
    """How one call of Terraform ended: exit status, diagnostics, the end of stderr, and if it was stopped."""

    exit_status: int
    diagnostics: tuple[Diagnostic, ...]
    printed: str
    is_stopped: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Selection:
    """Which Terraform works, and the version of each provider that it took."""

    terraform: str
    providers: Mapping[str, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Caller:
    """Whom AWS takes us for, and the addresses that stand in for AWS, by service."""

    account: str
    arn: str
    endpoints: Mapping[str, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Leftover:
    """Something that costs money and that Terraform does not own."""

    kind: str
    name: str
