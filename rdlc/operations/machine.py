"""What running needs of the machine: the ports of run and replay."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from rdlc.operations.follow import Job, Tail
from rdlc.operations.transport_proof import Evidence


class Record(Protocol):
    """The folder of a record that is being written."""

    path: Path

    def close(self, *, is_settled: bool) -> None:
        """Lets go of it; one that is not settled is closed by the next run."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Order:
    """A driver to start: its command and whole environment; `record` takes its log and status."""

    command: Sequence[str]
    environment: Mapping[str, str]
    record: Path
    scratch: Path
    token: str


class Machine(Evidence, Protocol):
    """This machine as one that runs recipes."""

    def shell(self) -> Mapping[str, str]:
        """The environment variables that rdlc itself was started with."""
        ...

    def python(self) -> str:
        """The interpreter that runs the recipe."""
        ...

    def missing_modules(self, *names: str) -> tuple[str, ...]:
        """Which modules that interpreter lacks."""
        ...

    def find_commit(self, folder: Path, *, tree: str, first: str) -> str | None:
        """A commit in which the recipe's folder has that tree."""
        ...

    def create_record(self, runs: Path, name: str, record_id: str) -> Record:
        """A fresh folder, held while the run lives."""
        ...

    def new_token(self) -> str:
        """A mark for the processes of one run."""
        ...

    def pack_code(self, root: Path, files: Mapping[str, str], archive: Path) -> None:
        """Packs the shipped files, refusing one that is not as listed."""
        ...

    def prepare_scratch(self, scratch: Path, archive: Path, *, token: str) -> Path:
        """Makes the scratch folder with the code unpacked in it; gives the code's folder."""
        ...

    def new_scratch(self) -> Path:
        """The path of a scratch folder that does not exist yet; short, for Ray's sockets."""
        ...

    def start(self, order: Order) -> Job:
        """Starts the driver, kept so that none of its processes outlives it."""
        ...

    def end_leftovers(self, token: str, scratch: Path) -> tuple[int, ...]:
        """Ends what a killed run left; gives the pids."""
        ...

    def tail(self, path: Path) -> Tail:
        """Follows a growing file."""
        ...

    def dead_records(self, runs: Path) -> Sequence[Path]:
        """Records that say they run while nobody holds them."""
        ...

    def list_records(self, runs: Path) -> Sequence[Path]:
        """The record folders, newest first."""
        ...

    def release_record(self, path: Path) -> None:
        """Takes away the hold that a killed run left on its record."""
        ...

    def find_archive(self, runs: Path, name: str, paths: Mapping[str, str]) -> Path | None:
        """The newest `shipped.tar` of a run of that name that holds exactly these files."""
        ...

    def hash_files(self, path: Path) -> dict[str, str]:
        """The files of a record, to sha256 in hex."""
        ...

    def package_index(self, index: str) -> str:
        """The address, with the machine's login if it has one, of a lock's index; "" is the installers' own."""
        ...

    def node_reports(self, record: Path) -> Sequence[Path]:
        """What each node said of setting up packages, in a record."""
        ...

    def worker_reports(self, record: Path) -> Sequence[Path]:
        """The workers' reports in a record, by rank."""
        ...

    def read_end(self, path: Path) -> str:
        """The last few KiB of a log as text; "" if there is none."""
        ...

    def describe_host(self) -> dict[str, str]:
        """Kernel, CPU model and memory of this machine."""
        ...

    def clock(self) -> str:
        """The time as `2026-11-30T12:00:00Z`, whatever `SOURCE_DATE_EPOCH` says."""
        ...

    def create(self, path: Path, data: bytes) -> bool:
        """Puts a new file there in one step; False, and nothing changed, if there is one."""
        ...

    def monotonic(self) -> float:
        """Seconds of a clock that never goes back."""
        ...

    def sleep(self, seconds: float) -> None:
        """Waits."""
        ...
