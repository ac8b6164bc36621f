"""A record, without a lock, of a run that rdlc did not start: what its logs say of the transport."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Protocol

from rdlc.core.lockfile import Finding
from rdlc.core.record import RunRecord, write_record
from rdlc.core.transport.excerpt import Excerpt
from rdlc.core.transport.judged import Expectation
from rdlc.core.transport.report import TransportReport
from rdlc.errors import RdlcError
from rdlc.operations.machine import Record
from rdlc.operations.reporting import Reporter
from rdlc.operations.transport_proof import Evidence, prove_logs

# A lock would say which transport is due.
NOTHING_DUE = Expectation(transport="", origin="there is no lock")
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9._-]+")
_LIMIT_BYTES = 1 << 30
# A record names the mark of its processes; here there are none.
NO_PROCESSES = "none"


class Collector(Evidence, Protocol):
    """What collecting needs of the machine."""

    def list_logs(self, given: Sequence[Path]) -> Sequence[tuple[str, Path]]:
        """The files that are given or lie below what is given, with a name each; links are not followed."""
        ...

    def create_record(self, runs: Path, name: str, record_id: str) -> Record:
        """A fresh folder, held until it is closed."""
        ...

    def discard(self, record: Record) -> None:
        """Takes the folder away again."""
        ...

    def writing(self, path: Path) -> AbstractContextManager[Callable[[bytes], object]]:
        """A new file, by the function that adds bytes to it."""
        ...

    def clock(self) -> str:
        """The time as `2026-11-30T12:00:00Z`."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class CollectRequest:
    """What `rdlc collect` was asked: the logs of one run, its name, and the folder of all records."""

    given: tuple[Path, ...]
    name: str
    runs: Path
    tool: str


@dataclass(frozen=True, kw_only=True, slots=True)
class CollectedLogs:
    """The record that was made, and from how many of how many files."""

    record: RunRecord
    report: TransportReport
    path: Path
    num_files: int
    num_kept: int


def collect_logs(request: CollectRequest, *, collector: Collector, reporter: Reporter) -> CollectedLogs:
    """Keeps what the logs say of NCCL in a record, and judges it; raises RdlcError if they say nothing of it."""
    logs = collector.list_logs(request.given)
    if not logs:
        raise RdlcError("there is no file to read", file=str(request.given[0]))
    started = collector.clock()
    stamp = started.replace("-", "").replace(":", "")
    folder = collector.create_record(request.runs, request.name, f"{stamp}-collected")
    try:
        observed = dict(_keep(logs, folder.path, collector, reporter))
        if not observed:
            raise RdlcError(
                f"none of {len(logs)} {'file' if len(logs) == 1 else 'files'} holds a line of NCCL or gloo",
                file=str(request.given[0]),
                hint="run with `NCCL_DEBUG=INFO` and `NCCL_DEBUG_FILE=/tmp/nccl.%h.%p.log`, and collect those files",
            )
        report = prove_logs(folder.path, NOTHING_DUE, collector)
        record = RunRecord(
            id=folder.path.name,
            kind="collect",
            name=request.name,
            lock_id="",
            tool=request.tool,
            status="collected",
            claim="recorded",
            level="recorded",
            started=started,
            ended=collector.clock(),
            token=NO_PROCESSES,
            accepted={},
            observed=observed,
            transport=report,
            files=collector.hash_files(folder.path),
        )
        collector.write(folder.path / "record.json", write_record(record))
    except BaseException:
        collector.discard(folder)
        raise
    folder.close(is_settled=True)
    return CollectedLogs(record=record, report=report, path=folder.path, num_files=len(logs), num_kept=len(observed))


def check_collected(record: RunRecord, path: Path, files: Evidence) -> list[Finding]:
    """What a collected record says of its transport and the lines in it do not."""
    report = prove_logs(path, NOTHING_DUE, files)
    if record.transport == report:
        return []
    message = "the lines of NCCL in it give another judgement of the transport than it holds"
    return [Finding(section="transport", file=str(path / "nccl"), message=message)]


def _keep(
    logs: Sequence[tuple[str, Path]], record: Path, collector: Collector, reporter: Reporter
) -> Iterator[tuple[str, str]]:
    """Writes what is kept of each log; gives its name and what it was."""
    room = _LIMIT_BYTES
    for number, (name, path) in enumerate(logs, start=1):
        target = record / "nccl" / f"{number:04d}-{_NOT_IN_A_NAME.sub('-', name)[-100:]}.log"
        excerpt, kept_bytes = Excerpt(name=str(path)), 0
        pieces = _excerpts(excerpt, collector.read_chunks(path))
        first = next(pieces, b"")
        if first:
            with collector.writing(target) as write:
                for piece in chain((first,), pieces):
                    kept_bytes += len(piece)
                    if kept_bytes > room:
                        raise RdlcError(
                            f"more than {_LIMIT_BYTES >> 30} GiB speak of NCCL",
                            file=str(path),
                            hint=f"`rdlc transport {path}` judges it without keeping it",
                        )
                    write(piece)
            room -= kept_bytes
            yield (
                f"log {target.name}",
                f"{excerpt.num_kept} of {excerpt.num_lines} lines of {name}, sha256 {excerpt.sha256}",
            )
        if number % 50 == 0:
            reporter.note(f"{number} of {len(logs)} files read")


def _excerpts(excerpt: Excerpt, chunks: Iterator[bytes]) -> Iterator[bytes]:
    """What is to be kept, in pieces that are not empty."""
    for chunk in chunks:
        yield from filter(None, excerpt.feed(chunk))
    yield from filter(None, excerpt.finish())
