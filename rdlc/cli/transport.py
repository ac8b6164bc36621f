"""`rdlc transport`: which transport do these logs prove?"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from rdlc.adapters.log_files import find_log_files, read_log_chunks
from rdlc.cli.edge import Answer, Session, verb
from rdlc.cli.transport_data import reading_data
from rdlc.cli.transport_text import write_reading
from rdlc.operations.transport import TransportReading, read_transport

STATUSES = {
    "ok": "every rank is accounted for, and every communicator used a fast transport, or stayed in its node",
    "fallback": "data went over TCP",
    "mixed": "ranks, communicators or attempts used different transports",
    "unknown": "the logs do not prove which transport was used",
    "not-applicable": "there was no transport to judge: NCCL was not used, or one rank ran alone",
}


@verb("transport", statuses=STATUSES)
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path(path_type=Path, allow_dash=True))
def command(session: Session, *, paths: tuple[Path, ...]) -> Answer:
    """Say which transport NCCL's logs prove, for each communicator.

    Each PATH is a log, a folder of them, or `-` for standard input; all of them are taken as the logs of
    one job. The lines are those of NCCL 2.18 to 2.32 at NCCL_DEBUG=INFO, and of aws-ofi-nccl; prefixes of
    Ray, kubectl, docker, torchrun and mpirun are understood. Best are the files that NCCL_DEBUG_FILE
    writes, one per process: Ray's merged output leaves lines out.
    """
    reading = read_transport(paths, _LocalLogs())
    status = _status(reading)
    return Answer(
        status=status,
        exit_code=0 if status in {"ok", "not-applicable"} else 1,
        data=reading_data(reading),
        show=lambda console: write_reading(console, reading),
    )


class _LocalLogs:
    """The logs of this machine."""

    def find(self, path: Path) -> Sequence[Path]:
        """The file itself, or the files of a folder."""
        return find_log_files(path)

    def read_chunks(self, path: Path) -> Iterator[bytes]:
        """The bytes of a file, in pieces."""
        return read_log_chunks(path)


def _status(reading: TransportReading) -> str:
    verdict = reading.verdict
    return verdict.verdict if verdict.is_applicable else "not-applicable"
