"""Whoever of rdlc, guard, keeper and driver is killed: no process of the job is left."""

import os
import signal
from contextlib import suppress
from pathlib import Path

import pytest

from rdlc.adapters.ray.job import LocalJob, end_leftovers, start_job
from rdlc.adapters.ray.processes import Process
from rdlc.adapters.ray.status import JobEnd, read_status
from tests.adapters.ray.trees import (
    PATIENCE_S,
    await_file,
    await_gone,
    await_tree,
    guard_and_keeper,
    is_alive,
    rdlc_process,
    tree_job,
)

KILLED_BY_SIGKILL = JobEnd(reason="exited", signal=signal.SIGKILL)
KILLED_BY_KEEPER = JobEnd(reason="orphaned", signal=signal.SIGTERM)
NOBODY_SAW_IT = JobEnd(reason="orphaned")


def kill_all(*processes: Process) -> None:
    """Kill them as at one moment: none of them sees the death of another."""
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for process in processes:
            with suppress(ProcessLookupError):  # the driver dies with its keeper
                os.kill(process.pid, number)


def pick(job: LocalJob, roles: tuple[str, ...]) -> tuple[Process, ...]:
    """Return the processes with these roles, in this order."""
    guard, keeper = guard_and_keeper(job)
    driver_pid = int(await_file(job.working_directory / "ready"))
    driver = next(process for process in await_tree(job) if process.pid == driver_pid)
    return tuple({"guard": guard, "keeper": keeper, "driver": driver}[role] for role in roles)


@pytest.mark.parametrize(
    ("roles", "expected"),
    [
        (("driver",), KILLED_BY_SIGKILL),
        (("keeper",), NOBODY_SAW_IT),
        (("guard",), KILLED_BY_KEEPER),
        (("keeper", "driver"), NOBODY_SAW_IT),
    ],
)
def test_killed_process_of_the_job_leaves_no_other(tmp_path: Path, roles: tuple[str, ...], expected: JobEnd) -> None:
    job = tree_job(tmp_path / "job", "bare")

    with start_job(job) as running:
        tree = await_tree(job)
        job_itself = set(tree).difference(guard_and_keeper(job))
        kill_all(*pick(job, roles))
        end = running.wait(timeout_s=PATIENCE_S)
        left = [process for process in job_itself if is_alive(process)]

    assert end == expected
    assert read_status(job.status) == expected
    assert left == []
    assert await_gone(tree) == []
    assert not job.scratch.exists()


def test_rdlc_finds_what_is_left_by_its_mark_when_guard_and_keeper_are_killed(
    tmp_path: Path,
) -> None:
    job = tree_job(tmp_path / "job")

    with start_job(job) as running:
        tree = await_tree(job)
        kill_all(*guard_and_keeper(job))
        end = running.wait(timeout_s=PATIENCE_S)

    assert end == NOBODY_SAW_IT
    assert read_status(job.status) == NOBODY_SAW_IT
    assert await_gone(tree) == []
    assert not job.scratch.exists()


@pytest.mark.parametrize(
    ("words", "roles", "expected"),
    [
        (("bare",), (), KILLED_BY_KEEPER),
        (("bare", "deaf"), (), JobEnd(reason="orphaned", signal=signal.SIGKILL)),
        (("bare", "polite"), (), JobEnd(reason="orphaned", exit_status=5)),
        (("bare",), ("guard",), KILLED_BY_KEEPER),
        (("bare",), ("keeper",), NOBODY_SAW_IT),
        (("bare",), ("keeper", "driver"), NOBODY_SAW_IT),
    ],
)
def test_killed_rdlc_leaves_no_process_and_a_status(
    tmp_path: Path, words: tuple[str, ...], roles: tuple[str, ...], expected: JobEnd
) -> None:
    job = tree_job(tmp_path / "job", *words)

    with rdlc_process(job) as rdlc:
        tree = await_tree(job)
        kill_all(rdlc, *pick(job, roles))

    assert await_gone(tree) == []
    assert read_status(job.status) == expected
    assert not job.scratch.exists()


def test_next_run_ends_what_is_left_when_rdlc_guard_and_keeper_are_killed(tmp_path: Path) -> None:
    job = tree_job(tmp_path / "job")

    with rdlc_process(job) as rdlc:
        tree = await_tree(job)
        first_to_die = pick(job, ("guard", "keeper", "driver"))
        kill_all(rdlc, *first_to_die[:2])
    assert await_gone(first_to_die) == []
    left = [process.pid for process in tree if is_alive(process)]
    ended = end_leftovers(job.token, scratch=job.scratch)

    assert len(left) == 3
    assert ended == tuple(sorted(left))
    assert await_gone(tree) == []
    assert not job.scratch.exists()
    assert read_status(job.status) is None


def test_interrupt_from_the_terminal_reaches_rdlc_alone(tmp_path: Path) -> None:
    job = tree_job(tmp_path / "job", "polite")

    with start_job(job) as running:
        tree = await_tree(job)
        groups = {os.getpgid(process.pid) for process in tree}
        sessions = {os.getsid(process.pid) for process in tree}
        running.stop()

    assert os.getpgid(0) not in groups
    assert os.getsid(0) not in sessions
