"""Which transport do these logs prove?"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from rdlc.core.transport.causes import Cause, find_causes
from rdlc.core.transport.scan import Scanner
from rdlc.core.transport.verdict import LogVerdict, judge_logs


class LogFiles(Protocol):
    """Logs, wherever they are."""

    def find(self, path: Path) -> Sequence[Path]:
        """The files that a path stands for, in a stated order."""
        ...

    def read_chunks(self, path: Path) -> Iterator[bytes]:
        """The bytes of a file, in pieces."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class TransportReading:
    """What the logs prove, why a fallback is likely to have happened, and how much was read."""

    verdict: LogVerdict
    causes: tuple[Cause, ...]
    num_files: int
    num_bytes: int


def read_transport(paths: Sequence[Path], files: LogFiles) -> TransportReading:
    """What the logs of one job prove: all the files are of the same job, each is read once."""
    found = list(dict.fromkeys(file for path in paths for file in files.find(path)))
    facts = []
    for path in found:
        scanner = Scanner(str(path) if str(path) != "-" else "stdin")
        for chunk in files.read_chunks(path):
            scanner.feed(chunk)
        facts.append(scanner.finish())
    verdict = judge_logs(facts)
    return TransportReading(
        verdict=verdict,
        causes=find_causes(verdict),
        num_files=len(found),
        num_bytes=sum(file.num_bytes for file in facts),
    )
