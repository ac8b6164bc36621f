"""Look at a run's cluster before and after its job, and keep what was seen in its record."""

from collections.abc import Mapping
from pathlib import Path

from rdlc.core.canonical import Json
from rdlc.core.kube.objects import clear_values
from rdlc.core.kube.started import StartedRun
from rdlc.errors import RdlcError
from rdlc.operations.cluster_ports import ClusterPort
from rdlc.operations.look_cluster import look
from rdlc.operations.machine import Machine
from rdlc.operations.reporting import Reporter
from rdlc.operations.sightings import BEFORE, keep_sighting


def sight(
    path: Path,
    moment: str,
    run: StartedRun,
    raycluster: Mapping[str, Json],
    *,
    cluster: ClusterPort,
    machine: Machine,
    reporter: Reporter,
) -> None:
    """Keeps what the cluster is now as `before` or `after`; says so where that cannot be seen."""
    try:
        found = look(
            cluster,
            namespace=run.namespace,
            name=run.name,
            time=machine.clock(),
            clear=clear_values(raycluster),
            asked=raycluster if moment == BEFORE else None,
        )
    except RdlcError as error:
        reporter.warn(f"what the cluster is {moment} the job could not be seen: {error.message}")
        return
    keep_sighting(path, moment, found.seen, machine)
