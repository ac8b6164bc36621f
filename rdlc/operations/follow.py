"""Follow a running job: show its progress, and end it when a limit says so."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from rdlc.core.document import NUMBER_LIMIT
from rdlc.core.transport.report import TransportReport

_POLL_S = 0.2
_HOUR_S, _MINUTE_S = 3600.0, 60.0
# No step can come in it, and it has a limit of its own.
_INSTALLING = "installing-packages"
_WARM = "warmed-up"


class JobEnd(Protocol):
    """How a job ended."""

    @property
    def reason(self) -> str:
        """`exited`, `stopped` or `orphaned`."""
        ...

    @property
    def exit_status(self) -> int | None:
        """The exit status of the driver, if it exited."""
        ...

    @property
    def signal(self) -> int | None:
        """The signal that ended the driver, if one did."""
        ...


class Job(Protocol):
    """A job that was started."""

    def poll(self) -> JobEnd | None:
        """How it ended; None while it runs."""
        ...

    def stop(self) -> JobEnd:
        """Ends it with all its processes."""
        ...


class Tail(Protocol):
    """A growing file of lines."""

    def read_new(self) -> tuple[str, ...]:
        """The whole lines that came since the last call."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Progress:
    """One step as it is shown: rates are over the steps seen so far, None before there are two."""

    step: int
    steps_total: int | None
    loss: float
    tokens_per_s: float | None
    left_s: float | None


class Listener(Protocol):
    """Whoever shows the progress."""

    def phase(self, name: str) -> None:
        """A phase begins."""
        ...

    def step(self, progress: Progress) -> None:
        """A step was done."""
        ...

    def transport(self, report: TransportReport) -> None:
        """Warm-up is over, and this is what its files show of the transport."""
        ...

    def tick(self) -> None:
        """Nothing new came, and it goes on."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Following:
    """What follows a job: its files, its limits in seconds, and the clock.

    `check_warm` is called when warm-up is over, and says why the job is to be stopped, or "".
    """

    job: Job
    metrics: Tail
    phases: Tail
    limits_s: Mapping[str, float]
    steps_total: int | None
    check_warm: Callable[[], str]
    monotonic: Callable[[], float]
    sleep: Callable[[float], None]


def limits_in_seconds(limits: Mapping[str, str]) -> dict[str, float]:
    """The limits of a lock, `max_hours` and `no_step_minutes`, in seconds."""
    unit = {"max_hours": _HOUR_S, "no_step_minutes": _MINUTE_S}
    return {name: float(text) * unit[name] for name, text in limits.items()}


def follow(following: Following, listener: Listener) -> tuple[JobEnd, str]:
    """Waits until the job ends or is ended; gives the end, and why it was ended or ""."""
    begun = last_step = following.monotonic()
    meter = _Meter(following.steps_total)
    phase = ""
    while True:
        end = following.job.poll()
        now = following.monotonic()
        begun_phases = _show_phases(following, listener)
        phase = begun_phases[-1] if begun_phases else phase
        if _show_steps(following, listener, meter) or phase == _INSTALLING:
            last_step = now
        if end is not None:
            return end, ""
        reason = following.check_warm() if _WARM in begun_phases else ""
        if reason := reason or _limit_reached(following, now - begun, now - last_step):
            end = following.job.stop()
            # It may have ended by itself just before; then nothing else ended it.
            return end, reason if end.reason == "stopped" else ""
        listener.tick()
        following.sleep(_POLL_S)


def _limit_reached(following: Following, total_s: float, idle_s: float) -> str:
    longest, idle = following.limits_s.get("max_hours"), following.limits_s.get("no_step_minutes")
    if longest is not None and total_s > longest:
        return f"limits.max_hours: it ran for {longest / _HOUR_S:g} h"
    if idle is not None and idle_s > idle:
        return f"limits.no_step_minutes: no step for {idle / _MINUTE_S:g} min"
    return ""


def _show_phases(following: Following, listener: Listener) -> list[str]:
    """The phases that began since the last look."""
    phases = [str(_parsed(line).get("phase", "")) for line in following.phases.read_new()]
    for phase in phases:
        listener.phase(phase)
    return phases


def _show_steps(following: Following, listener: Listener, meter: "_Meter") -> bool:
    """Whether any step was done since the last look."""
    lines = following.metrics.read_new()
    for line in lines:
        listener.step(meter.take(_parsed(line)))
    return bool(lines)


def _parsed(line: str) -> Mapping[str, object]:
    # Only shown; a bad line is an error when the outcome is read at the end, with its place.
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


class _Meter:
    """Turns step records into rates, over the training time that the steps themselves report."""

    def __init__(self, steps_total: int | None) -> None:
        self._total = steps_total
        self._first = 0
        self._seconds = 0.0
        self._tokens = 0

    def take(self, record: Mapping[str, object]) -> Progress:
        """The progress after one more step; the first one is left out of the rates, it warms up."""
        step, tokens = _count(record.get("step")), _count(record.get("tokens"))
        if self._first:
            self._seconds += _seconds(record.get("step_s"))
            self._tokens += tokens
        self._first = self._first or step
        done = step - self._first
        rate = self._tokens / self._seconds if self._seconds > 0 else None
        left = None
        if self._total is not None and done > 0:
            left = self._seconds / done * (self._total - step)
        return Progress(
            step=step,
            steps_total=self._total,
            loss=_hex(str(record.get("loss"))),
            tokens_per_s=rate,
            left_s=left,
        )


def _count(value: object) -> int:
    return value if isinstance(value, int) and 0 <= value <= NUMBER_LIMIT else 0


def _seconds(value: object) -> float:
    # Also turns away `NaN` and `Infinity`, which a JSON reader of Python takes.
    return float(value) if isinstance(value, int | float) and 0 <= value <= NUMBER_LIMIT else 0.0


def _hex(text: str) -> float:
    try:
        return float.fromhex(text)
    except (ValueError, OverflowError):
        return float("nan")
