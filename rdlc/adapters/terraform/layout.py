"""The work copy on disk: exactly the files and variables of an order, and what rdlc adds."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

from rdlc.adapters.workspace.files import write_atomically
from rdlc.core.canonical import Json, canonical_bytes, digest_of_bytes
from rdlc.core.infra.order import InfraOrder
from rdlc.core.infra.tree import describe_refused
from rdlc.core.text import one_line
from rdlc.errors import InputError, RdlcError

BACKEND_FILE = "rdlc_backend.tf.json"
VARIABLES_FILE = "rdlc.tfvars.json"
PLAN_FILE = "rdlc.tfplan"
_READY_FILE = ".rdlc-ready"
_DATA_FOLDER = ".terraform"
# Terraform's last resort where it cannot write its state to its place.
_RESCUED_FILE = "errored.tfstate"


class WorkCopy:
    """A folder that Terraform works in; nothing else belongs there."""

    def __init__(self, folder: Path, *, kind: str) -> None:
        self.folder = folder
        self._kind = kind

    def is_ready(self) -> bool:
        """Whether the last successful init was for the same files and backend."""
        try:
            return (self.folder / _READY_FILE).read_text(encoding="ascii") == self._kind
        except (OSError, UnicodeDecodeError):
            return False

    def mark_ready(self) -> None:
        """Says that init succeeded."""
        write_atomically(self.folder / _READY_FILE, self._kind.encode("ascii"))

    def mark_unready(self) -> None:
        """Lets the next init run in any case."""
        (self.folder / _READY_FILE).unlink(missing_ok=True)


def lay_out(folder: Path, order: InfraOrder, *, backend: Mapping[str, Json], program: Path) -> WorkCopy:
    """Makes the folder hold the order and nothing from before; what init made for the same files stays.

    Raises InputError for a file that would change values behind the lock's back.
    """
    files = {**_checked(order.files), BACKEND_FILE: _json(backend), VARIABLES_FILE: _json(order.variables)}
    kind = _kind(files, program)
    copy = WorkCopy(folder, kind=kind)
    _refuse_rescued(folder)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _clear(folder, keeps_data=copy.is_ready())
        for path, data in files.items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
    except OSError as error:
        raise RdlcError(f"the work copy cannot be made: {error.strerror}", file=str(folder)) from error
    return copy


def _refuse_rescued(folder: Path) -> None:
    rescued = folder / _RESCUED_FILE
    if rescued.exists():
        raise RdlcError(
            "an earlier apply could not write its state to its place, and left it here",
            file=str(rescued),
            hint=f"`terraform -chdir={folder} state push {_RESCUED_FILE}`, then take that file away",
        )


def _checked(files: Mapping[str, bytes]) -> Mapping[str, bytes]:
    for path in files:
        parts = path.split("/")
        if "" in parts or ".." in parts or "." in parts or _DATA_FOLDER in parts:
            raise InputError(f"`{one_line(path)}` is no path of a Terraform file")
        if path in {BACKEND_FILE, VARIABLES_FILE, PLAN_FILE}:
            raise InputError(f"`{path}` is a name that rdlc uses itself")
        if problem := describe_refused(path):
            raise InputError(problem)
    return files


def _kind(files: Mapping[str, bytes], program: Path) -> str:
    """The digest of all that init looks at: not the variables."""
    looked_at = {path: digest_of_bytes(data) for path, data in files.items() if path != VARIABLES_FILE}
    return digest_of_bytes(canonical_bytes({"files": looked_at, "program": str(program)}))


def _clear(folder: Path, *, keeps_data: bool) -> None:
    for entry in folder.iterdir():
        if keeps_data and entry.name in {_DATA_FOLDER, _READY_FILE}:
            continue
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()


def _json(value: Mapping[str, Json]) -> bytes:
    return json.dumps(value, indent=1, sort_keys=True).encode("ascii") + b"\n"
