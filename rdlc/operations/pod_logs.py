"""Keep, of the logs in the pods of a cluster, the lines that speak of NCCL or gloo."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

from rdlc.core.kube.frames import AllRead, FileEnd, FileLine, FileLost, FileStart, Frame, FrameReader
from rdlc.core.kube.observed import ClusterSeen, PodSeen
from rdlc.core.kube.pod_programs import LOGS_PROGRAM
from rdlc.core.kube.ray_answer import JobSeen
from rdlc.core.text import one_line
from rdlc.core.transport.excerpt import Excerpt
from rdlc.errors import Interrupted, RdlcError
from rdlc.operations.cluster_ports import Container
from rdlc.operations.collect_logs import Collector
from rdlc.operations.look_cluster import Eyes, main_container, run_python
from rdlc.operations.reporting import Reporter

_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9._-]+")
_LIMIT_BYTES = 1 << 30


@dataclass(frozen=True, kw_only=True, slots=True)
class PodLogs:
    """What was kept, by its file in the record, and what could not be read, by its pod or path.

    `num_files` counts the files that were read, `num_left_out` those of other jobs.
    """

    kept: Mapping[str, str]
    lost: Mapping[str, str]
    num_files: int
    num_left_out: int


def keep_pod_logs(
    seen: ClusterSeen, job: JobSeen | None, record: Path, *, eyes: Eyes, collector: Collector, reporter: Reporter
) -> PodLogs:
    """Writes what is kept of the logs of every pod; a pod that cannot be asked is named, with the reason.

    `job` is the one of Ray whose logs count, None for all. Raises RdlcError for more than a record holds.
    """
    keeper = _Keeper(record, collector)
    of_job = (job.job_id, job.submission_id) if job else ()
    for number, pod in enumerate(seen.pods):
        if number and number % 10 == 0:
            reporter.note(f"{number} of {len(seen.pods)} pods read")
        container = main_container(pod)
        place = Container(namespace=seen.cluster.namespace, pod=pod.name, container=container)
        try:
            keeper.read(pod, partial(run_python, eyes, place, LOGS_PROGRAM, *of_job))
        except Interrupted:
            raise
        except _TooMuch as error:
            raise RdlcError(error.message, hint=error.hint) from error
        except RdlcError as error:
            reporter.warn(f"the logs of pod {pod.name} cannot be read: {one_line(error.message, limit=300)}")
            keeper.lost[f"logs of {pod.name}"] = f"not measured: {one_line(error.message, limit=300)}"
    return PodLogs(kept=keeper.kept, lost=keeper.lost, num_files=keeper.num_files, num_left_out=keeper.num_left_out)


class _Ask(Protocol):
    """Asks a pod, and hands over what it says."""

    def __call__(self, *, stdout: Callable[[bytes], object]) -> object: ...


class _TooMuch(RdlcError):
    """More than a record holds; no other pod is asked."""


class _Keeper:
    """Turns the frames of one pod after another into files; one file is open at a time."""

    def __init__(self, record: Path, collector: Collector) -> None:
        self.kept: dict[str, str] = {}
        self.lost: dict[str, str] = {}
        self.num_files = 0
        self.num_left_out = 0
        self._record = record
        self._collector = collector
        self._room = _LIMIT_BYTES
        self._excerpt = Excerpt(name="")
        self._target: Path | None = None
        self._path = ""
        self._write: Callable[[bytes], object] | None = None

    def read(self, pod: PodSeen, ask: _Ask) -> None:
        """Keeps what a pod says; raises RdlcError if it breaks off or says anything else."""
        frames = FrameReader(pod.name)
        self._target = self._write = None
        with ExitStack() as stack:

            def take(chunk: bytes) -> None:
                for frame in frames.feed(chunk):
                    self._take(pod, frame, stack)

            ask(stdout=take)
        if not frames.is_complete:
            raise RdlcError(f"the logs of pod `{pod.name}` broke off")

    def _take(self, pod: PodSeen, frame: Frame, stack: ExitStack) -> None:
        match frame:
            case FileStart(path=path):
                stack.close()
                self.num_files += 1
                name = _NOT_IN_A_NAME.sub("-", f"{pod.name}-{path.rpartition('/')[2]}")[-120:]
                self._target = self._record / "nccl" / f"{self.num_files:04d}-{name}.log"
                self._path, self._write, self._excerpt = path, None, Excerpt(name=path)
            case FileLine(data=data):
                self._keep(data, stack)
            case FileEnd(num_lines=num_lines, sha256=sha256):
                self._write_pieces(self._excerpt.finish(), stack)
                stack.close()
                if self._write is not None and self._target is not None:
                    words = f"{self._excerpt.num_kept} of {num_lines} lines of {self._path} in {pod.name}"
                    self.kept[f"log {self._target.name}"] = one_line(f"{words}, sha256 {sha256}", limit=800)
            case FileLost(path=path, why=why):
                self.lost[one_line(f"log {path} in {pod.name}", limit=400)] = f"not measured: {why}"
            case AllRead(num_left_out=num_left_out):
                self.num_left_out += num_left_out

    def _keep(self, data: bytes, stack: ExitStack) -> None:
        """The pod chose the line; what a record holds is chosen here once more."""
        if self._target is None:
            raise RdlcError("it tells lines of no file")
        self._write_pieces(self._excerpt.feed(data), stack)

    def _write_pieces(self, pieces: Iterator[bytes], stack: ExitStack) -> None:
        for piece in filter(None, pieces):
            self._write_piece(piece, stack)

    def _write_piece(self, piece: bytes, stack: ExitStack) -> None:
        assert self._target is not None
        self._room -= len(piece)
        if self._room < 0:
            raise _TooMuch(
                f"more than {_LIMIT_BYTES >> 30} GiB speak of NCCL",
                hint="`NCCL_DEBUG_SUBSYS=INIT,BOOTSTRAP,ENV,NET` says what is needed, and no more",
            )
        if self._write is None:
            self._write = stack.enter_context(self._collector.writing(self._target))
        self._write(piece)
