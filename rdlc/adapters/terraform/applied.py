"""What was applied to a stack, kept beside it: it can be destroyed without its lock and its sources.

Each order has a folder named by its digest. The stack's record says which one counts, so that a kill at any
moment leaves the old order or the new one.
"""

import json
import shutil
from pathlib import Path

from rdlc.adapters.workspace.files import read_bounded
from rdlc.core.canonical import Json
from rdlc.core.infra.order import InfraOrder
from rdlc.core.infra.stack import LIMIT_BYTES, StackRecord
from rdlc.core.text import one_line
from rdlc.errors import InputError, RdlcError

_FILES = "files"
_ORDER_FILE = "order.json"
_FILE_LIMIT = 16 << 20
_KEPT = 2


def keep_order(folder: Path, order: InfraOrder) -> None:
    """Puts the order there in one step; the one before stays, older ones go."""
    place = folder / _hexadecimal(order.digest)
    new = folder / f"{place.name}.new"
    document = {"files": sorted(order.files), "variables": dict(order.variables)}
    try:
        _remove_old(folder, but=place.name)
        shutil.rmtree(new, ignore_errors=True)
        for path, data in order.files.items():
            target = new / _FILES / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        new.mkdir(parents=True, exist_ok=True)
        (new / _ORDER_FILE).write_text(json.dumps(document, indent=1, sort_keys=True), encoding="ascii")
        shutil.rmtree(place, ignore_errors=True)
        new.rename(place)
    except OSError as error:
        raise RdlcError(f"cannot be written: {error.strerror}", file=str(place)) from error


def read_order(folder: Path, record: StackRecord) -> InfraOrder:
    """The order that the record names; raises InputError if it was changed since."""
    place = folder / _hexadecimal(record.order_digest)
    paths, variables = _read_document(place / _ORDER_FILE)
    order = InfraOrder(
        name=record.key.name,
        region=record.key.region,
        lock_id=record.lock_id,
        infra_digest=record.infra_digest,
        files={path: _read_file(place / _FILES, path) for path in paths},
        variables=variables,
        deviations=record.deviations,
    )
    if order.digest != record.order_digest:
        raise InputError("what was applied was changed since: it does not fit the stack's record", file=str(place))
    return order


def _read_document(path: Path) -> tuple[tuple[str, ...], dict[str, Json]]:
    data = read_bounded(path, limit_bytes=LIMIT_BYTES, what="what was applied")
    try:
        document = json.loads(data, parse_float=str, parse_constant=str)
    except (ValueError, RecursionError) as error:
        raise InputError("what was applied is not JSON", file=str(path)) from error
    is_mapping = isinstance(document, dict)
    files, variables = (document.get("files"), document.get("variables")) if is_mapping else (None, None)
    if not isinstance(files, list) or not isinstance(variables, dict):
        raise InputError("is not what rdlc wrote when it applied", file=str(path))
    return tuple(str(name) for name in files), variables


def _read_file(folder: Path, path: str) -> bytes:
    parts = path.split("/")
    if ".." in parts or "" in parts:
        raise InputError(f"`{one_line(path)}` is no path below the folder", file=str(folder))
    return read_bounded(folder / path, limit_bytes=_FILE_LIMIT, what="an applied file")


def _hexadecimal(digest: str) -> str:
    return digest.removeprefix("sha256:")


def _remove_old(folder: Path, *, but: str) -> None:
    if not folder.is_dir():
        return
    by_age = sorted(folder.iterdir(), key=lambda path: (path.stat().st_mtime, path.name))
    others = [path for path in by_age if path.name != but]
    for path in others[: max(0, len(others) - _KEPT + 1)]:
        shutil.rmtree(path, ignore_errors=True)
