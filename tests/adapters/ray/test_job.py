"""How a job starts, what its driver sees, and how its end is reported."""

import shutil
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from rdlc.adapters.ray.job import end_leftovers, new_token, start_job
from rdlc.adapters.ray.status import JobEnd, read_status
from tests.adapters.ray.trees import PATIENCE_S, make_job, processes_in, tree_job


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
    # Signals 32 and 33 are libc's own: no program can set them, so they are as whoever started us left them.
    masks = {line[:6]: int(line[8:], 16) & ~(0b11 << 31) for line in lines if line[:6] in ("SigBlk", "SigIgn")}
    assert masks == {"SigBlk": 0, "SigIgn": 0}
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
    driver = f"import os, sys, time\nos.mkdir('{job.scratch}/sub')\nopen('{job.scratch}/sub/file', 'w').close()\n"
    job = replace(job, command=(*job.command[:2], driver + job.command[2], *job.command[3:]))

    with start_job(job) as running:
        end = running.wait(timeout_s=PATIENCE_S)

    assert end == JobEnd(reason="exited", exit_status=3)
    assert processes_in(job.working_directory) == []
    assert not job.scratch.exists()


def test_links_in_the_scratch_folder_are_removed_and_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").touch()
    script = f"ln -s {outside} $0/link; mkdir $0/shut; touch $0/shut/file"
    job = make_job(tmp_path / "job", "/bin/sh", "-c", script)
    job = replace(job, command=(*job.command, str(job.scratch)))

    with start_job(job) as running:
        running.wait(timeout_s=PATIENCE_S)

    assert job.log.read_text() == ""
    assert not job.scratch.exists()
    assert [path.name for path in outside.iterdir()] == ["kept"]


def test_leftovers_of_a_job_that_left_nothing_are_none() -> None:
    assert end_leftovers(new_token()) == ()


@pytest.mark.parametrize("token", ["", "zz", "../" + "0" * 29, "0" * 33, "0" * 32 + "\n"])
def test_a_text_that_is_no_token_ends_nothing_and_removes_nothing(tmp_path: Path, token: str) -> None:
    job = make_job(tmp_path / "job", "/bin/true")
    job.scratch.mkdir(mode=0o700)
    (job.scratch / ".rdlc-job").write_text(token)

    ended = end_leftovers(token, scratch=job.scratch)

    is_kept = (job.scratch / ".rdlc-job").exists()
    shutil.rmtree(job.scratch)
    assert (ended, is_kept) == ((), True)


def test_leftovers_of_a_record_that_names_a_project_leave_the_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = new_token()
    (tmp_path / ".rdlc-job").write_text(token)
    monkeypatch.chdir(tmp_path)

    ended = [end_leftovers(token, scratch=Path(scratch)) for scratch in (".", "", str(tmp_path), "/tmp", "/")]

    assert ended == [()] * 5
    assert [path.name for path in tmp_path.iterdir()] == [".rdlc-job"]
