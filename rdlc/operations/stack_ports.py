"""The ports of the use cases about stacks: Terraform, the stack's folder, AWS, and the people."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from rdlc.core.infra.events import Event
from rdlc.core.infra.offers import OfferCheck
from rdlc.core.infra.order import InfraOrder
from rdlc.core.infra.plan import Plan
from rdlc.core.infra.prices import PriceEstimate
from rdlc.core.infra.stack import StackKey, StackRecord
from rdlc.core.infra.steps import Caller, Leftover, Selection, StepEnd
from rdlc.core.record import Drift
from rdlc.operations.infra_ports import Offers


class Listener(Protocol):
    """Shows what Terraform does, and tells whether the user wants it to stop."""

    def begin(self, step: str) -> None:
        """A step begins: init, plan, apply, destroy."""
        ...

    def event(self, event: Event) -> None:
        """Terraform said something."""
        ...

    def tick(self) -> None:
        """Time goes by."""
        ...

    def stop_level(self) -> int:
        """0 to go on, 1 to stop in order, 2 to stop at once."""
        ...

    def end(self) -> None:
        """The step is over."""
        ...


class Work(Protocol):
    """A work copy in a stack's folder in which Terraform runs."""

    def init(self, listener: Listener) -> StepEnd:
        """Makes the work copy ready; the lock file of the providers is read only."""
        ...

    def selection(self) -> Selection:
        """Terraform and providers, once it is ready."""
        ...

    def plan(self, listener: Listener, *, is_destroy: bool) -> StepEnd:
        """Plans and keeps the plan; exit status 0 for no change, 2 for changes."""
        ...

    def show_plan(self) -> bytes:
        """The kept plan as JSON."""
        ...

    def apply(self, listener: Listener, *, is_destroy: bool) -> StepEnd:
        """Applies the kept plan and no other."""
        ...

    def show_outputs(self) -> bytes:
        """The outputs of the state as JSON."""
        ...

    def list_resources(self) -> tuple[str, ...]:
        """The addresses of all that the state holds."""
        ...


class Stack(Protocol):
    """One stack's folder, held by this process until it is closed."""

    @property
    def path(self) -> Path:
        """Where it lies."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...

    def read(self) -> StackRecord | None:
        """Its record; None for a stack that was never applied."""
        ...

    def write(self, record: StackRecord) -> None:
        """Replaces the record in one step."""
        ...

    def keep_order(self, order: InfraOrder) -> None:
        """Keeps what is about to be applied, for the day on which it is destroyed."""
        ...

    def read_order(self, record: StackRecord) -> InfraOrder:
        """What was applied last; raises InputError if it was changed since."""
        ...

    def open(self, order: InfraOrder, *, state: str, is_stand_in: bool) -> Work:
        """Lays the order out as a clean work copy.

        `state` is `local` or an `s3://` address, `is_stand_in` whether something stands in for AWS.
        """
        ...


class Stacks(Protocol):
    """The stacks of a project, and the Terraform of this machine."""

    def hold(self, key: StackKey, *, purpose: str) -> Stack:
        """Takes the stack, or raises RdlcError that tells who has it."""
        ...

    def find(self, given: str) -> StackKey:
        """The one stack of that name, key or folder; raises InputError for none or several."""
        ...

    def now(self) -> str:
        """The time as `2026-11-30T12:00:00Z`."""
        ...


class Cloud(Protocol):
    """AWS, asked read-only."""

    def caller(self, region: str) -> Caller:
        """Who asks; raises OutsideError without valid credentials."""
        ...

    def leftovers(self, key: StackKey) -> Sequence[Leftover]:
        """What the cluster made by itself: volumes, load balancers, log groups."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Proposal:
    """What would happen to a stack, and what it would cost.

    `record` is how it was left, None for one that is not there yet. `drift` is what differs from the lock
    that was applied last; it is empty where nothing was. `unchecked` says why it is not known whether
    AWS still offers the locked versions; `withdrawn` are those that it is known not to offer.
    """

    key: StackKey
    is_destroy: bool
    plan: Plan
    price: PriceEstimate
    record: StackRecord | None
    caller: Caller
    drift: tuple[Drift, ...] = ()
    is_resting: bool = False
    unchecked: str = ""
    withdrawn: tuple[OfferCheck, ...] = ()
    leftovers: tuple[Leftover, ...] = ()


class Approver(Protocol):
    """Shows a proposal and asks for a yes."""

    def show(self, proposal: Proposal) -> None:
        """Shows what would happen."""
        ...

    def is_agreed(self, proposal: Proposal) -> bool:
        """Whether there is a yes."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Tools:
    """Everything that a use case about stacks reaches the outside with."""

    stacks: Stacks
    cloud: Cloud
    offers: Offers
    listener: Listener
    approver: Approver
