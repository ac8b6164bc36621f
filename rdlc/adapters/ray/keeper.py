"""Starts one driver, follows it, and leaves none of its processes behind.

It runs in a bare interpreter of its own, as two processes. The keeper starts the driver and ends
its tree; the guard above it only waits, and ends the tree if the keeper dies. Both are child
subreapers: what turns itself into a daemon below them stays below them. Each death is noticed:

    rdlc        holds stdin of the two: order and stop; its end means that rdlc died
      guard       holds a pipe to the keeper; its end means that the guard died
        keeper      waits for the driver, rdlc and the guard; reports on stdout
          driver      PR_SET_PDEATHSIG: dies with the keeper

The end of stdout means that guard and keeper are gone.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NoReturn

from rdlc.adapters.ray.processes import JOB_VARIABLE, Process, descendants, marked, sweep
from rdlc.adapters.ray.scratch import remove_scratch
from rdlc.adapters.ray.status import JobEnd, Reason, read_status, write_status

ORPHAN_GRACE_S = 1.0
SWEEP_LIMIT_S = 30.0
DRIVER_LIMIT_S = 10.0

_FAILED_START = 3
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


@dataclass(frozen=True, kw_only=True, slots=True)
class Order:
    """What rdlc asks for; all paths are absolute."""

    token: str
    command: list[str]
    environment: dict[str, str]
    working_directory: str
    status: str
    scratch: str


def to_line(order: Order) -> bytes:
    """Return the order as the one line that the keeper reads first."""
    return json.dumps(asdict(order)).encode("ascii") + b"\n"


def main() -> NoReturn:
    """Run guard and keeper; the exit status says nothing, the status file does."""
    line = _read_line(0)
    if not line.endswith(b"\n"):
        sys.exit(0)  # rdlc died before it had said what to do
    order = Order(**json.loads(line))
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    guard_died, held_by_guard = os.pipe()
    keeper = os.fork()
    if keeper == 0:
        os.close(held_by_guard)
        sys.exit(_keep(order, guard_died=guard_died))
    _, wait_status = os.waitpid(keeper, 0)
    if os.waitstatus_to_exitcode(wait_status) != _FAILED_START:
        _take_over(order)
    sys.exit(0)


def _read_line(descriptor: int) -> bytes:
    line = b""
    while not line.endswith(b"\n") and (part := os.read(descriptor, 65536)):
        line += part
    return line


def _prctl(option: int, value: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, ctypes.c_ulong(value), *[ctypes.c_ulong(0)] * 3) != 0:
        raise OSError(ctypes.get_errno(), f"prctl {option} failed")


def _take_over(order: Order) -> None:
    """Finish what the keeper did not; nothing, if it did all."""
    if read_status(Path(order.status)) is None:
        _finish(order, JobEnd(reason="orphaned"))


def _finish(order: Order, end: JobEnd) -> None:
    left = sweep(lambda: _living(order.token), limit_s=SWEEP_LIMIT_S)
    remove_scratch(Path(order.scratch), token=order.token)
    end = JobEnd(reason=end.reason, exit_status=end.exit_status, signal=end.signal, left=left)
    write_status(Path(order.status), end)


def _living(token: str) -> tuple[Process, ...]:
    """Return the processes of the job, after burying its dead.

    One that is born or adopted during the look at `/proc` can be missed, but a subreaper without a
    child has no descendant: only then is an empty answer the truth.
    """
    while True:
        has_children = _bury()
        found = descendants(os.getpid()) + marked(JOB_VARIABLE, token)
        if found or not has_children:
            return found


def _bury() -> bool:
    """Reap all dead children; return whether there are living ones."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def _reap() -> tuple[int, int] | None:
    """Return pid and wait status of one dead child, or None."""
    try:
        pid, wait_status = os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return None
    return (pid, wait_status) if pid else None


def _keep(order: Order, *, guard_died: int) -> int:
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    child_died, wakeup = os.pipe()
    os.set_blocking(wakeup, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wakeup, warn_on_full_buffer=False)
    driver, failure = _start_driver(order)
    if failure:
        _report({"error": failure})
        remove_scratch(Path(order.scratch), token=order.token)
        return _FAILED_START
    _report({"driver": driver})
    end = _Watch(driver=driver, child_died=child_died, guard_died=guard_died).follow()
    _finish(order, end)
    return 0


def _report(document: dict[str, str | int]) -> None:
    try:
        os.write(1, json.dumps(document).encode("ascii") + b"\n")
    except BrokenPipeError:
        return  # rdlc died; the end of stdin says so, too


def _start_driver(order: Order) -> tuple[int, str]:
    """Return the driver's pid, and why it could not be started or an empty text."""
    keeper = os.getpid()
    failed, failure = os.pipe()  # closed by a successful exec
    driver = os.fork()
    if driver == 0:
        _become_driver(order, keeper=keeper, failure=failure)
    os.close(failure)
    with os.fdopen(failed, "rb") as file:
        return driver, file.read().decode("utf-8", "replace")


def _become_driver(order: Order, *, keeper: int, failure: int) -> NoReturn:
    try:
        os.setsid()
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != keeper:  # it died before the line above could notice
            os._exit(1)
        _reset_signals()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(2, 1)
        os.chdir(order.working_directory)
        environment = {**order.environment, JOB_VARIABLE: order.token}
        os.execve(order.command[0], order.command, environment)  # noqa: S606 - no shell is meant
    except (OSError, ValueError) as error:
        os.write(failure, (getattr(error, "strerror", None) or str(error)).encode())
    finally:
        os._exit(127)


def _reset_signals() -> None:
    # What is ignored stays so after exec: by this interpreter, or by whoever started rdlc.
    signal.set_wakeup_fd(-1)
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


class _Watch:
    """Waits for the driver's end, and ends it when rdlc asks or dies, or the guard dies."""

    def __init__(self, *, driver: int, child_died: int, guard_died: int) -> None:
        self._driver = driver
        self._child_died = child_died
        self._guard_died = guard_died
        self._wait_status: int | None = None
        self._reason: Reason = "exited"
        self._deadline_s: float | None = None
        self._events = select.poll()
        for descriptor in (0, child_died, guard_died):
            self._events.register(descriptor, select.POLLIN)

    def follow(self) -> JobEnd:
        """Return how it ended; the driver lives on only if it outlived its grace."""
        while self._wait_status is None and not self._is_over():
            for descriptor, _ in self._events.poll(self._pause_ms()):
                self._handle(descriptor)
        return self._end()

    def _is_over(self) -> bool:
        return self._deadline_s is not None and time.monotonic() >= self._deadline_s

    def _pause_ms(self) -> float | None:
        if self._deadline_s is None:
            return None
        return max(0.0, 1000 * (self._deadline_s - time.monotonic()))

    def _handle(self, descriptor: int) -> None:
        if descriptor == self._child_died:
            os.read(descriptor, 4096)
            while (dead := _reap()) is not None:
                if dead[0] == self._driver:
                    self._wait_status = dead[1]
        elif descriptor == 0 and (asked := os.read(0, 4096)):
            graces_s = [float(line.removeprefix(b"stop ")) for line in asked.splitlines()]
            self._terminate("stopped", grace_s=min(graces_s))
        else:
            self._events.unregister(descriptor)
            self._terminate("orphaned", grace_s=ORPHAN_GRACE_S)

    def _terminate(self, reason: Reason, *, grace_s: float) -> None:
        """Ask the driver to end; asked again, only the time that is left can become less."""
        deadline_s = time.monotonic() + grace_s
        if self._deadline_s is None:
            self._reason = reason
            self._deadline_s = deadline_s
            if self._wait_status is None:
                os.kill(self._driver, signal.SIGTERM)  # not reaped yet, so the pid is still its own
        self._deadline_s = min(self._deadline_s, deadline_s)

    def _end(self) -> JobEnd:
        if self._wait_status is None:
            os.kill(self._driver, signal.SIGKILL)
            self._wait_status = self._wait_for_driver()
        if self._wait_status is None:
            return JobEnd(reason=self._reason)
        code = os.waitstatus_to_exitcode(self._wait_status)
        if code < 0:
            return JobEnd(reason=self._reason, signal=-code)
        return JobEnd(reason=self._reason, exit_status=code)

    def _wait_for_driver(self) -> int | None:
        """Return the wait status; None if the kernel cannot end it (a hung device)."""
        for _ in range(round(DRIVER_LIMIT_S / 0.01)):
            pid, wait_status = os.waitpid(self._driver, os.WNOHANG)
            if pid:
                return wait_status
            time.sleep(0.01)
        return None
