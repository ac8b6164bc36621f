"""How a job is ended before its time, and that nothing of it lives on."""

import gc
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rdlc.adapters.ray.job import end_leftovers, start_job
from rdlc.adapters.ray.processes import JOB_VARIABLE, KEEPER_VARIABLE, Process, marked
from rdlc.adapters.ray.status import JobEnd, read_status
from tests.adapters.ray.trees import (
    PATIENCE_S,
    await_gone,
    await_tree,
    guard_and_keeper,
    is_alive,
    processes_in,
    tree_job,
)


class AlarmError(Exception):
    """Stands for a Ctrl-C at a chosen moment."""


@contextmanager
def alarm_after(delay_s: float) -> Iterator[None]:
    def ring(*_: object) -> None:
        raise AlarmError

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, delay_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_stop_lets_the_driver_end_itself_and_ends_its_tree(tmp_path: Path) -> None:
    job = tree_job(tmp_path / "job", "bare", "polite")

    with start_job(job) as running:
        tree = await_tree(job)
        end = running.stop(grace_s=PATIENCE_S)

    assert end == JobEnd(reason="stopped", exit_status=5)
    assert [process for process in tree if is_alive(process)] == []
    assert not job.scratch.exists()


def test_driver_that_ignores_sigterm_is_killed_after_its_grace(tmp_path: Path) -> None:
    job = tree_job(tmp_path / "job", "bare", "deaf")

    with start_job(job) as running:
        tree = await_tree(job)
        end = running.stop(grace_s=0.2)

    assert end == JobEnd(reason="stopped", signal=signal.SIGKILL)
    assert [process for process in tree if is_alive(process)] == []


def test_interrupted_stop_raises_at_once_and_the_job_ends_without_grace(tmp_path: Path) -> None:
    job = tree_job(tmp_path / "job", "deaf")

    with start_job(job) as running:
        tree = await_tree(job)
        with pytest.raises(AlarmError), alarm_after(0.3):
            running.stop(grace_s=600)
        end = running.wait(timeout_s=PATIENCE_S)

    assert end == JobEnd(reason="stopped", signal=signal.SIGKILL)
    assert [process for process in tree if is_alive(process)] == []


def test_stopping_again_gives_the_same_end(tmp_path: Path) -> None:
    job = tree_job(tmp_path / "job")

    with start_job(job) as running:
        first = running.stop()
        second = running.stop()

    assert first == JobEnd(reason="stopped", signal=signal.SIGTERM)
    assert second == first


def test_leaving_the_block_by_an_error_ends_the_job(tmp_path: Path) -> None:
    job = tree_job(tmp_path / "job", "bare")
    trees: list[Process] = []

    def fail_in_block() -> None:
        with start_job(job):
            trees.extend(await_tree(job))
            raise AlarmError

    with pytest.raises(AlarmError):
        fail_in_block()

    assert [is_alive(process) for process in trees] == [False] * 6
    assert read_status(job.status) == JobEnd(reason="stopped", signal=signal.SIGTERM)


# An interrupt inside `Popen` or `fdopen` leaves an object that warns when it is collected.
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("delay_ms", [1, 3, 6, 10, 15, 20, 30, 40, 50, 60, 80, 120])
def test_start_that_is_interrupted_at_any_moment_leaves_no_process(tmp_path: Path, delay_ms: int) -> None:
    job = tree_job(tmp_path / "job", "bare")

    with pytest.raises(AlarmError), alarm_after(delay_ms / 1000), start_job(job) as running:
        running.wait(timeout_s=PATIENCE_S)
    gc.collect()

    left = marked(KEEPER_VARIABLE, job.token) + marked(JOB_VARIABLE, job.token)
    assert await_gone(left) == []
    assert processes_in(job.working_directory) == []


def test_two_jobs_do_not_touch_each_other(tmp_path: Path) -> None:
    one, other = tree_job(tmp_path / "one", "bare"), tree_job(tmp_path / "other", "bare")

    with start_job(one) as first, start_job(other) as second:
        tree, other_tree = await_tree(one), await_tree(other)
        first.stop()
        alive = [is_alive(process) for process in other_tree]
        unended = second.poll()

    assert [process for process in tree if is_alive(process)] == []
    assert alive == [True] * 6
    assert unended is None
    assert [process for process in other_tree if is_alive(process)] == []


def test_suspended_keeper_does_not_keep_stop_from_ending_the_job(tmp_path: Path) -> None:
    job = tree_job(tmp_path / "job")

    with start_job(job) as running:
        tree = await_tree(job)
        for keeper in marked(KEEPER_VARIABLE, job.token):
            os.kill(keeper.pid, signal.SIGSTOP)
        end = running.stop(grace_s=0, patience_s=0.3)

    assert end == JobEnd(reason="orphaned")
    assert await_gone(tree) == []
    assert not job.scratch.exists()


def test_ending_leftovers_of_a_running_job_lets_its_keeper_finish(tmp_path: Path) -> None:
    job = tree_job(tmp_path / "job")

    with start_job(job) as running:
        tree = await_tree(job)
        keepers = guard_and_keeper(job)
        ended = end_leftovers(job.token)

    assert ended == tuple(sorted(process.pid for process in set(tree).difference(keepers)))
    assert running.poll() == JobEnd(reason="exited", signal=signal.SIGKILL)
