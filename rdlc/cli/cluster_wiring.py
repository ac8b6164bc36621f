"""The adapters of a run on a cluster as the ports that the operations name."""

from pathlib import Path

from rdlc.adapters.kubernetes import parcels
from rdlc.adapters.workspace import records
from rdlc.cli.wiring import LocalMachine
from rdlc.errors import RdlcError
from rdlc.operations.cluster_files import Parcel


class PodParcels:
    """The archives of one collection."""

    def __init__(self) -> None:
        self._parcels = parcels.Parcels()

    def open_parcel(self, path: Path) -> Parcel:
        """A new file for an archive."""
        return self._parcels.open_parcel(path)


class ClusterFiles:
    """Files of this machine that grow from what pods say."""

    def append(self, path: Path, data: bytes, *, offset: int) -> None:
        """Adds bytes to a file that has `offset` of them."""
        parcels.append(path, data, offset=offset)

    def size(self, path: Path) -> int:
        """How many bytes a file has; 0 if there is none."""
        return parcels.size(path)

    def hold_record(self, path: Path) -> records.RecordFolder:
        """Holds the folder of a record that exists."""
        if records.is_held(path):
            raise RdlcError("another rdlc is attached to this run", file=str(path))
        return records.RecordFolder(path)

    def new_parcels(self) -> PodParcels:
        """For the archives of one collection."""
        return PodParcels()


class LocalClusterMachine(ClusterFiles, LocalMachine):
    """This machine as one that runs on clusters."""
