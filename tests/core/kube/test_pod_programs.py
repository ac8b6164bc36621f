"""The program that reads the logs of a pod, run with this machine's own Python."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from rdlc.core.kube.frames import AllRead, FileEnd, FileLine, FileLost, FileStart, Frame, FrameReader
from rdlc.core.kube.pod_programs import LOGS_PROGRAM, RAY_PROGRAM


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    folder = tmp_path / "ray/session_2/logs/train"
    folder.mkdir(parents=True)
    (tmp_path / "ray/session_latest").symlink_to("session_2")
    old = tmp_path / "ray/session_1/logs"
    old.mkdir(parents=True)
    (old / "worker.out").write_bytes(b"h:1:1 [0] NCCL INFO of an earlier session\n")
    return folder.parent


def read(tmp_path: Path, *arguments: str, **variables: str) -> list[Frame]:
    environment = {"PATH": "/usr/bin:/bin", "RAY_TMPDIR": str(tmp_path), **variables}
    done = subprocess.run(
        [sys.executable, "-", *arguments],
        input=LOGS_PROGRAM.encode(),
        env=environment,
        capture_output=True,
        check=True,
    )
    frames = list(FrameReader("pod").feed(done.stdout))
    # Other processes of this machine may name files of their own.
    return [frame for frame in frames if not isinstance(frame, FileLost)]


def lines(frames: list[Frame], below: Path) -> dict[str, list[bytes]]:
    kept: dict[str, list[bytes]] = {}
    name = ""
    for frame in frames:
        if isinstance(frame, FileStart):
            name = frame.path
        elif isinstance(frame, FileLine):
            kept.setdefault(name, []).append(frame.data)
    return {Path(name).name: held for name, held in kept.items() if Path(name).is_relative_to(below)}


def test_lines_of_nccl_and_gloo_in_the_newest_session_are_told(logs: Path, tmp_path: Path) -> None:
    (logs / "worker-ab-01000000-7.out").write_bytes(b"secret\nh:7:7 [0] NCCL INFO x\r\nGloo y\nend")
    (logs / "train/app.log").write_bytes(b"a NCCL line without its end")
    (logs / "link.out").symlink_to("train/app.log")

    frames = read(tmp_path)

    assert lines(frames, tmp_path) == {
        "app.log": [b"a NCCL line without its end\n"],
        "worker-ab-01000000-7.out": [b"h:7:7 [0] NCCL INFO x\n", b"Gloo y\n"],
    }
    ends = [(frame.num_lines, frame.num_kept) for frame in frames if isinstance(frame, FileEnd)]
    assert (4, 2) in ends


def test_a_job_takes_only_the_files_of_its_own_workers(logs: Path, tmp_path: Path) -> None:
    for job, pid in (("01000000", 55), ("02000000", 77)):
        (logs / f"worker-ab-{job}-{pid}.out").write_bytes(b"NCCL\n")
        (tmp_path / f"nccl.host.{pid}.log").write_bytes(b"NCCL\n")

    frames = read(tmp_path, "02000000", NCCL_DEBUG_FILE=str(tmp_path / "nccl.%h.%p.log"))

    assert set(lines(frames, tmp_path)) == {"worker-ab-02000000-77.out", "nccl.host.77.log"}
    assert frames[-1] == AllRead(num_left_out=2)


def test_a_worker_that_was_started_before_its_job_says_the_job_in_its_log(logs: Path, tmp_path: Path) -> None:
    for job, pid in (("01000000", 55), ("02000000", 77)):
        said = f":job_id:{job}\n:actor_name:RayTrainWorker\nNCCL of {job}\n".encode()
        (logs / f"worker-ab-ffffffff-{pid}.out").write_bytes(said)
        (tmp_path / f"nccl.host.{pid}.log").write_bytes(b"NCCL\n")

    frames = read(tmp_path, "02000000", "mine", NCCL_DEBUG_FILE=str(tmp_path / "nccl.%h.%p.log"))

    assert set(lines(frames, tmp_path)) == {"worker-ab-ffffffff-77.out", "nccl.host.77.log"}


def test_a_driver_is_of_its_own_submission_and_what_ray_forwards_to_it_is_not_told_twice(
    logs: Path, tmp_path: Path
) -> None:
    told = b"\x1b[36m(f pid=8, ip=10.0.0.1)\x1b[0m h:8:8 [0] NCCL INFO x\n(f pid=9) NCCL\nh:3:3 [0] NCCL INFO own\n"
    for submission in ("mine", "other"):
        (logs / f"job-driver-{submission}.log").write_bytes(told)

    kept = lines(read(tmp_path, "02000000", "mine"), tmp_path)

    assert kept == {"job-driver-mine.log": [b"h:3:3 [0] NCCL INFO own\n"]}


def test_a_line_that_never_ends_and_bytes_of_any_kind_do_no_harm(logs: Path, tmp_path: Path) -> None:
    (logs / "worker.out").write_bytes(b"NCCL " + b"x" * 10_000 + b"\n\xff\0NCCL\n")

    kept = lines(read(tmp_path), tmp_path)["worker.out"]

    assert [len(line) for line in kept] == [4097, 6]
    assert kept[1] == b"\xffNCCL\n"


def test_what_a_pattern_of_a_foreign_process_could_do_is_no_glob(logs: Path, tmp_path: Path) -> None:
    (tmp_path / "nccl").mkdir()
    (tmp_path / "nccl/secret.log").write_bytes(b"NCCL\n")

    frames = read(tmp_path, NCCL_DEBUG_FILE=str(tmp_path / "*/*"))

    assert lines(frames, tmp_path) == {}


@pytest.mark.parametrize("program", [LOGS_PROGRAM, RAY_PROGRAM])
def test_the_programs_are_such_as_the_oldest_python_of_ray_takes(program: str) -> None:
    # Ray 2.58 still runs on Python 3.10; older Rays ran on 3.8.
    ast.parse(program, feature_version=(3, 8))
    assert program.isascii()
