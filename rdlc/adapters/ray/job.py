"""A driver on this machine: started, followed, ended, with every process that it started.

Nothing of a job outlives it, whichever of driver, rdlc, guard and keeper is killed (see `keeper`).
Only if guard and keeper die together, what is left is found by its mark, by rdlc or by a later run,
and a process that is both a daemon and without its environment would be missed. Guard, keeper and
driver have no terminal: Ctrl-C reaches rdlc alone.
"""

from __future__ import annotations

import json
import re
import secrets
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from rdlc.adapters.ray.channel import Channel
from rdlc.adapters.ray.keeper import DRIVER_LIMIT_S, SWEEP_LIMIT_S, Order, to_line
from rdlc.adapters.ray.processes import JOB_VARIABLE, KEEPER_VARIABLE, Process, marked, sweep
from rdlc.adapters.ray.scratch import is_scratch_path, remove_scratch, take_scratch
from rdlc.adapters.ray.status import JobEnd, read_status, write_status
from rdlc.errors import RdlcError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

_START_LIMIT_S = 60.0
_KEEPER_LIMIT_S = 10.0

GRACE_S = 10.0
PATIENCE_S = DRIVER_LIMIT_S + SWEEP_LIMIT_S + _KEEPER_LIMIT_S


@dataclass(frozen=True, kw_only=True, slots=True)
class LocalJob:
    """What to run, and where its traces go; every path is absolute.

    `environment` is the whole environment of the driver: nothing is inherited. `log` gets its
    output, appended. `status` must not exist yet. `scratch` is made, or is an empty folder; it is
    removed with everything in it after the job, and must be named as `scratch.py` says. `token` (see
    `new_token`) marks the processes of the job: keep it where a later run finds it, for
    `end_leftovers`.
    """

    command: tuple[str, ...]
    environment: Mapping[str, str]
    working_directory: Path
    log: Path
    status: Path
    scratch: Path
    token: str


def new_token() -> str:
    """Return a token that no other job has: 32 hex digits."""
    return secrets.token_hex(16)


def start_job(job: LocalJob) -> RunningJob:
    """Return the job once its driver runs; raise `RdlcError` and leave nothing if it cannot."""
    _check(job)
    take_scratch(job.scratch, token=job.token)
    channel = None
    try:
        channel = Channel(token=job.token, log=job.log)
        return RunningJob(job, channel, driver_pid=_await_driver(job, channel))
    except BaseException:
        if channel is not None and not channel.close(timeout_s=_KEEPER_LIMIT_S):
            _end_marked(job.token, patience_s=0)
        remove_scratch(job.scratch, token=job.token)
        raise


def end_leftovers(token: str, *, scratch: Path | None = None) -> tuple[int, ...]:
    """End what an earlier job left, also its scratch folder; return the pids that were ended.

    Needed only if rdlc, guard and keeper of that job died together. A keeper that is still at work
    gets a while to finish. Both values may come from a damaged or foreign record: what is not the
    token of a job ends nothing and removes nothing, and what is not that job's scratch folder is left
    alone. Raises `RdlcError` if something cannot be ended.
    """
    if not _is_token(token):
        return ()
    ended, left = _end_marked(token, patience_s=_KEEPER_LIMIT_S)
    if left:
        raise RdlcError(f"cannot end these processes of an earlier run: {_listed(left)}")
    if scratch is not None:
        remove_scratch(scratch, token=token)
    return ended


def _listed(pids: tuple[int, ...]) -> str:
    return ", ".join(map(str, pids))


def _check(job: LocalJob) -> None:
    if sys.platform != "linux":
        raise RdlcError(f"target `local` needs Linux, and this is `{sys.platform}`")
    if not _is_token(job.token):
        raise RdlcError(f"`{job.token}` is not the token of a job: 32 hex digits")
    program = Path(job.command[0])
    for path in (program, job.working_directory, job.log, job.status, job.scratch):
        if not path.is_absolute():
            raise RdlcError(f"`{path}` is not an absolute path")
    if not is_scratch_path(job.scratch):
        raise RdlcError(f"scratch folder `{job.scratch}` must be `/tmp/rdlc-` and 8 hex digits: no other is removed")
    if job.status.exists():
        raise RdlcError("an earlier job wrote its status here", file=str(job.status))


def _is_token(token: str) -> bool:
    return re.fullmatch("[0-9a-f]{32}", token) is not None


def _await_driver(job: LocalJob, channel: Channel) -> int:
    order = Order(
        token=job.token,
        command=list(job.command),
        environment=dict(job.environment),
        working_directory=str(job.working_directory),
        status=str(job.status),
        scratch=str(job.scratch),
    )
    channel.send(to_line(order))
    try:
        line = channel.receive(timeout_s=_START_LIMIT_S)
    except TimeoutError as error:
        message = f"cannot start `{job.command[0]}`: no answer within {_START_LIMIT_S:.0f} s"
        raise RdlcError(message) from error
    report = json.loads(line or b"{}")
    if "driver" not in report:
        why = report.get("error", f"its keeper died, see `{job.log}`")
        raise RdlcError(f"cannot start `{job.command[0]}` in `{job.working_directory}`: {why}")
    return int(report["driver"])


def _end_marked(token: str, *, patience_s: float) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the pids that were ended and those that could not be."""
    deadline_s = time.monotonic() + patience_s
    found: set[int] = set()

    def find() -> tuple[Process, ...]:
        processes = marked(JOB_VARIABLE, token)
        if not processes:  # a keeper, if there is one, sees that and ends
            while marked(KEEPER_VARIABLE, token) and time.monotonic() < deadline_s:
                time.sleep(0.02)
            processes = marked(JOB_VARIABLE, token) + marked(KEEPER_VARIABLE, token)
        found.update(process.pid for process in processes)
        return processes

    left = sweep(find, limit_s=patience_s + SWEEP_LIMIT_S)
    return tuple(sorted(found.difference(left))), left


class RunningJob:
    """A job whose driver was started; leaving its `with` block ends it.

    If rdlc is killed, the keeper ends the job by itself.
    """

    __slots__ = ("_channel", "_end", "_job", "driver_pid")

    def __init__(self, job: LocalJob, channel: Channel, *, driver_pid: int) -> None:
        self._job = job
        self._channel = channel
        self._end: JobEnd | None = None
        self.driver_pid = driver_pid

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def poll(self) -> JobEnd | None:
        """Return how the job ended, or None while it runs; one system call while it runs."""
        return self.wait(timeout_s=0)

    def wait(self, *, timeout_s: float) -> JobEnd | None:
        """Return how the job ended, or None if it still runs after `timeout_s`.

        It has ended when none of its processes is left and its scratch folder is removed.
        """
        if self._end is None and self._channel.is_readable(timeout_s=timeout_s):
            self._channel.close(timeout_s=_KEEPER_LIMIT_S)
            self._end = read_status(self._job.status) or self._end_alone()
        return self._end

    def stop(self, *, grace_s: float = GRACE_S, patience_s: float = PATIENCE_S) -> JobEnd:
        """End the job and return how it ended; may be called again at any time.

        The driver gets SIGTERM, and after `grace_s` SIGKILL. Guard and keeper that have not ended
        the job `patience_s` later are killed, and their work is done here. If this call is
        interrupted (a second Ctrl-C), it raises at once, and the keeper ends the job without grace.
        """
        try:
            self._ask(grace_s)
            end = self.wait(timeout_s=grace_s + patience_s)
        except BaseException:
            self._ask(0.0)
            raise
        if end is None:  # guard or keeper was suspended
            self._end = end = self._end_alone()
            self._channel.close(timeout_s=_KEEPER_LIMIT_S)
        return end

    def _ask(self, grace_s: float) -> None:
        if self._end is None:
            self._channel.send(f"stop {grace_s}\n".encode("ascii"))

    def _end_alone(self) -> JobEnd:
        """Do the work of guard and keeper, which died or do not answer."""
        _, left = _end_marked(self._job.token, patience_s=0)
        remove_scratch(self._job.scratch, token=self._job.token)
        end = JobEnd(reason="orphaned", left=left)
        write_status(self._job.status, end)
        return end
