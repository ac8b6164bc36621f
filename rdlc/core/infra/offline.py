"""The outcome of planning a root from nothing, without an account."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class OfflinePlan:
    """What `terraform show -json` says of the plan."""

    shown: bytes


@dataclass(frozen=True, kw_only=True, slots=True)
class MissingPlan:
    """Why there is no plan: the machine lacks something, and nothing is wrong with the root."""

    reason: str
