"""The progress of Terraform: a bar on a terminal, a line now and then without one."""

import time
from collections.abc import Callable
from types import TracebackType

from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from rdlc.cli.edge import Session
from rdlc.cli.stopping import StopSignals
from rdlc.core.infra.events import Advance, Event, advance

_PLAIN_EVERY_S = 10.0
_SHOWN_RUNNING = 2
_STEPS = {
    "init": "preparing Terraform",
    "plan": "planning",
    "apply": "applying",
    "destroy": "destroying",
}


class InfraProgress:
    """Follows the steps of Terraform; use it as a context manager around the work."""

    def __init__(self, session: Session, stop: StopSignals, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._session = session
        self._stop = stop
        self._monotonic = monotonic
        self._step = ""
        self._advance = Advance()
        self._shown_at_s = monotonic()
        self._bar: Progress | None = None

    def __enter__(self) -> "InfraProgress":
        self._stop.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end_bar()
        self._stop.__exit__(kind, error, trace)

    def begin(self, step: str) -> None:
        """A step begins: from now on a signal is handed on."""
        self._step, self._advance = step, Advance()
        self._shown_at_s = self._monotonic()
        self._stop.is_guarding = True
        if self._session.err.is_terminal and not self._session.is_quiet:
            columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
            self._bar = Progress(*columns, console=self._session.err, transient=True)
            self._bar.add_task(self._words(), total=None)
            self._bar.start()
        else:
            self._session.note(self._words())

    def event(self, event: Event) -> None:
        """Terraform said something."""
        before, self._advance = self._advance, advance(self._advance, event)
        if self._bar and before != self._advance:
            total = self._advance.total if self._is_changing() else None
            self._bar.update(
                self._bar.task_ids[0], description=self._words(), completed=self._advance.done, total=total
            )

    def tick(self) -> None:
        """Time goes by: shows that it goes on, and says what became of a Ctrl-C."""
        if words := self._stop.new_words(self._step):
            self._session.warn(words)
        now_s = self._monotonic()
        if self._bar is None and now_s - self._shown_at_s >= _PLAIN_EVERY_S:
            self._shown_at_s = now_s
            self._session.note(self._words())

    def stop_level(self) -> int:
        """How urgently the user wants it to stop."""
        return self._stop.level()

    def end(self) -> None:
        """The step is over: a signal interrupts rdlc again."""
        self._stop.is_guarding = False
        self._end_bar()

    def _end_bar(self) -> None:
        if self._bar:
            self._bar.stop()
            self._bar = None

    def _is_changing(self) -> bool:
        return self._step in {"apply", "destroy"}

    def _words(self) -> str:
        title = _STEPS.get(self._step, self._step)
        if not self._is_changing() or not self._advance.total:
            return title
        running = self._advance.running
        more = f" and {len(running) - _SHOWN_RUNNING} more" if len(running) > _SHOWN_RUNNING else ""
        now = f"  {', '.join(running[:_SHOWN_RUNNING])}{more}" if running else ""
        failed = f", {self._advance.failed} failed" if self._advance.failed else ""
        return f"{title}  {self._advance.done} of {self._advance.total}{failed}{now}"
