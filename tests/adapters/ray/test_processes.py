import os
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import replace

import pytest

from rdlc.adapters.ray.processes import Process, descendants, kill, marked, read_process, sweep


@pytest.fixture
def sleeper() -> Iterator[Process]:
    with subprocess.Popen(["/bin/sleep", "600"], env={"MARK": "abc"}) as child:
        process = read_process(child.pid)
        assert process is not None
        yield process
        child.kill()


def test_process_is_found_below_its_ancestors(sleeper: Process) -> None:
    assert sleeper in descendants(os.getpid())
    assert sleeper in descendants(os.getppid())
    assert sleeper not in descendants(sleeper.pid)
    assert sleeper.parent == os.getpid()


def test_mark_is_compared_whole(sleeper: Process) -> None:
    assert marked("MARK", "abc") == (sleeper,)
    assert marked("MARK", "ab") == ()
    assert marked("ARK", "abc") == ()


def test_process_that_got_the_pid_of_another_is_not_killed(sleeper: Process) -> None:
    kill(replace(sleeper, start=sleeper.start - 1))

    # A pending SIGKILL would act before this later signal is seen.
    os.kill(sleeper.pid, signal.SIGTERM)
    dead = os.waitid(os.P_PID, sleeper.pid, os.WEXITED | os.WNOWAIT)
    assert dead is not None
    assert dead.si_status == signal.SIGTERM


def test_process_is_killed(sleeper: Process) -> None:
    kill(sleeper)

    dead = os.waitid(os.P_PID, sleeper.pid, os.WEXITED | os.WNOWAIT)
    assert dead is not None
    assert dead.si_status == signal.SIGKILL


def test_process_that_is_gone_has_no_entry() -> None:
    child = subprocess.Popen(["/bin/true"])
    child.wait()

    assert read_process(child.pid) is None
    kill(Process(pid=child.pid, parent=os.getpid(), start=0))


def test_sweep_repeats_until_nothing_is_found(sleeper: Process) -> None:
    rounds = [(sleeper,), (sleeper,), ()]

    left = sweep(lambda: rounds.pop(0), limit_s=60)

    assert left == ()
    assert rounds == []


def test_sweep_reports_what_cannot_be_ended() -> None:
    unkillable = Process(pid=2**30, parent=1, start=1)

    assert sweep(lambda: (unkillable,), limit_s=0.05) == (2**30,)
