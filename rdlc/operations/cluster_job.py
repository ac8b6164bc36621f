"""A job on a cluster, followed through its head pod: files and verdict come over a stream that may break.

Each file is asked for from the byte where the local copy ends, so nothing is repeated and nothing lost, however
often the stream breaks. How the job ended is what Ray's job server in the pod says, and nothing else.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from rdlc.core.kube.job_frames import FrameReader, JobSeen, Piece
from rdlc.core.kube.pod_folder import FOLLOW_PROGRAM, STOP_PROGRAM
from rdlc.core.text import one_line
from rdlc.errors import InputError, OutsideError, RdlcError
from rdlc.operations.cluster_ports import ClusterPort, Container, RunningExec
from rdlc.operations.cluster_wait import Clock

_SILENT_S = 60.0
_LOST_S = 600.0
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.5, 30.0
_STOP_LIMIT_S = 120.0
_DRAIN_LIMIT_S = 20.0
# What the program that follows is told instead of a job.
_ONCE = "."


class Appender(Protocol):
    """Files that grow."""

    def append(self, path: Path, data: bytes, *, offset: int) -> None:
        """Adds bytes to a file that has `offset` of them; makes it if that is 0."""
        ...

    def size(self, path: Path) -> int:
        """How many bytes a file has; 0 if there is none."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Ended:
    """How a job ended, as `follow` asks it."""

    reason: str
    exit_status: int | None = None
    signal: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Followed:
    """What is followed in one pod: files by their path there, each with its local copy; `job` "" for files alone."""

    place: Container
    uid: str
    job: str
    files: Mapping[str, Path]


class PodStream:
    """One pod's files, taken over as they grow."""

    def __init__(self, followed: Followed, *, cluster: ClusterPort, files: Appender, clock: Clock) -> None:
        self._followed = followed
        self._cluster = cluster
        self._files = files
        self._clock = clock
        self._running: RunningExec | None = None
        self._reader = FrameReader()
        self._heard = self._last_good = clock.monotonic()
        self._again_at = 0.0
        self._pause_s = _FIRST_PAUSE_S
        self.breaks = 0
        # Whether anything was heard, be it only a sign of life.
        self.is_alive = False
        self.last_break = ""
        self.ended: JobSeen | None = None

    def pump(self) -> None:
        """Takes over what came; attaches again when the stream broke or fell silent."""
        now = self._clock.monotonic()
        if self.ended is not None or now < self._again_at:
            return
        running = self._running or self._attach()
        # A busy file must not keep the caller from the other streams for ever.
        for _ in range(64):
            data = running.read_new(wait_s=0.0)
            if not data:
                break
            self._heard = self._last_good = now
            self.is_alive = True
            self._pause_s = _FIRST_PAUSE_S
            if self._take(data):
                return
        if running.poll() is not None or now - self._heard > _SILENT_S:
            self._break(running, now)

    def drain(self) -> None:
        """Takes over, within a time, what there still is of files that do not grow any more."""
        deadline = self._clock.monotonic() + _DRAIN_LIMIT_S
        self.close()
        while not self._reader.is_all and self._clock.monotonic() < deadline:
            running = self._running or self._attach(job=_ONCE)
            if data := running.read_new(wait_s=1.0):
                self._take(data)
            elif running.poll() is not None:
                self.close()
        self.close()

    def close(self) -> None:
        """Lets go of the stream."""
        if self._running is not None:
            self._running.close()
            self._running = None

    def _attach(self, job: str | None = None) -> RunningExec:
        followed = self._followed
        offsets = [word for path, copy in followed.files.items() for word in (path, str(self._files.size(copy)))]
        command = ("python3", "-", followed.job if job is None else job, *offsets)
        self._reader = FrameReader()
        self._heard = self._clock.monotonic()
        self._running = self._cluster.start_exec(followed.place, command, stdin=FOLLOW_PROGRAM.encode("ascii"))
        return self._running

    def _take(self, data: bytes) -> bool:
        """Keeps what came; whether it was the job's end."""
        copies = list(self._followed.files.values())
        for frame in self._reader.take(data):
            if isinstance(frame, JobSeen):
                self.ended = frame
                self.close()
                return True
            self._keep(frame, copies)
        return False

    def _keep(self, piece: Piece, copies: Sequence[Path]) -> None:
        if piece.number >= len(copies) or piece.offset != self._files.size(copies[piece.number]):
            raise InputError("a pod sent another piece of a file than was asked for")
        self._files.append(copies[piece.number], piece.data, offset=piece.offset)

    def _break(self, running: RunningExec, now: float) -> None:
        end = running.poll()
        told = one_line(end.told.strip(), limit=300) if end else "nothing was heard for a while"
        self.close()
        self.breaks += 1
        self.last_break = told or "it ended without a word"
        self._refuse_gone()
        if now - self._last_good > _LOST_S:
            raise OutsideError(f"the connection to pod `{self._followed.place.pod}` is lost: {told}")
        self._again_at = now + self._pause_s
        self._pause_s = min(2 * self._pause_s, _LONGEST_PAUSE_S)

    def _refuse_gone(self) -> None:
        """Raises if the pod is not there any more: its job and its files are gone with it."""
        place = self._followed.place
        try:
            pod = self._cluster.get("pods", place.pod, namespace=place.namespace)
        except OutsideError:
            return
        metadata = pod.get("metadata") if pod else None
        if not isinstance(metadata, Mapping) or metadata.get("uid") != self._followed.uid:
            raise PodGone(f"pod `{place.pod}` is gone, and the job with it")


class PodGone(RdlcError):
    """The pod that was followed does not exist any more."""


def verdict(seen: JobSeen) -> Ended:
    """How a job ended, by what Ray's job server says of it."""
    if seen.status == "STOPPED":
        return Ended(reason="stopped")
    return Ended(reason="exited", exit_status=0 if seen.status == "SUCCEEDED" else seen.exit_code or 1)


class ClusterJob:
    """A submitted job; the first stream is the head's, which says how it ended."""

    def __init__(
        self, streams: Sequence[PodStream], *, place: Container, job: str, cluster: ClusterPort, clock: Clock
    ) -> None:
        self._streams = streams
        self._clock = clock
        self._place = place
        self._job = job
        self._cluster = cluster
        self._stopped = False
        self.gone = ""

    @property
    def breaks(self) -> int:
        """How often a stream broke."""
        return sum(stream.breaks for stream in self._streams)

    @property
    def last_break(self) -> str:
        """What the client said when a stream broke last, for one of the streams."""
        return next((stream.last_break for stream in self._streams if stream.last_break), "")

    def poll(self) -> Ended | None:
        """How it ended; None while it runs."""
        try:
            for stream in self._streams:
                stream.pump()
        except PodGone as error:
            self.gone = error.message
            return Ended(reason="orphaned")
        seen = self._streams[0].ended
        if seen is None:
            return None
        for stream in self._streams[1:]:
            stream.drain()
        return Ended(reason="stopped") if self._stopped else verdict(seen)

    def stop(self) -> Ended:
        """Asks Ray to stop it, and waits until it has ended."""
        if end := self.poll():
            return end
        self._stopped = True
        command = ("python3", "-", self._job)
        self._cluster.exec(
            self._place, command, stdin=STOP_PROGRAM.encode("ascii"), stdout=_ignore, limit_s=_STOP_LIMIT_S
        )
        deadline = self._clock.monotonic() + _STOP_LIMIT_S
        while self._clock.monotonic() < deadline:
            if end := self.poll():
                return end
            self._clock.sleep(0.2)
        return Ended(reason="stopped")

    def close(self) -> None:
        """Lets go of all streams; the job goes on."""
        for stream in self._streams:
            stream.close()


def _ignore(data: bytes) -> None:
    """What it prints does not matter."""
