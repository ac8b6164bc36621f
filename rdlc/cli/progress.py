"""The progress of a run: a live line on a terminal, plain lines without one."""

import datetime
import time
from collections.abc import Callable
from types import TracebackType

from rich.live import Live
from rich.text import Text

from rdlc.cli.edge import Session
from rdlc.cli.transport_alarm import show_alarm
from rdlc.core.text import printable
from rdlc.core.transport.judged import describe_judgement
from rdlc.core.transport.report import TransportReport
from rdlc.operations.follow import Progress

_PHASES = {
    "starting-ray": "starting Ray",
    "installing-packages": "installing the extra packages",
    "starting-workers": "starting the workers",
    "training": "training",
    "warmed-up": "warm-up is over: looking at the transport",
    "evaluating": "evaluating on rows that were never trained on",
    "restarting": "a worker died: restarting from the last checkpoint",
    "finished": "collecting",
}
_PLAIN_EVERY_S = 5.0
_STILL_EVERY_S = 30.0


class RunProgress:
    """Shows phases and steps; use it as a context manager around the run."""

    def __init__(self, session: Session, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._session = session
        self._monotonic = monotonic
        self._shown_at = float("-inf")
        self._last: Progress | None = None
        self._words = ""
        self._words_at = self._spoke_at = monotonic()
        is_live = session.err.is_terminal and not session.is_quiet
        self._live = Live(console=session.err, transient=True, refresh_per_second=8) if is_live else None

    def __enter__(self) -> "RunProgress":
        if self._live:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._live:
            self._live.stop()
        self._flush()

    def phase(self, name: str) -> None:
        """A phase begins."""
        self._flush()
        self._words = _PHASES.get(name, printable(name))
        self._words_at = self._spoke_at = self._monotonic()
        if self._live:
            self._live.update(Text(self._words))
        else:
            self._session.note(self._words)

    def transport(self, report: TransportReport) -> None:
        """Warm-up is over: what its files show of the transport, loudly if that is not right."""
        self._flush()
        if report.judged.is_alarming:
            show_alarm(self._session.err, report)
        else:
            self._session.note(f"after warm-up: {describe_judgement(report.judged)}")

    def tick(self) -> None:
        """Time goes by: a phase that takes long shows that it is still going on."""
        now = self._monotonic()
        elapsed = now - self._words_at
        if self._live and self._words and elapsed >= 1:
            self._live.update(Text(f"{self._words}  {_span(elapsed)}"))
        elif not self._live and self._words and now - self._spoke_at >= _STILL_EVERY_S:
            self._spoke_at = now
            self._session.note(f"still {self._words}, {_span(elapsed)}")

    def step(self, progress: Progress) -> None:
        """A step was done."""
        # From now on the steps show that it goes on.
        self._words = ""
        if self._live:
            self._live.update(Text(describe_progress(progress)))
            return
        self._last = progress
        if self._monotonic() - self._shown_at >= _PLAIN_EVERY_S:
            self._flush()

    def _flush(self) -> None:
        if self._last is not None and not self._live:
            self._session.note(describe_progress(self._last))
            self._shown_at = self._monotonic()
        self._last = None


def describe_progress(progress: Progress) -> str:
    """Step, loss, rate and the time left, on one line."""
    total = f"/{progress.steps_total}" if progress.steps_total else ""
    parts = [f"step {progress.step}{total}", f"loss {progress.loss:.4f}"]
    if progress.tokens_per_s is not None:
        parts.append(f"{progress.tokens_per_s:,.0f} tokens/s")
    if progress.left_s is not None:
        parts.append(f"{_span(progress.left_s)} left")
    return "  ".join(parts)


def span_words(started: str, ended: str) -> str:
    """` in 1 min 20 s` between two times as a record holds them; "" where one is missing."""
    try:
        begun, over = (datetime.datetime.fromisoformat(moment) for moment in (started, ended))
    except ValueError:
        return ""
    return f" in {_span((over - begun).total_seconds())}"


def _span(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
