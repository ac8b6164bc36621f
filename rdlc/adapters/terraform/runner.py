"""Starts Terraform once, follows what it says, and ends it in order.

It writes into files, not into pipes: with its reader gone, a write into a pipe would kill it before it has
written its state. It runs in a session of its own, so that a Ctrl-C of the terminal reaches rdlc alone, and
gets one SIGINT from here; if rdlc is killed, from the kernel (see `launcher`).
"""

import contextlib
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from rdlc.adapters.ray.processes import marked, sweep
from rdlc.adapters.ray.tail import LineTail
from rdlc.adapters.terraform import launcher
from rdlc.adapters.terraform.environment import MARK
from rdlc.adapters.workspace.files import read_end
from rdlc.errors import RdlcError

_log = logging.getLogger(__name__)
_POLL_S = 0.1
_ENDING_LIMIT_S = 900.0
_SWEEP_LIMIT_S = 10.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """One call: what to start, where, with which whole environment, and the files of what it says.

    `hold` is a file descriptor that Terraform inherits: the lock on the stack outlives a killed rdlc so.
    """

    arguments: tuple[str, ...]
    folder: Path
    environment: Mapping[str, str]
    output: Path
    errors: Path
    limit_s: float
    hold: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class CallEnd:
    """How it ended: its exit status, the end of stderr, and whether it was asked to stop."""

    exit_status: int
    printed: str
    is_stopped: bool


class Watch(Protocol):
    """Who follows a call."""

    def line(self, text: str) -> None:
        """It wrote a line."""
        ...

    def tick(self) -> None:
        """Time goes by."""
        ...

    def stop_level(self) -> int:
        """0 to go on, 1 to stop in order, 2 to stop at once."""
        ...


def run(call: Call, watch: Watch | None = None) -> CallEnd:
    """Runs it to its end and returns how that was; nothing of it is left, however this is left.

    Without a watch its lines are not read: for short calls whose output file is read afterwards.
    """
    process = _start(call)
    follower = _Follower(call, process, watch)
    try:
        follower.follow()
    finally:
        _end(process, call, is_asked=follower.signals > 0)
    printed = read_end(call.errors)
    if not printed:
        call.errors.unlink()
    return CallEnd(exit_status=process.returncode, printed=printed, is_stopped=follower.signals > 0)


def _start(call: Call) -> subprocess.Popen[bytes]:
    _log.debug("%s in %s", call.arguments, call.folder)
    with call.output.open("xb") as output, call.errors.open("xb") as errors:
        return subprocess.Popen(
            (sys.executable, "-I", "-S", launcher.__file__, str(os.getpid()), *call.arguments),
            cwd=call.folder,
            env=dict(call.environment),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            start_new_session=True,
            pass_fds=() if call.hold is None else (call.hold,),
        )


def _end(process: subprocess.Popen[bytes], call: Call, *, is_asked: bool) -> None:
    """Ends it in order if an error here left it running, and then what it left behind."""
    if process.poll() is None:
        if not is_asked:  # a second one would make it leave its state unwritten
            process.send_signal(signal.SIGINT)
        try:
            process.wait(timeout=_ENDING_LIMIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    # A provider outlives a Terraform that was killed.
    sweep(lambda: marked(MARK, call.environment[MARK]), limit_s=_SWEEP_LIMIT_S)


class _Follower:
    """Reads the lines as they come and hands the wish to stop on, as one SIGINT for each level."""

    def __init__(self, call: Call, process: subprocess.Popen[bytes], watch: Watch | None) -> None:
        self._call = call
        self._process = process
        self._watch = watch
        self._tail: LineTail | None = LineTail(call.output) if watch else None
        self._trouble: RdlcError | None = None
        self._deadline_s = time.monotonic() + call.limit_s
        self.signals = 0

    def follow(self) -> None:
        """Returns when it has ended and all of its lines were handed on."""
        while True:
            has_ended = self._process.poll() is not None  # asked first: no line of the end is missed
            self._hand_on()
            if has_ended:
                break
            self._pass_stop_on()
            if self._watch:
                self._watch.tick()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=_POLL_S)
        if self._trouble:
            raise self._trouble

    def _hand_on(self) -> None:
        # What cannot be read is told at the end: Terraform must not be left because of it.
        try:
            while self._watch and self._tail and (lines := self._tail.read_new()):
                for line in lines:
                    self._watch.line(line)
        except RdlcError as error:
            self._trouble, self._tail = error, None

    def _pass_stop_on(self) -> None:
        level = self._watch.stop_level() if self._watch else 0
        if time.monotonic() > self._deadline_s and not self.signals:
            command = self._call.arguments[1]
            self._trouble = RdlcError(f"`terraform {command}` was stopped after {self._call.limit_s:.0f} s")
            level = 1
        if level > self.signals:
            self._process.send_signal(signal.SIGINT)
            self.signals += 1
