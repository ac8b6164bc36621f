"""The weights and the text of a run: as the lock says or not, and where this machine has them."""

from dataclasses import replace
from pathlib import Path

from rdlc.core.data.files import DataFolders, FetchedFolder, LockedFiles
from rdlc.core.data.origin import DATASET, MODEL, Origin
from rdlc.core.data.request import dataset_origin
from rdlc.core.sections import DataSection
from rdlc.errors import RdlcError
from rdlc.operations.data_source import DataSource


def look_at_data(locked: DataSection, *, project: Path, source: DataSource | None) -> DataSection:
    """The section as it is on this machine: folders of the project are read again.

    What came from elsewhere is verified when it is fetched, and generated data has no files: its batches
    are compared.
    """
    model, dataset = locked.model, locked.dataset
    if _is_folder(locked.model_origin):
        model = _source(source).find_files(_origin(locked.model_origin), what=MODEL, project=project)
    if _is_folder(dataset_origin(locked.requested)):
        dataset = _source(source).find_files(_origin(dataset_origin(locked.requested)), what=DATASET, project=project)
    return replace(locked, model=model, dataset=dataset)


def fetch_data(section: DataSection, *, project: Path, source: DataSource | None) -> DataFolders:
    """The folders with the files of a section, fetched where they are not here yet, each file verified."""
    return DataFolders(
        model=_fetch(section.model_origin, section.model, MODEL, project, source),
        dataset=_fetch(dataset_origin(section.requested), section.dataset, DATASET, project, source),
    )


def _fetch(
    origin: Origin | None, locked: LockedFiles | None, what: str, project: Path, source: DataSource | None
) -> FetchedFolder | None:
    if origin is None or locked is None:
        return None
    return _source(source).fetch(origin, locked, what=what, project=project)


def _is_folder(origin: Origin | None) -> bool:
    return origin is not None and origin.kind == "folder"


def _origin(origin: Origin | None) -> Origin:
    assert origin is not None
    return origin


def _source(source: DataSource | None) -> DataSource:
    if source is None:
        raise RdlcError("this lock has files to learn from, and nothing was given that finds them")
    return source
