"""Ctrl-C while Terraform works: handed on once, in order, and never lost."""

import signal
import time
from collections.abc import Callable
from types import FrameType, TracebackType

_NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_AT_ONCE_PRESSES = 3
_AT_ONCE_WITHIN_S = 5.0


class StopSignals:
    """Counts the signals that come while Terraform works; at any other time they interrupt as ever.

    The first asks Terraform to end in order. More of them change nothing, until a third within 5 s.
    """

    def __init__(self, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._kept: dict[int, object] = {}
        self._times_s: list[float] = []
        self._said = 0
        self.is_guarding = False

    def __enter__(self) -> "StopSignals":
        for number in _NUMBERS:
            handler = signal.getsignal(number)
            if handler is not signal.SIG_IGN:  # nohup stays so
                self._kept[number] = handler
                signal.signal(number, self._take)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, handler in self._kept.items():
            assert callable(handler) or isinstance(handler, int | None)
            signal.signal(number, handler)

    def level(self) -> int:
        """0 to go on, 1 to stop in order, 2 to stop at once."""
        if not self._times_s:
            return 0
        last = self._times_s[-_AT_ONCE_PRESSES:]
        is_urgent = len(last) == _AT_ONCE_PRESSES and last[-1] - last[0] <= _AT_ONCE_WITHIN_S
        return 2 if is_urgent else 1

    def new_words(self, step: str) -> str:
        """What to tell about the signals since the last call; "" if there were none."""
        if len(self._times_s) == self._said:
            return ""
        is_first, self._said = self._said == 0, len(self._times_s)
        if self.level() == 2:
            return f"asked again: Terraform stops its `{step}` at once, and its state may lack the last changes"
        if is_first:
            return f"interrupted: one signal was sent to Terraform; waiting until it has ended its `{step}` in order"
        return "still waiting for Terraform to write its state; three within 5 s stop it at once and can lose state"

    def _take(self, number: int, frame: FrameType | None) -> None:
        if not self.is_guarding:
            raise KeyboardInterrupt
        self._times_s.append(self._monotonic())
