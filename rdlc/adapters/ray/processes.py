"""The processes of this machine, read from `/proc`: which belong to a job, and their end."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

JOB_VARIABLE = "RDLC_JOB"
KEEPER_VARIABLE = "RDLC_KEEPER"

_PROC = Path("/proc")


@dataclass(frozen=True, kw_only=True, slots=True)
class Process:
    """One process; `start` (clock ticks since boot) tells it from a later one that got its pid."""

    pid: int
    parent: int
    start: int


def read_process(pid: int) -> Process | None:
    """Return the process that has this pid now."""
    try:
        stat = (_PROC / str(pid) / "stat").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = stat[stat.rindex(b")") + 2 :].split()  # the name before it may hold any bytes
    return Process(pid=pid, parent=int(fields[1]), start=int(fields[19]))


def all_processes() -> tuple[Process, ...]:
    """Return every process that can be seen, by pid."""
    pids = sorted(int(entry.name) for entry in _PROC.iterdir() if entry.name.isdigit())
    return tuple(process for pid in pids if (process := read_process(pid)) is not None)


def descendants(root: int) -> tuple[Process, ...]:
    """Return the processes below the one with pid `root`, parents before children."""
    children: dict[int, list[Process]] = {}
    for process in all_processes():
        children.setdefault(process.parent, []).append(process)
    found = list(children.get(root, ()))
    for process in found:  # it grows while it is walked
        found.extend(children.get(process.pid, ()))
    return tuple(found)


def marked(variable: str, token: str) -> tuple[Process, ...]:
    """Return the processes that were started with `variable=token` in their environment.

    A process that wrote over its environment (a long process title does that) is not found.
    """
    mark = f"\0{variable}={token}\0".encode()
    return tuple(process for process in all_processes() if mark in _environment(process.pid))


def _environment(pid: int) -> bytes:
    try:
        return b"\0" + (_PROC / str(pid) / "environ").read_bytes() + b"\0"
    except OSError:  # it is gone, or belongs to another user and so not to us
        return b""


def kill(process: Process) -> None:
    """Send SIGKILL, unless the pid went to another process meanwhile."""
    now = read_process(process.pid)
    if now is None or now.start != process.start:
        return
    try:
        os.kill(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return  # what may not be killed is found again, and reported as left


def sweep(find: Callable[[], tuple[Process, ...]], *, limit_s: float) -> tuple[int, ...]:
    """Kill what `find` finds until it finds nothing; return the pids left after `limit_s`.

    Uninterruptible processes (a hung device or network file system) can be left.
    """
    deadline = time.monotonic() + limit_s
    pause_s = 0.002
    while found := find():
        if time.monotonic() > deadline:
            return tuple(sorted(process.pid for process in found))
        for process in found:
            kill(process)
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, 0.1)
    return ()
