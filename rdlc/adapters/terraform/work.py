"""The work copy of a stack, and Terraform's calls in it."""

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from rdlc.adapters.terraform.layout import PLAN_FILE, VARIABLES_FILE, WorkCopy
from rdlc.adapters.terraform.program import build_arguments
from rdlc.adapters.terraform.runner import Call, CallEnd, run
from rdlc.adapters.workspace.files import read_bounded
from rdlc.core.infra.events import Diagnostic, Event, read_event
from rdlc.core.infra.plan import LIMIT_BYTES
from rdlc.core.infra.selection import read_selection
from rdlc.core.infra.steps import Selection, StepEnd
from rdlc.errors import RdlcError

_DIAGNOSTICS_LIMIT = 200
_KEPT_LOGS = 40
_SHORT_S = 300.0
_PLAN_S = 3600.0
# A cluster takes a quarter of an hour; groups that wait for capacity take far longer.
_APPLY_S = 4 * 3600.0


class Listener(Protocol):
    """Who follows a step."""

    def begin(self, step: str) -> None:
        """A step begins."""
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


@dataclass(frozen=True, kw_only=True, slots=True)
class Seat:
    """How Terraform is started for a stack: program, whole environment, log folder, inherited lock."""

    program: Path
    environment: Mapping[str, str]
    logs: Path
    hold: int | None


class TerraformWork:
    """Terraform in one work copy; every call leaves its log, and none of its processes."""

    def __init__(self, copy: WorkCopy, seat: Seat) -> None:
        self._copy = copy
        self._seat = seat

    def init(self, listener: Listener) -> StepEnd:
        """Makes the copy ready, the providers' lock file read only; nothing to do if it was for the same files.

        Every later call compares the provider with that lock file again, so nothing is trusted by this.
        """
        if self._copy.is_ready():
            return StepEnd(exit_status=0, diagnostics=(), printed="", is_stopped=False)
        end = self._follow("init", listener, flags={"json": True}, settings={"lockfile": "readonly"}, limit_s=_PLAN_S)
        if end.exit_status == 0:
            self._copy.mark_ready()
        return end

    def selection(self) -> Selection:
        """Terraform and providers, as they were taken for this copy."""
        return read_selection(self._read("version", flags={"json": True}))

    def plan(self, listener: Listener, *, is_destroy: bool) -> StepEnd:
        """Plans and keeps the plan; exit status 0 for no change, 2 for changes."""
        end = self._follow(
            "plan",
            listener,
            flags={"json": True, "detailed_exitcode": True, "destroy": is_destroy},
            settings={"input": "false", "out": PLAN_FILE, "var_file": VARIABLES_FILE},
            limit_s=_PLAN_S,
        )
        if end.exit_status not in {0, 2}:
            self._copy.mark_unready()
        return end

    def show_plan(self) -> bytes:
        """The kept plan as JSON."""
        return self._read("show", PLAN_FILE, flags={"json": True})

    def apply(self, listener: Listener, *, is_destroy: bool) -> StepEnd:
        """Applies the kept plan and no other: Terraform refuses one that is not of the state as it is now."""
        flags = {"json": True}
        title = "destroy" if is_destroy else "apply"
        return self._follow("apply", listener, PLAN_FILE, flags=flags, settings={}, limit_s=_APPLY_S, title=title)

    def show_outputs(self) -> bytes:
        """The outputs of the state as JSON."""
        return self._read("output", flags={"json": True})

    def list_resources(self) -> tuple[str, ...]:
        """The addresses of all that the state holds; nothing where there is no state yet."""
        return tuple(self._read("state list", flags={}).decode("utf-8", "replace").split("\n")[:-1])

    def _follow(
        self,
        command: str,
        listener: Listener,
        *operands: str,
        flags: Mapping[str, bool],
        settings: Mapping[str, str],
        limit_s: float,
        title: str = "",
    ) -> StepEnd:
        call = self._call(command, *operands, flags=flags, settings=settings, limit_s=limit_s)
        follower = _Follower(listener)
        listener.begin(title or command)
        try:
            end = run(call, follower)
        finally:
            listener.end()
        return StepEnd(
            exit_status=end.exit_status,
            diagnostics=tuple(follower.diagnostics),
            printed=end.printed or "\n".join(follower.texts),
            is_stopped=end.is_stopped,
        )

    def _read(self, command: str, *operands: str, flags: Mapping[str, bool]) -> bytes:
        call = self._call(command, *operands, flags=flags, settings={}, limit_s=_SHORT_S)
        try:
            end = run(call)
            self._refuse_failed(command, end)
            return read_bounded(call.output, limit_bytes=LIMIT_BYTES, what=f"the output of `terraform {command}`")
        finally:
            # It can hold sensitive values in clear text.
            call.output.unlink(missing_ok=True)

    def _refuse_failed(self, command: str, end: CallEnd) -> None:
        if end.exit_status != 0:
            text = " ".join(end.printed.split()) or "it said nothing"
            raise RdlcError(f"`terraform {command}` failed with exit status {end.exit_status}: {text}")

    def _call(
        self, command: str, *operands: str, flags: Mapping[str, bool], settings: Mapping[str, str], limit_s: float
    ) -> Call:
        stamp = datetime.datetime.now(tz=datetime.UTC).strftime("%Y%m%dT%H%M%S.%fZ")
        self._seat.logs.mkdir(mode=0o700, exist_ok=True)
        _remove_old(self._seat.logs)
        name = f"{stamp}-{command.replace(' ', '-')}"
        return Call(
            arguments=build_arguments(
                self._seat.program,
                command,
                *operands,
                flags={**flags, "no_color": command != "state list"},
                settings=settings,
            ),
            folder=self._copy.folder,
            environment=self._seat.environment,
            output=self._seat.logs / f"{name}.jsonl",
            errors=self._seat.logs / f"{name}.stderr",
            limit_s=limit_s,
            hold=self._seat.hold,
        )


def _remove_old(logs: Path) -> None:
    for path in sorted(logs.iterdir())[:-_KEPT_LOGS]:
        path.unlink(missing_ok=True)


class _Follower:
    """Turns lines into events, and keeps what is wrong."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self.diagnostics: list[Diagnostic] = []
        self.texts: list[str] = []

    def line(self, text: str) -> None:
        """Terraform wrote a line."""
        event = read_event(text)
        if event.diagnostic and len(self.diagnostics) < _DIAGNOSTICS_LIMIT:
            self.diagnostics.append(event.diagnostic)
        if event.kind == "text" and len(self.texts) < _DIAGNOSTICS_LIMIT:
            self.texts.append(event.message)
        self._listener.event(event)

    def tick(self) -> None:
        """Time goes by."""
        self._listener.tick()

    def stop_level(self) -> int:
        """As the listener says."""
        return self._listener.stop_level()
