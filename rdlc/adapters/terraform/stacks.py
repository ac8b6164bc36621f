"""The stacks of a project as folders, each held by one process at a time."""

import datetime
import fcntl
import getpass
import json
import os
import re
import secrets
import shutil
import socket
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from rdlc.adapters.ray.processes import Process, marked, read_process, sweep
from rdlc.adapters.terraform.applied import keep_order, read_order
from rdlc.adapters.terraform.environment import MARK, scrub
from rdlc.adapters.terraform.layout import PLAN_FILE, lay_out
from rdlc.adapters.terraform.work import Seat, TerraformWork
from rdlc.adapters.workspace.files import read_bounded, write_atomically
from rdlc.core.infra.order import InfraOrder
from rdlc.core.infra.stack import LIMIT_BYTES, StackKey, StackRecord, read_stack, write_stack
from rdlc.core.infra.state_address import backend_document
from rdlc.core.text import one_line
from rdlc.errors import InputError, RdlcError

FOLDER = "stacks"
RECORD_FILE = "stack.json"
STATE_FILE = "terraform.tfstate"
_HOLDER_FILE = "holder"
_WORK_FOLDER = "work"
_HOLDER_LIMIT = 4096
_SWEEP_LIMIT_S = 10.0
_ATTEMPTS = 10
_PAUSE_S = 0.1


class StackFolders:
    """The folder `stacks/` of a project; `program` is the Terraform that works in it."""

    def __init__(self, project: Path, *, program: Path, shell: Mapping[str, str]) -> None:
        self._folder = project.absolute() / FOLDER
        self._program = program
        self._shell = shell

    def hold(self, key: StackKey, *, purpose: str) -> "HeldStack":
        """Takes the stack, or raises RdlcError that tells who has it."""
        path = self._folder / key.name / key.account / key.region
        for _ in range(_ATTEMPTS):
            handle = self._open_holder(path)
            try:
                _lock(handle, key)
                if _is_still(handle, path / _HOLDER_FILE):
                    return HeldStack(path, handle, key=key, purpose=purpose, program=self._program, shell=self._shell)
            except BaseException:
                os.close(handle)
                raise
            # Whoever had it took the empty folder away.
            os.close(handle)
        raise RdlcError("the stack's folder is made and taken away again all the time", file=str(path))

    def _open_holder(self, path: Path) -> int:
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            # State holds values that are nobody else's business: git does not see them.
            write_atomically(self._folder / ".gitignore", b"*\n")
            return os.open(path / _HOLDER_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise RdlcError(f"the stack's folder cannot be used: {error.strerror}", file=str(path)) from error

    def find(self, given: str) -> StackKey:
        """The one stack of that name, key or folder; raises InputError for none or several."""
        return find_stack(self._folder.parent, given)

    def now(self) -> str:
        """The time as `2026-11-30T12:00:00Z`."""
        return _now()


def find_stack(project: Path, given: str) -> StackKey:
    """The one stack of a project of that name, key or folder; raises InputError for none or several."""
    keys = list_stacks(project)
    parts = given.removeprefix("./").removeprefix(f"{FOLDER}/").strip("/").split("/")
    found = [key for key in keys if [key.name, key.account, key.region][: len(parts)] == parts]
    if len(found) > 1:
        listed = ", ".join(f"`{key}`" for key in found)
        raise InputError(f"`{one_line(given)}` names {len(found)} stacks: {listed}", hint="give more of the key")
    if not found:
        listed = ", ".join(f"`{key}`" for key in keys) or "there is none"
        raise InputError(f"there is no stack `{one_line(given)}`", hint=f"stacks here: {listed}")
    return found[0]


def list_stacks(project: Path) -> tuple[StackKey, ...]:
    """The keys of all stacks of a project that have a record, sorted."""
    folder = project.absolute() / FOLDER
    places = (path.parent.relative_to(folder).parts for path in sorted(folder.glob(f"*/*/*/{RECORD_FILE}")))
    return tuple(StackKey(name=name, account=account, region=region) for name, account, region in places)


class HeldStack:
    """One stack's folder, held by this process until it is closed, and by a Terraform that outlives it."""

    def __init__(
        self, path: Path, handle: int, *, key: StackKey, purpose: str, program: Path, shell: Mapping[str, str]
    ) -> None:
        self.path = path
        self._handle = handle
        self._key = key
        self._program = program
        self._shell = shell
        self._token = secrets.token_hex(16)
        _write_holder(handle, purpose=purpose, token=self._token)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        # A plan holds every value, sensitive ones too, and is of no use any more.
        (self.path / _WORK_FOLDER / PLAN_FILE).unlink(missing_ok=True)
        if not (self.path / RECORD_FILE).exists() and not (self.path / STATE_FILE).exists():
            self._remove_empty()
        os.ftruncate(self._handle, 0)
        os.close(self._handle)

    def read(self) -> StackRecord | None:
        """Its record; None for a stack that was never applied."""
        path = self.path / RECORD_FILE
        if not path.exists():
            return None
        return read_stack(read_bounded(path, limit_bytes=LIMIT_BYTES, what="the stack's record"), name=str(path))

    def write(self, record: StackRecord) -> None:
        """Replaces the record in one step."""
        write_atomically(self.path / RECORD_FILE, write_stack(record))

    def keep_order(self, order: InfraOrder) -> None:
        """Keeps what is about to be applied, for the day on which it is destroyed."""
        keep_order(self.path / "applied", order)

    def read_order(self, record: StackRecord) -> InfraOrder:
        """What was applied last; raises InputError if it was changed since."""
        return read_order(self.path / "applied", record)

    def open(self, order: InfraOrder, *, state: str, is_stand_in: bool) -> TerraformWork:
        """Lays the order out as a clean work copy."""
        backend = backend_document(state, self._key, local_path=str(self.path / STATE_FILE), is_stand_in=is_stand_in)
        copy = lay_out(self.path / _WORK_FOLDER, order, backend=backend, program=self._program)
        environment = scrub(self._shell, region=order.region, token=self._token).values
        seat = Seat(program=self._program, environment=environment, logs=self.path / "log", hold=self._handle)
        return TerraformWork(copy, seat)

    def _remove_empty(self) -> None:
        """A stack of which nothing was ever made leaves nothing."""
        shutil.rmtree(self.path, ignore_errors=True)
        for folder in (self.path.parent, self.path.parent.parent):
            try:
                folder.rmdir()
            except OSError:
                return


def _is_still(handle: int, path: Path) -> bool:
    """Whether the file that is locked is the one that others would find."""
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False


def _lock(handle: int, key: StackKey) -> None:
    """Takes the lock; raises RdlcError that tells who has it."""
    holder: Mapping[str, object] = {}
    for _ in range(_ATTEMPTS):
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = _read_holder(handle)
        else:
            return
        if _is_alive(holder) or _has_terraform(holder):
            break
        # Its rdlc and Terraform are dead, or just let go: what a provider still holds is ended here.
        _end_widows(holder)
        time.sleep(_PAUSE_S)
    raise RdlcError(f"stack `{key}` is held {_describe(holder)}", hint="wait until that has ended")


def _write_holder(handle: int, *, purpose: str, token: str) -> None:
    own = read_process(os.getpid())
    document = {
        "purpose": purpose,
        "pid": os.getpid(),
        "start": own.start if own else 0,
        "user": _user(),
        "host": socket.gethostname(),
        "since": _now(),
        "token": token,
    }
    os.ftruncate(handle, 0)
    os.pwrite(handle, json.dumps(document).encode("ascii"), 0)


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, ImportError, OSError):  # a container's user that no file names
        return f"user {os.getuid()}"


def _read_holder(handle: int) -> Mapping[str, object]:
    try:
        document = json.loads(os.pread(handle, _HOLDER_LIMIT, 0))
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def _is_alive(holder: Mapping[str, object]) -> bool:
    pid, start = holder.get("pid"), holder.get("start")
    if not isinstance(pid, int):
        return False
    process = read_process(pid)
    return process is not None and process.start == start


def _has_terraform(holder: Mapping[str, object]) -> bool:
    """Whether a Terraform that a killed rdlc left is still there: the leader of the session made for it."""
    return any(_leads_session(process.pid) for process in _marked(holder))


def _leads_session(pid: int) -> bool:
    try:
        return os.getsid(pid) == pid
    except ProcessLookupError:
        return False


def _end_widows(holder: Mapping[str, object]) -> None:
    sweep(lambda: _marked(holder), limit_s=_SWEEP_LIMIT_S)


def _marked(holder: Mapping[str, object]) -> tuple[Process, ...]:
    token = holder.get("token")
    is_token = isinstance(token, str) and re.fullmatch("[0-9a-f]{32}", token)
    return marked(MARK, str(token)) if is_token else ()


def _describe(holder: Mapping[str, object]) -> str:
    if not holder:
        return "by another process"
    who = f"by `{holder.get('purpose')}` of {holder.get('user')} on {holder.get('host')}"
    text = f"{who}, process {holder.get('pid')}, since {holder.get('since')}"
    if not _is_alive(holder) and _has_terraform(holder):
        text = f"{text}; that rdlc was killed, and its Terraform is still ending in order"
    return one_line(text, limit=400)


def _now() -> str:
    return datetime.datetime.now(tz=datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
