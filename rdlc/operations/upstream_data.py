"""The weights and text of a lock against where they came from: moved, gone, or no longer what was locked."""

from dataclasses import dataclass, replace

from rdlc.core.data.files import LockedFiles
from rdlc.core.data.origin import DATASET, MODEL, Origin
from rdlc.core.data.request import dataset_origin
from rdlc.core.sections import DataSection
from rdlc.errors import OutsideError, RdlcError
from rdlc.operations.data_source import DataSource


@dataclass(frozen=True, kw_only=True, slots=True)
class DataState:
    """Weights or text of a lock against their origin.

    `state` is `current`, `moved` (the revision or the listing), `gone`, `pinned` (a commit was asked for)
    or `not-checked`. `changed` counts the locked files that differ now; `reason` says what could not be found out.
    """

    what: str
    origin: str
    state: str
    locked: str
    now: str = ""
    changed: int = 0
    reason: str = ""


def remote_parts(section: DataSection) -> tuple[tuple[str, Origin, LockedFiles], ...]:
    """What of the data came from elsewhere: `model` or `dataset`, its origin, its files."""
    parts = (
        (MODEL, section.model_origin, section.model),
        (DATASET, dataset_origin(section.requested), section.dataset),
    )
    return tuple(
        (what, origin, files)
        for what, origin, files in parts
        if origin is not None and files is not None and origin.kind != "folder"
    )


def look_at_data(section: DataSection, source: DataSource) -> tuple[DataState, ...]:
    """How each part stands; one whose origin can't be asked is `not-checked`."""
    return tuple(_look(what, origin, files, source) for what, origin, files in remote_parts(section))


def _look(what: str, origin: Origin, files: LockedFiles, source: DataSource) -> DataState:
    known = DataState(what=what, origin=origin.describe(), state="not-checked", locked=files.commit)
    try:
        if origin.is_pinned:
            return replace(known, state="gone" if source.find_missing(origin, files, what=what) else "pinned")
        now = source.find_remote(origin, what=what)
    except OutsideError as error:
        return replace(known, reason=error.message)
    except RdlcError as error:
        return replace(known, state="gone", reason=error.message)
    names = files.files.keys() | now.files.keys()
    changed = sum(files.files.get(name) != now.files.get(name) for name in names)
    is_moved = changed > 0 or files.commit != now.commit
    return replace(known, state="moved" if is_moved else "current", now=now.commit, changed=changed)
