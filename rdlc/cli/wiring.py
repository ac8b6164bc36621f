"""The adapters as the ports that the operations name."""

import datetime
import os
import secrets
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from rdlc.adapters import python_environment
from rdlc.adapters.log_files import find_log_files
from rdlc.adapters.packages.default_index import default_index
from rdlc.adapters.ray import job
from rdlc.adapters.ray.scratch import take_scratch
from rdlc.adapters.ray.tail import LineTail
from rdlc.adapters.workspace import code, files, git, records
from rdlc.core.packages.base import Base
from rdlc.core.provenance import GitState
from rdlc.core.sections import EnvironmentSection
from rdlc.errors import InputError
from rdlc.operations.machine import Order, Record


class LocalWorkspace:
    """This machine: its files, its git, its Python, its clock."""

    def read(self, path: Path, *, limit_bytes: int, what: str) -> bytes:
        """The bytes of a regular file within a bound."""
        return files.read_bounded(path, limit_bytes=limit_bytes, what=what)

    def write(self, path: Path, data: bytes) -> bool:
        """Replaces a file in one step; False if nothing changed."""
        return files.write_atomically(path, data)

    def find_project(self, *starts: Path) -> Path | None:
        """The project folder around the first start that has one."""
        return files.find_project(*starts)

    def list_code(self, root: Path, package: str) -> dict[str, str]:
        """Shipped path to sha256 in hex."""
        return code.list_code(root, package)

    def read_git_state(self, folder: Path, paths: tuple[str, ...], *, root: Path) -> GitState | None:
        """The git state of the shipped files."""
        return git.read_git_state(folder, paths, root=root)

    def read_environment(self, *, threads_per_worker: int) -> EnvironmentSection:
        """The Python that runs rdlc, which is the one that runs the recipe."""
        return python_environment.read_environment(threads_per_worker=threads_per_worker)

    def read_base(self) -> Base:
        """That Python as the base of extra packages."""
        return python_environment.read_base()

    def base_files(self) -> Mapping[str, str]:
        """Path below `site-packages` to the distribution that owns the file."""
        return python_environment.read_base_files()

    def hash_files(self, path: Path) -> dict[str, str]:
        """The files of a folder, such as a record, to sha256 in hex."""
        return records.hash_files(path)

    def nccl_logs(self, record: Path) -> Sequence[Path]:
        """What NCCL wrote, one file per process."""
        return sorted(record.glob("nccl/*.log"))

    def read_chunks(self, path: Path) -> Iterator[bytes]:
        """The bytes of a file, in pieces."""
        return files.read_chunks(path)

    def network_reports(self, record: Path) -> Sequence[Path]:
        """What each rank counted."""
        return sorted(record.glob("workers/*/network.json"))

    def editable_distributions(self) -> tuple[str, ...]:
        """Distributions whose files a version does not pin."""
        return python_environment.editable_distributions()

    def now(self) -> str:
        """The time in UTC; `SOURCE_DATE_EPOCH` if that is set."""
        epoch = os.environ.get("SOURCE_DATE_EPOCH")
        moment = datetime.datetime.now(tz=datetime.UTC) if not epoch else _moment(epoch)
        return _text(moment)

    def list_records(self, runs: Path) -> Sequence[Path]:
        """The record folders, newest first."""
        return records.list_records(runs)


def _text(moment: datetime.datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _moment(epoch: str) -> datetime.datetime:
    try:
        return datetime.datetime.fromtimestamp(int(epoch), tz=datetime.UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise InputError(f"`SOURCE_DATE_EPOCH` must be seconds since 1970, not `{epoch}`") from error


class LocalMachine(LocalWorkspace):
    """This machine as one that runs recipes."""

    def shell(self) -> Mapping[str, str]:
        """The environment variables that rdlc itself was started with."""
        return dict(os.environ)

    def python(self) -> str:
        """The interpreter that runs rdlc, and so the recipe."""
        return sys.executable

    def missing_modules(self, *names: str) -> tuple[str, ...]:
        """Which modules that interpreter lacks."""
        return python_environment.missing_modules(*names)

    def find_commit(self, folder: Path, *, tree: str, first: str) -> str | None:
        """A commit in which the recipe's folder has that tree."""
        return git.find_commit(folder, tree=tree, first=first)

    def create_record(self, runs: Path, name: str, record_id: str) -> records.RecordFolder:
        """A fresh folder, held while the run lives."""
        return records.create_record(runs, name, record_id)

    def new_token(self) -> str:
        """A mark for the processes of one run."""
        return job.new_token()

    def pack_code(self, root: Path, paths: Mapping[str, str], archive: Path) -> None:
        """Packs the shipped files, refusing one that is not as listed."""
        code.pack_code(root, paths, archive)

    def new_scratch(self) -> Path:
        """The path of a scratch folder that does not exist yet."""
        # Not TMPDIR: below it Ray's socket paths can pass the 107 bytes that Linux allows.
        return Path("/tmp") / f"rdlc-{secrets.token_hex(4)}"  # noqa: S108 - made with mode 0700 and marked

    def prepare_scratch(self, scratch: Path, archive: Path, *, token: str) -> Path:
        """Makes the scratch folder with the code unpacked in it; gives the code's folder."""
        take_scratch(scratch, token=token)
        folder = scratch / "code"
        folder.mkdir()
        code.unpack_code(archive, folder)
        return folder

    def start(self, order: Order) -> job.RunningJob:
        """Starts the driver, kept so that none of its processes outlives it."""
        return job.start_job(
            job.LocalJob(
                command=tuple(order.command),
                environment=order.environment,
                working_directory=order.record.resolve(),
                log=order.record.resolve() / "driver.log",
                status=order.record.resolve() / "driver.json",
                scratch=order.scratch,
                token=order.token,
            )
        )

    def end_leftovers(self, token: str, scratch: Path) -> tuple[int, ...]:
        """Ends what a killed run left; gives the pids."""
        return job.end_leftovers(token, scratch=scratch)

    def tail(self, path: Path) -> LineTail:
        """Follows a growing file."""
        return LineTail(path)

    def dead_records(self, runs: Path) -> Sequence[Path]:
        """Records that say they run while nobody holds them."""
        return records.dead_records(runs)

    def release_record(self, path: Path) -> None:
        """Takes away the hold that a killed run left on its record."""
        records.release_record(path)

    def find_archive(self, runs: Path, name: str, paths: Mapping[str, str]) -> Path | None:
        """The newest `shipped.tar` of a run of that name that holds exactly these files."""
        return records.find_archive(runs, name, paths)

    def package_index(self, index: str) -> str:
        """The address, with the machine's login if it has one, of a lock's index; "" is the installers' own."""
        default = default_index()
        if default is not None and index in {"", default.url}:
            return default.url_with_login
        return index

    def node_reports(self, record: Path) -> Sequence[Path]:
        """What each node said of setting up packages."""
        return sorted(record.glob("packages/*.json"))

    def worker_reports(self, record: Path) -> Sequence[Path]:
        """The workers' reports in a record."""
        return sorted(record.glob("workers/*/worker.json"))

    def read_end(self, path: Path) -> str:
        """The last few KiB of a log as text; "" if there is none."""
        return files.read_end(path)

    def describe_host(self) -> dict[str, str]:
        """Kernel and CPU model of this machine."""
        return python_environment.describe_host()

    def clock(self) -> str:
        """The time as `2026-11-30T12:00:00Z`, whatever `SOURCE_DATE_EPOCH` says."""
        return _text(datetime.datetime.now(tz=datetime.UTC))

    def create(self, path: Path, data: bytes) -> bool:
        """Puts a new file there in one step; False, and nothing changed, if there is one."""
        return files.create_atomically(path, data)

    def monotonic(self) -> float:
        """Seconds of a clock that never goes back."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Waits."""
        time.sleep(seconds)


class LocalCollector(LocalWorkspace):
    """This machine as one that makes records of logs."""

    def list_logs(self, given: Sequence[Path]) -> Sequence[tuple[str, Path]]:
        """The files that are given or lie below what is given, with a name each."""
        return [
            (str(file.relative_to(path)) if file != path else path.name, file)
            for path in given
            for file in find_log_files(path)
        ]

    def create_record(self, runs: Path, name: str, record_id: str) -> records.RecordFolder:
        """A fresh folder, held until it is closed."""
        return records.create_record(runs, name, record_id)

    def discard(self, record: Record) -> None:
        """Takes the folder away again."""
        records.discard_record(record.path)
        record.close(is_settled=False)

    @contextmanager
    def writing(self, path: Path) -> Iterator[Callable[[bytes], object]]:
        """A new file, by the function that adds bytes to it."""
        path.parent.mkdir(exist_ok=True)
        with path.open("xb") as file:
            yield file.write

    def clock(self) -> str:
        """The time as `2026-11-30T12:00:00Z`, whatever `SOURCE_DATE_EPOCH` says."""
        return _text(datetime.datetime.now(tz=datetime.UTC))


class LocalArchive(LocalWorkspace):
    """This machine as one that keeps records."""

    def list_archive(self, archive: Path) -> Mapping[str, str]:
        """The files in a `shipped.tar`, to sha256 in hex."""
        return code.list_archive(archive)

    def is_held(self, path: Path) -> bool:
        """Whether the run that writes this record is alive."""
        return records.is_held(path)
