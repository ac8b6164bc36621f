import gc
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from rdlc.adapters.ray.job import end_leftovers, new_token, start_job
from rdlc.adapters.ray.processes import JOB_VARIABLE, KEEPER_VARIABLE, Process, marked
from rdlc.adapters.ray.status import JobEnd, read_status
from rdlc.errors import RdlcError
from tests.adapters.ray.trees import (
    PATIENCE_S,
    await_gone,
    await_tree,
    guard_and_keeper,
    is_alive,
    make_job,
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


@pytest.mark.parametrize("exit_status", [0, 7, 255])
def test_exit_status_of_the_driver_is_reported(tmp_path: Path, exit_status: int) -> None:
    job = make_job(tmp_path / "job", "/bin/sh", "-c", f"exit {exit_status}")

    with start_job(job) as running:
        end = running.wait(timeout_s=PATIENCE_S)

    assert end == JobEnd(reason="exited", exit_status=exit_status)
    assert read_status(job.status) == end
    assert not job.scratch.exists()


def test_signal_that_ended_the_driver_is_reported(tmp_path: Path) -> None:
    job = make_job(tmp_path / "job", "/bin/sh", "-c", "kill -USR1 $$")

    with start_job(job) as running:
        end = running.wait(timeout_s=PATIENCE_S)

    assert end == JobEnd(reason="exited", signal=signal.SIGUSR1)


def test_driver_inherits_no_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRAY", "1")
    job = make_job(tmp_path / "job", "/usr/bin/env")

    with start_job(job) as running:
        running.wait(timeout_s=PATIENCE_S)

    assert sorted(job.log.read_text().splitlines()) == [
        "JOB=job",
        "PATH=/usr/bin:/bin",
        f"RDLC_JOB={job.token}",
    ]


def test_driver_writes_both_outputs_to_the_end_of_the_log_and_reads_nothing(tmp_path: Path) -> None:
    job = make_job(tmp_path / "job", "/bin/sh", "-c", "echo out; echo err >&2; cat; pwd")
    job.log.write_text("before\n")

    with start_job(job) as running:
        running.wait(timeout_s=PATIENCE_S)

    assert job.log.read_text() == f"before\nout\nerr\n{job.working_directory}\n"


def test_driver_ignores_and_blocks_no_signal_and_leads_a_session(tmp_path: Path) -> None:
    job = make_job(tmp_path / "job", "/bin/cat", "/proc/self/status", "/proc/self/stat")
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)

    try:
        with start_job(job) as running:
            running.wait(timeout_s=PATIENCE_S)
    finally:
        signal.signal(signal.SIGTERM, before)

    lines = job.log.read_text().splitlines()
    signals = [line for line in lines if line.startswith(("SigBlk", "SigIgn"))]
    assert signals == ["SigBlk:\t" + "0" * 16, "SigIgn:\t" + "0" * 16]
    assert lines[-1].split()[5] == str(running.driver_pid)


def test_driver_has_no_open_file_but_the_three(tmp_path: Path) -> None:
    job = make_job(tmp_path / "job", "/bin/ls", "/proc/self/fd")

    with start_job(job) as running:
        running.wait(timeout_s=PATIENCE_S)

    assert job.log.read_text().split() == ["0", "1", "2", "3"]  # 3 is the folder that it lists


def test_poll_gives_nothing_while_the_driver_runs_and_the_end_ever_after(tmp_path: Path) -> None:
    job = make_job(tmp_path / "job", "/bin/sh", "-c", "while [ ! -e go ]; do sleep 0.05; done")

    with start_job(job) as running:
        early = running.poll()
        (job.working_directory / "go").touch()
        end = running.wait(timeout_s=PATIENCE_S)

    assert early is None
    assert end == JobEnd(reason="exited", exit_status=0)
    assert [running.poll(), running.stop(), running.wait(timeout_s=0)] == [end] * 3


def test_what_the_driver_left_behind_is_ended_when_it_exits(tmp_path: Path) -> None:
    job = tree_job(tmp_path / "job", "bare", "leave")
    driver = "import os, sys, time\nos.mkdir('scratch/sub')\nopen('scratch/sub/file', 'w').close()\n"
    job = replace(job, command=(*job.command[:2], driver + job.command[2], *job.command[3:]))

    with start_job(job) as running:
        end = running.wait(timeout_s=PATIENCE_S)

    assert end == JobEnd(reason="exited", exit_status=3)
    assert _sleepers_in(job.working_directory) == []
    assert not job.scratch.exists()


def _sleepers_in(folder: Path) -> list[str]:
    """Return the pids of all processes that work in the folder."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and (entry / "cwd").readlink() == folder:
                found.append(entry.name)
        except OSError:
            continue
    return found


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
    assert _sleepers_in(job.working_directory) == []


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


def test_links_in_the_scratch_folder_are_removed_and_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").touch()
    script = f"ln -s {outside} scratch/link; mkdir scratch/shut; touch scratch/shut/file"
    job = make_job(tmp_path / "job", "/bin/sh", "-c", script)

    with start_job(job) as running:
        running.wait(timeout_s=PATIENCE_S)

    assert not job.scratch.exists()
    assert [path.name for path in outside.iterdir()] == ["kept"]


def test_program_that_is_missing_is_refused(tmp_path: Path) -> None:
    job = make_job(tmp_path / "job", "/no/such/program")

    with pytest.raises(RdlcError) as refused:
        start_job(job)

    assert refused.value.message == (f"cannot start `/no/such/program` in `{tmp_path}/job`: No such file or directory")
    assert [path.name for path in job.working_directory.iterdir()] == ["driver.log"]


def test_environment_that_no_process_can_have_is_refused(tmp_path: Path) -> None:
    job = replace(make_job(tmp_path / "job", "/bin/true"), environment={"A": "nul\0"})

    with pytest.raises(RdlcError) as refused:
        start_job(job)

    assert refused.value.message == (f"cannot start `/bin/true` in `{tmp_path}/job`: embedded null byte")


def test_log_in_a_missing_folder_is_refused(tmp_path: Path) -> None:
    job = replace(make_job(tmp_path / "job", "/bin/true"), log=tmp_path / "none" / "log")

    with pytest.raises(RdlcError) as refused:
        start_job(job)

    assert refused.value.message == (f"cannot start a job: No such file or directory: `{tmp_path}/none/log`")
    assert not job.scratch.exists()


def test_scratch_folder_with_something_in_it_is_refused_and_kept(tmp_path: Path) -> None:
    job = make_job(tmp_path / "job", "/bin/true")
    job.scratch.mkdir()
    (job.scratch / "precious").touch()

    with pytest.raises(RdlcError) as refused:
        start_job(job)

    assert refused.value.message == (
        f"scratch folder `{job.scratch}` is not an empty folder, and would be removed after the run"
    )
    assert (job.scratch / "precious").exists()


def test_status_of_an_earlier_job_is_not_overwritten(tmp_path: Path) -> None:
    job = make_job(tmp_path / "job", "/bin/true")
    job.status.write_text("earlier")

    with pytest.raises(RdlcError) as refused:
        start_job(job)

    assert refused.value.message == "an earlier job wrote its status here"
    assert refused.value.file == str(job.status)
    assert job.status.read_text() == "earlier"


def test_relative_path_is_refused(tmp_path: Path) -> None:
    job = make_job(tmp_path / "job", "true")

    with pytest.raises(RdlcError) as refused:
        start_job(job)

    assert refused.value.message == "`true` is not an absolute path"


def test_other_systems_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = make_job(tmp_path / "job", "/bin/true")
    monkeypatch.setattr("sys.platform", "darwin")

    with pytest.raises(RdlcError) as refused:
        start_job(job)

    assert refused.value.message == "target `local` needs Linux, and this is `darwin`"


def test_leftovers_of_a_job_that_left_nothing_are_none() -> None:
    assert end_leftovers(new_token()) == ()


def test_leftovers_of_a_text_that_is_no_token_are_refused() -> None:
    with pytest.raises(RdlcError) as refused:
        end_leftovers("")

    assert refused.value.message == "`` is not the token of a job: 32 hex digits"


def test_ending_leftovers_of_a_running_job_lets_its_keeper_finish(tmp_path: Path) -> None:
    job = tree_job(tmp_path / "job")

    with start_job(job) as running:
        tree = await_tree(job)
        keepers = guard_and_keeper(job)
        ended = end_leftovers(job.token)

    assert ended == tuple(sorted(process.pid for process in set(tree).difference(keepers)))
    assert running.poll() == JobEnd(reason="exited", signal=signal.SIGKILL)
