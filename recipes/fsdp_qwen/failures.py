"""What can go wrong in a run, and which of several failing ranks is the cause.

```
BaseException
  Exception
    ValueError
      ConfigError     the config can't be used: exit 2
    TrainingFailed    the run must not go on (bad numbers, broken checkpoint, ...): exit 1
  Interrupted         the driver was asked to stop by a signal: exit 128 + signal
```
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

# How sure we are that a failure is the cause and not an echo of it, surest first. When one rank
# dies, its peers fail a moment later inside a collective; their message only says that somebody
# else is gone.
KINDS = ("killed", "refused", "error", "lost-peer")

_LOST_PEER = re.compile(
    r"closed by peer|connection (was )?(reset|refused|closed)|broken pipe|process ?group|gloo|nccl",
    re.IGNORECASE,
)


class ConfigError(ValueError):
    """The config is not usable; the message starts with the address of the field."""


class TrainingFailed(Exception):
    """A run that must end now, with the field that shows it."""

    def __init__(self, message: str, field: str | None = None) -> None:
        # Both go to `args`, so that the error survives pickling between processes.
        super().__init__(message, field)
        self.message = message
        self.field = field

    def __str__(self) -> str:
        return self.message


class Interrupted(BaseException):
    """The driver got a signal that asks it to stop; like Ctrl-C, it is no error to handle."""

    def __init__(self, signal_number: int) -> None:
        super().__init__(signal_number)
        self.signal_number = signal_number

    @property
    def exit_code(self) -> int:
        """The exit code that shells expect: 128 + the signal's number."""
        return 128 + self.signal_number


@dataclass(frozen=True, kw_only=True, slots=True)
class Failure:
    """One rank's failure; `rank` is None if no single rank is to blame."""

    rank: int | None
    kind: str
    message: str
    field: str | None = None


def failure_of(error: BaseException, rank: int | None) -> Failure:
    """The failure that an exception on one rank stands for."""
    if isinstance(error, TrainingFailed):
        return Failure(rank=rank, kind="refused", message=error.message, field=error.field)
    text = one_line(f"{type(error).__name__}: {error}")
    kind = "lost-peer" if _LOST_PEER.search(text) else "error"
    return Failure(rank=rank, kind=kind, message=text)


def root_cause(failures: Iterable[Failure]) -> Failure:
    """The one failure to show, of at least one: the surest kind, then the lowest rank."""
    return min(failures, key=lambda failure: (KINDS.index(failure.kind), failure.rank or 0))


def one_line(text: str, limit: int = 600) -> str:
    """The text without line breaks and control characters, cut after `limit` characters."""
    flat = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return flat if len(flat) <= limit else flat[: limit - 3] + "..."
