"""The code into every pod of a run, and the run's files out of every pod, each compared by sha256."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from rdlc.core.canonical import digest_of_bytes
from rdlc.core.kube.pod_folder import FETCH_PROGRAM, KEEP_PROGRAM, RECEIVE_PROGRAM, folder
from rdlc.core.text import one_line
from rdlc.errors import OutsideError, RdlcError
from rdlc.operations.cluster_ports import ClusterPort, Container

_ANSWER_LIMIT_BYTES = 8 << 20
_PUSH_LIMIT_S = 600.0
_FETCH_LIMIT_S = 3600.0
_TRIES = 3


class Parcels(Protocol):
    """Archives that came out of pods."""

    def open_parcel(self, path: Path) -> "Parcel":
        """A new file for an archive."""
        ...


class Parcel(Protocol):
    """An archive that is being written, then unpacked."""

    def write(self, data: bytes) -> object:
        """Adds bytes."""
        ...

    def unpack(self, into: Path, *, other: Path) -> tuple[str, ...]:
        """Puts its files below a folder, comparing each with the archive's listing; gives their names.

        A file that another pod brought before, with other contents, goes below `other` instead. Raises
        RdlcError for an archive that is cut, or whose files are not as listed.
        """
        ...

    def close(self) -> None:
        """Takes the archive away."""
        ...


def push_code(
    places: Sequence[Container],
    run_name: str,
    archive: bytes,
    files: Mapping[str, str],
    *,
    cluster: ClusterPort,
) -> None:
    """Puts the code into every pod; raises RdlcError if what lies there is not exactly what was sent."""
    locked = digest_of_bytes(archive).removeprefix("sha256:")
    for place in places:
        said = _ask(cluster, place, ("python3", "-c", RECEIVE_PROGRAM, folder(run_name)), archive)
        if said.get("archive") != locked:
            raise RdlcError(f"the code did not come whole into pod `{place.pod}`")
        there = said.get("files")
        if not isinstance(there, Mapping) or there != files:
            names = _different(there if isinstance(there, Mapping) else {}, files)
            raise RdlcError(f"the code in pod `{place.pod}` is not the one that was sent: {names}")


def push_file(place: Container, path: str, data: bytes, *, cluster: ClusterPort) -> None:
    """Puts a file into a pod; raises RdlcError if it did not come whole."""
    said = bytearray()
    end = cluster.exec(
        place, ("python3", "-c", KEEP_PROGRAM, path), stdin=data, stdout=said.extend, limit_s=_PUSH_LIMIT_S
    )
    if end.exit_code != 0 or f"sha256:{said.decode('ascii', 'replace').strip()}" != digest_of_bytes(data):
        raise RdlcError(f"`{path}` did not come whole into pod `{place.pod}`: {one_line(end.told.strip(), limit=300)}")


def fetch_files(
    places: Sequence[Container], run_name: str, record: Path, *, cluster: ClusterPort, parcels: Parcels
) -> dict[str, str]:
    """Brings every pod's files into the record; pod to why it gave none, for those that did not."""
    lost = {}
    for place in places:
        try:
            _fetch(place, run_name, record, cluster, parcels)
        except (OutsideError, RdlcError) as error:
            lost[place.pod] = error.message
    return lost


def _fetch(place: Container, run_name: str, record: Path, cluster: ClusterPort, parcels: Parcels) -> None:
    command = ("python3", "-", folder(run_name))
    trouble: RdlcError | None = None
    for _ in range(_TRIES):
        parcel = parcels.open_parcel(record / f".{place.pod}.tar")
        try:
            end = cluster.exec(
                place, command, stdin=FETCH_PROGRAM.encode("ascii"), stdout=parcel.write, limit_s=_FETCH_LIMIT_S
            )
            if end.exit_code == 0:
                parcel.unpack(record, other=record / "pods" / place.pod)
                return
            trouble = RdlcError(f"its files did not come: {one_line(end.told.strip(), limit=300)}")
        except RdlcError as error:
            trouble = error
        finally:
            parcel.close()
    assert trouble is not None
    raise trouble


def _ask(cluster: ClusterPort, place: Container, command: Sequence[str], stdin: bytes) -> Mapping[str, object]:
    said = bytearray()

    def take(data: bytes) -> None:
        said.extend(data)
        if len(said) > _ANSWER_LIMIT_BYTES:
            raise RdlcError(f"pod `{place.pod}` says more than was asked")

    end = cluster.exec(place, command, stdin=stdin, stdout=take, limit_s=_PUSH_LIMIT_S)
    told = one_line(end.told.strip(), limit=300)
    if end.exit_code is None:
        raise OutsideError(f"the stream to pod `{place.pod}` broke: {told}")
    if end.exit_code != 0:
        raise RdlcError(f"pod `{place.pod}` did not take what was sent: {told}")
    try:
        value = json.loads(said)
    except (ValueError, RecursionError) as error:
        raise RdlcError(f"pod `{place.pod}` says something else than was asked") from error
    return value if isinstance(value, Mapping) else {}


def _different(there: Mapping[object, object], files: Mapping[str, str]) -> str:
    names = sorted({str(name) for name in {*there, *files} if there.get(name) != files.get(str(name))})
    return one_line(", ".join(names), limit=200)
