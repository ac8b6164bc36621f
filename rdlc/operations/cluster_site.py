"""Where a run on a cluster is, what it works with, and how it is left: to itself, or taken away."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from rdlc.core.canonical import Json
from rdlc.core.kube.planned import ray_container
from rdlc.core.kube.pod_states import PodState
from rdlc.core.kube.started import StartedRun
from rdlc.errors import Interrupted, RdlcError
from rdlc.operations.cluster_files import Parcels
from rdlc.operations.cluster_job import Appender
from rdlc.operations.cluster_ports import ClusterPort, Container
from rdlc.operations.cluster_wait import RAYCLUSTERS, Clock, WaitListener
from rdlc.operations.follow import Listener
from rdlc.operations.machine import Machine, Record
from rdlc.operations.reporting import Reporter


class ClusterMachine(Machine, Appender, Protocol):
    """This machine as one that runs on clusters: its files also grow from what pods say."""

    def new_parcels(self) -> Parcels:
        """For the archives of one collection."""
        ...

    def hold_record(self, path: Path) -> Record:
        """Holds the folder of a record that exists; raises RdlcError if a run that lives holds it."""
        ...


class ClusterListener(Listener, WaitListener, Protocol):
    """Whoever shows how the pods come up and then how the job goes."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Site:
    """What a run on a cluster works with."""

    cluster: ClusterPort
    machine: ClusterMachine
    reporter: Reporter
    listener: ClusterListener

    @property
    def clock(self) -> Clock:
        """The machine's clock."""
        return Clock(monotonic=self.machine.monotonic, sleep=self.machine.sleep)


class Detached(Interrupted):
    """The job goes on without us; `path` is its record, `run` where it is."""

    status = "detached"

    def __init__(self, run: StartedRun, path: Path, again: str) -> None:
        super().__init__("\n".join(("detached; the job goes on", *ways_on(run, path, again))))
        self.run = run
        self.path = path


def ways_on(run: StartedRun, path: Path, again: str) -> tuple[str, ...]:
    """How to come back to a run, to look at it, to collect and to delete it, and what it costs meanwhile.

    `again` is the verb and the lock, such as `run lock/a.lock.yaml`.
    """
    at = f"-n {run.namespace}" + (f" --context {run.context}" if run.context else "")
    return (
        f"  attach again   rdlc {again} --resume {path}",
        f"  look           kubectl get pods {at} -l ray.io/cluster={run.name}",
        f"  collect        rdlc collect {path}",
        f"  delete         kubectl delete raycluster {run.name} {at}",
        f"  costs money    RayCluster {run.name} holds its nodes until it is deleted",
    )


def places(raycluster: Mapping[str, Json], pods: tuple[PodState, ...], namespace: str) -> tuple[Container, ...]:
    """The container of each pod in which Ray runs, in the order of the pods."""
    return tuple(
        Container(namespace=namespace, pod=pod.name, container=ray_container(raycluster, pod.group)) for pod in pods
    )


def take_away(run: StartedRun, *, site: Site) -> bool:
    """Deletes the RayCluster of a run, and no other; says so, or what still costs money."""
    try:
        site.cluster.delete(RAYCLUSTERS, run.name, namespace=run.namespace, uid=run.uid)
    except RdlcError as error:
        site.reporter.warn(
            f"RayCluster {run.name} could not be deleted and still costs money: {error.message}: "
            f"`kubectl delete raycluster {run.name} -n {run.namespace}`"
        )
        return False
    site.reporter.note(f"RayCluster {run.name} is deleted: nothing of this run costs money any more")
    return True
