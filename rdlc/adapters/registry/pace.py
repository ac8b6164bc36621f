"""How long to wait before asking again, and when to stop asking."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

RETRIED_STATUSES = frozenset({429, 502, 503, 504})


@dataclass(frozen=True, kw_only=True, slots=True)
class Pace:
    """Bounds of waiting: at most `attempts` requests, and `patience_s` of waiting in all."""

    attempts: int = 5
    patience_s: float = 120.0
    first_wait_s: float = 0.5
    longest_wait_s: float = 16.0
    sleep: Callable[[float], None] = time.sleep
    now: Callable[[], float] = time.time
    jitter: Callable[[], float] = random.random

    def start(self) -> "Waiting":
        """The waiting of one request."""
        return Waiting(self)


class Waiting:
    """Counts the attempts and the time that one request has waited."""

    def __init__(self, pace: Pace) -> None:
        self.attempts = 1
        self.waited_s = 0.0
        self._pace = pace

    def wait(self, retry_after: str = "") -> bool:
        """Waits as long as the server asks, or ever longer; False, at once, if that is too long.

        Up to half is added by chance, lest many clients come back in the same moment.
        """
        pace = self._pace
        asked_s = parse_retry_after(retry_after, now_s=pace.now())
        wait_s = min(pace.first_wait_s * 2 ** (self.attempts - 1), pace.longest_wait_s)
        if asked_s is not None:
            wait_s = max(asked_s, pace.first_wait_s / 2)
        if self.attempts >= pace.attempts or self.waited_s + wait_s > pace.patience_s:
            return False
        wait_s += pace.jitter() * min(wait_s, pace.longest_wait_s) / 2
        pace.sleep(wait_s)
        self.attempts += 1
        self.waited_s += wait_s
        return True


def parse_retry_after(text: str, *, now_s: float) -> float | None:
    """Seconds to wait, from seconds or an HTTP date; None if it says neither."""
    text = text.strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - now_s)
    except (ValueError, TypeError, OverflowError):
        return None
