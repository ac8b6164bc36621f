"""A Terraform, a cloud and people that do as they are told, for the use cases about stacks."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Self

from rdlc.core.infra.events import Diagnostic, Event
from rdlc.core.infra.offers import AddonOffer, AddonQuery, ReleaseQuery
from rdlc.core.infra.order import InfraOrder
from rdlc.core.infra.stack import StackKey, StackRecord
from rdlc.core.infra.steps import Caller, Leftover, Selection, StepEnd
from rdlc.errors import InputError, OutsideError, RdlcError
from rdlc.operations.stack_ports import Proposal, Tools
from tests.core.infra.plans import plan_bytes
from tests.core.infra.stacks import KEY

NOW = "2026-12-01T12:00:00Z"


def ended(exit_status: int = 0, *errors: Diagnostic, is_stopped: bool = False) -> StepEnd:
    """How a step ended."""
    return StepEnd(exit_status=exit_status, diagnostics=errors, printed="", is_stopped=is_stopped)


@dataclass(kw_only=True)
class FakeWorld:
    """What there is and what happens: set before, looked at after.

    `plan` is what showing the plan gives; None for a plan without changes. `offered` are the AMI releases
    that AWS lists; None if it cannot be asked. `said` lists the steps.
    """

    plan: bytes | None = None
    ends: dict[str, StepEnd] = field(default_factory=dict)
    outputs: bytes = b'{"cluster_name": {"sensitive": false, "value": "seed"}}'
    resources: tuple[str, ...] = ("a", "b")
    record: StackRecord | None = None
    kept: list[InfraOrder] = field(default_factory=list)
    written: list[StackRecord] = field(default_factory=list)
    opened: list[tuple[InfraOrder, str, bool]] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    caller: Caller = field(default_factory=lambda: Caller(account="123456789012", arn="arn:x", endpoints={}))
    leftovers: tuple[Leftover, ...] = ()
    providers: dict[str, str] = field(default_factory=lambda: {"example/aws": "5.100.0"})
    offered: tuple[str, ...] | None = None
    is_agreed: bool = True
    asked: list[Proposal] = field(default_factory=list)

    def tools(self) -> Tools:
        """The ports to this world."""
        return Tools(
            stacks=_Stacks(self),
            cloud=_Cloud(self),
            offers=_Offers(self),
            listener=_Listener(),
            approver=_Approver(self),
        )


class _Work:
    def __init__(self, world: FakeWorld) -> None:
        self._world = world

    def _end(self, step: str, usual: int = 0) -> StepEnd:
        self._world.said.append(step)
        return self._world.ends.get(step, ended(usual))

    def init(self, listener: object) -> StepEnd:
        return self._end("init")

    def selection(self) -> Selection:
        return Selection(terraform="1.11.4", providers=self._world.providers)

    def plan(self, listener: object, *, is_destroy: bool) -> StepEnd:
        return self._end("plan", 0 if self._world.plan is None else 2)

    def show_plan(self) -> bytes:
        self._world.said.append("show")
        return self._world.plan or plan_bytes()

    def apply(self, listener: object, *, is_destroy: bool) -> StepEnd:
        return self._end("destroy" if is_destroy else "apply")

    def show_outputs(self) -> bytes:
        return self._world.outputs

    def list_resources(self) -> tuple[str, ...]:
        return self._world.resources


class _Stack:
    path = Path("/stacks/seed")

    def __init__(self, world: FakeWorld) -> None:
        self._world = world

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._world.said.append("released")

    def read(self) -> StackRecord | None:
        return self._world.record

    def write(self, record: StackRecord) -> None:
        self._world.record = record
        self._world.written.append(record)

    def keep_order(self, order: InfraOrder) -> None:
        self._world.kept.append(order)

    def read_order(self, record: StackRecord) -> InfraOrder:
        order = self._world.kept[-1]
        return replace(order, lock_id=record.lock_id)

    def open(self, order: InfraOrder, *, state: str, is_stand_in: bool) -> _Work:
        self._world.opened.append((order, state, is_stand_in))
        return _Work(self._world)


class _Stacks:
    def __init__(self, world: FakeWorld) -> None:
        self._world = world

    def hold(self, key: StackKey, *, purpose: str) -> _Stack:
        self._world.said.append(f"held for {purpose}")
        return _Stack(self._world)

    def find(self, given: str) -> StackKey:
        if given != "seed":
            raise InputError(f"there is no stack `{given}`")
        return KEY

    def now(self) -> str:
        return NOW


class _Cloud:
    def __init__(self, world: FakeWorld) -> None:
        self._world = world

    def caller(self, region: str) -> Caller:
        return self._world.caller

    def leftovers(self, key: StackKey) -> Sequence[Leftover]:
        return self._world.leftovers


class _Offers:
    def __init__(self, world: FakeWorld) -> None:
        self._world = world

    def describe_missing(self) -> str | None:
        return "there are no AWS credentials here" if self._world.offered is None else None

    def source(self) -> str:
        return "AWS"

    def recommended_release(self, query: ReleaseQuery) -> str | None:
        return None

    def releases(self, query: ReleaseQuery) -> tuple[str, ...]:
        self._world.said.append(f"asked for the releases of {query.ami_type}")
        assert self._world.offered is not None
        if self._world.offered == ("down",):
            raise OutsideError("AWS gave no answer")
        return self._world.offered

    def addon_versions(self, query: AddonQuery) -> tuple[AddonOffer, ...]:
        return ()


class _Listener:
    def begin(self, step: str) -> None:
        pass

    def event(self, event: Event) -> None:
        pass

    def tick(self) -> None:
        pass

    def stop_level(self) -> int:
        return 0

    def end(self) -> None:
        pass


class _Approver:
    def __init__(self, world: FakeWorld) -> None:
        self._world = world

    def show(self, proposal: Proposal) -> None:
        self._world.asked.append(proposal)

    def is_agreed(self, proposal: Proposal) -> bool:
        if not self._world.asked:
            raise RdlcError("asked for a yes to something that was not shown")
        return self._world.is_agreed
