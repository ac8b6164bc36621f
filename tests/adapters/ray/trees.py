"""Drivers for the tests: small trees of real processes, and what is left of them."""

import json
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path

from rdlc.adapters.ray.job import LocalJob, new_token
from rdlc.adapters.ray.processes import (
    KEEPER_VARIABLE,
    Process,
    all_processes,
    marked,
    read_process,
)

PATIENCE_S = 120.0  # for a machine with much else to do
REPOSITORY = Path(__file__).parents[3]

# A child; one in its own session; one that a double fork and `setsid` took away from the driver.
# With "bare" the last one also has an empty environment, so that nothing marks it.
TREE = """
import json, os, signal, sys, time

def child(*, new_session=False, twice=False, environment=os.environ):
    forked = os.fork()
    if forked == 0:
        if new_session:
            os.setsid()
        if twice and os.fork() != 0:
            os._exit(0)
        os.execve("/bin/sleep", ["sleep", "600"], environment)
    if twice:
        os.waitpid(forked, 0)

child()
child(new_session=True)
child(new_session=True, twice=True, environment={} if "bare" in sys.argv else os.environ)
if "deaf" in sys.argv:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if "polite" in sys.argv:
    signal.signal(signal.SIGTERM, lambda *_: os._exit(5))
with open("ready.new", "w") as file:
    file.write(str(os.getpid()))
os.replace("ready.new", "ready")
if "leave" in sys.argv:
    sys.exit(3)
time.sleep(600)
"""


def new_scratch() -> Path:
    """Return the path of a scratch folder that does not exist; elsewhere than in /tmp none is taken."""
    return Path("/tmp") / f"rdlc-{secrets.token_hex(4)}"


def make_job(folder: Path, *command: str) -> LocalJob:
    """Return a job with all its files in `folder`, which is made, and a scratch folder that is not."""
    folder.mkdir()
    return LocalJob(
        command=command,
        environment={"PATH": "/usr/bin:/bin", "JOB": folder.name},
        working_directory=folder,
        log=folder / "driver.log",
        status=folder / "status.json",
        scratch=new_scratch(),
        token=new_token(),
    )


def tree_job(folder: Path, *words: str) -> LocalJob:
    """Return a job whose driver starts three processes that sleep."""
    return make_job(folder, sys.executable, "-c", TREE, *words)


def await_tree(job: LocalJob) -> tuple[Process, ...]:
    """Return the processes of the job, guard and keeper among them, once the tree stands."""
    await_file(job.working_directory / "ready")
    keepers = marked(KEEPER_VARIABLE, job.token)
    found = {process.pid: process for process in keepers}
    deadline_s = time.monotonic() + PATIENCE_S
    while len(found) < 6 and time.monotonic() < deadline_s:
        found.update({process.pid: process for process in below(tuple(found))})
        time.sleep(0.01)
    assert len(found) == 6, job.log.read_text()
    return tuple(found.values())


def below(pids: tuple[int, ...]) -> tuple[Process, ...]:
    """Return the children of these processes."""
    return tuple(process for process in all_processes() if process.parent in pids)


def guard_and_keeper(job: LocalJob) -> tuple[Process, Process]:
    first, second = marked(KEEPER_VARIABLE, job.token)
    return (first, second) if second.parent == first.pid else (second, first)


def await_file(path: Path) -> str:
    """Return the text of the file once it is there."""
    deadline_s = time.monotonic() + PATIENCE_S
    while not path.exists():
        assert time.monotonic() < deadline_s, f"no {path}"
        time.sleep(0.01)
    return path.read_text()


def await_gone(processes: tuple[Process, ...]) -> list[str]:
    """Return the names of those that live on, after having waited for their end."""
    deadline_s = time.monotonic() + PATIENCE_S
    while (left := [p for p in processes if is_alive(p)]) and time.monotonic() < deadline_s:
        time.sleep(0.02)
    return [Path(f"/proc/{process.pid}/comm").read_text() for process in left]


def is_alive(process: Process) -> bool:
    """Tell whether it runs; a dead one that nobody has buried does not."""
    now = read_process(process.pid)
    if now is None or now.start != process.start:
        return False
    try:
        return "\nState:\tZ" not in Path(f"/proc/{process.pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def processes_in(folder: Path) -> list[str]:
    """Return the pids of all processes that work in the folder."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and (entry / "cwd").readlink() == folder:
                found.append(entry.name)
        except OSError:
            continue
    return found


@contextmanager
def rdlc_process(job: LocalJob) -> Iterator[Process]:
    """Start a process that stands in for rdlc and follows the job."""
    script = str(Path(__file__).with_name("stand_in.py"))
    environment = {"PYTHONPATH": str(REPOSITORY)}
    command = [sys.executable, script, to_argument(job)]
    with subprocess.Popen(command, env=environment) as child:
        try:
            process = read_process(child.pid)
            assert process is not None
            yield process
        finally:
            child.kill()


def to_argument(job: LocalJob) -> str:
    """Return the job as text for `from_argument` in another process."""
    return json.dumps({field.name: getattr(job, field.name) for field in fields(job)}, default=str)


def from_argument(text: str) -> LocalJob:
    document = json.loads(text)
    paths = ("working_directory", "log", "status", "scratch")
    document |= {name: Path(document[name]) for name in paths}
    return LocalJob(**{**document, "command": tuple(document["command"])})
