"""What was seen of a cluster, as files of a record: `cluster/before.json` and `cluster/after.json`."""

from pathlib import Path

from rdlc.core.kube.observed import SEEN_LIMIT_BYTES, ClusterSeen, read_seen, write_seen
from rdlc.core.kube.sightings import Sightings
from rdlc.errors import InputError
from rdlc.operations.workspace import Workspace

FOLDER = "cluster"
BEFORE, AFTER = "before", "after"


def keep_sighting(record: Path, moment: str, seen: ClusterSeen, workspace: Workspace) -> None:
    """Writes what was seen `before` or `after` the job into the record."""
    assert moment in {BEFORE, AFTER}
    workspace.write(_file(record, moment), write_seen(seen))


def read_sightings(record: Path, workspace: Workspace) -> Sightings:
    """What the record holds of its cluster; raises InputError for a file that is not as it was written."""
    return Sightings(before=_read(record, BEFORE, workspace), after=_read(record, AFTER, workspace))


def load_sightings(record: Path, workspace: Workspace) -> tuple[Sightings, str]:
    """What the record holds of its cluster, and what cannot be read in it, in words; "" if all can."""
    try:
        return read_sightings(record, workspace), ""
    except InputError as error:
        return Sightings(), f"what was seen of the cluster cannot be read: {error.file}: {error.message}"


def _read(record: Path, moment: str, workspace: Workspace) -> ClusterSeen | None:
    file = _file(record, moment)
    if not file.exists():
        return None
    data = workspace.read(file, limit_bytes=SEEN_LIMIT_BYTES, what="what was seen of the cluster")
    return read_seen(data, name=str(file))


def _file(record: Path, moment: str) -> Path:
    return record / FOLDER / f"{moment}.json"
