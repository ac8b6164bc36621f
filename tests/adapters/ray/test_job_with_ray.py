"""A driver with a real embedded Ray: nothing of it is left, whoever dies."""

import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from rdlc.adapters.ray.job import LocalJob, new_token, start_job
from rdlc.adapters.ray.processes import JOB_VARIABLE, Process, descendants, marked
from rdlc.adapters.ray.status import JobEnd, read_status
from tests.adapters.ray.trees import (
    PATIENCE_S,
    await_file,
    await_gone,
    guard_and_keeper,
    new_scratch,
    rdlc_process,
)

pytestmark = [
    pytest.mark.slow,
]

DRIVER = """
import os, sys, time
import ray

ray.init(
    address="local",
    include_dashboard=False,
    num_cpus=1,
    object_store_memory=80 * 2**20,
    log_to_driver=False,
    _temp_dir=os.environ["SCRATCH"],
)

@ray.remote
class Actor:
    def pid(self):
        return os.getpid()

actor = Actor.remote()
pid = ray.get(actor.pid.remote())
with open("ready.new", "w") as file:
    file.write(str(pid))
os.replace("ready.new", "ready")
if "leave" in sys.argv:
    sys.exit(4)
time.sleep(600)
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    # Not `tmp_path`: the path of a socket in Ray's folder has to fit in 107 bytes.
    folder = Path(tempfile.mkdtemp(prefix="rdlc-"))
    yield folder
    shutil.rmtree(folder)


def ray_job(folder: Path, *words: str) -> LocalJob:
    scratch = new_scratch()
    return LocalJob(
        command=(sys.executable, "-c", DRIVER, *words),
        environment={
            "PATH": "/usr/bin:/bin",
            "HOME": str(folder),
            "RAY_USAGE_STATS_ENABLED": "0",
            # Below it, as in a run: Ray opens its own folder to everybody.
            "SCRATCH": str(scratch / "ray"),
        },
        working_directory=folder,
        log=folder / "driver.log",
        status=folder / "status.json",
        scratch=scratch,
        token=new_token(),
    )


def await_cluster(job: LocalJob) -> tuple[Process, ...]:
    """Return guard, keeper, driver and every process of Ray, once an actor has answered."""
    actor_pid = int(await_file(job.working_directory / "ready"))
    guard, _ = guard_and_keeper(job)
    cluster = (guard, *descendants(guard.pid))
    names = {Path(f"/proc/{process.pid}/comm").read_text().strip() for process in cluster}
    assert {"gcs_server", "raylet", "ray::Actor"} <= names
    assert actor_pid in {process.pid for process in cluster}
    return cluster


def test_cluster_is_gone_when_the_driver_exits(folder: Path) -> None:
    job = ray_job(folder, "leave")

    with start_job(job) as running:
        end = running.wait(timeout_s=2 * PATIENCE_S)

    assert end == JobEnd(reason="exited", exit_status=4)
    assert marked(JOB_VARIABLE, job.token) == ()
    assert not job.scratch.exists()
    assert sorted(path.name for path in folder.iterdir()) == ["driver.log", "ready", "status.json"]


def test_cluster_is_gone_when_the_driver_is_killed(folder: Path) -> None:
    job = ray_job(folder)

    with start_job(job) as running:
        cluster = await_cluster(job)
        os.kill(running.driver_pid, signal.SIGKILL)
        end = running.wait(timeout_s=PATIENCE_S)

    assert end == JobEnd(reason="exited", signal=signal.SIGKILL)
    assert await_gone(cluster) == []
    assert marked(JOB_VARIABLE, job.token) == ()
    assert not job.scratch.exists()
    assert sorted(path.name for path in folder.iterdir()) == ["driver.log", "ready", "status.json"]


def test_cluster_is_gone_when_rdlc_is_killed(folder: Path) -> None:
    job = ray_job(folder)

    with rdlc_process(job) as rdlc:
        cluster = await_cluster(job)
        os.kill(rdlc.pid, signal.SIGKILL)

    assert await_gone(cluster) == []
    assert marked(JOB_VARIABLE, job.token) == ()
    status = read_status(job.status)
    assert status is not None
    assert status.reason == "orphaned"
    assert not job.scratch.exists()
    assert sorted(path.name for path in folder.iterdir()) == ["driver.log", "ready", "status.json"]
