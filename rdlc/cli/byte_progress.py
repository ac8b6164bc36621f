"""Progress in bytes: a bar on a terminal, a line now and then without one."""

import time
from collections.abc import Callable
from types import TracebackType

from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

from rdlc.cli.edge import Session
from rdlc.core.text import printable

_PLAIN_EVERY_S = 5.0


class ByteProgress:
    """Shows how much was read; `update` may be called from any thread."""

    def __init__(self, session: Session, title: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._session = session
        self._title = printable(title)
        self._clock = clock
        self._shown_at_s = clock()
        self._bar: Progress | None = None
        if session.err.is_terminal and not session.is_quiet:
            columns = (
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                DownloadColumn(),
                TransferSpeedColumn(),
            )
            self._bar = Progress(*columns, console=session.err, transient=True)

    def __enter__(self) -> "ByteProgress":
        if self._bar:
            self._bar.start()
            self._bar.add_task(self._title, total=None)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar:
            self._bar.stop()

    def update(self, done_bytes: int, total_bytes: int) -> None:
        """So many bytes are read, of so many as far as is known."""
        if self._bar:
            self._bar.update(self._bar.task_ids[0], completed=done_bytes, total=total_bytes)
        elif (now_s := self._clock()) - self._shown_at_s >= _PLAIN_EVERY_S:
            self._shown_at_s = now_s
            self._session.note(f"{self._title}: {done_bytes / 1e6:.0f} of {total_bytes / 1e6:.0f} MB")
