"""Wait until a new RayCluster is ready, or until it is certain that it never will be."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from rdlc.core.kube.pod_states import ClusterEvent, PodState, read_event, read_pod_state
from rdlc.core.kube.waiting import Outlook, Patience, Scene, judge_wait
from rdlc.errors import OutsideError, RdlcError
from rdlc.operations.cluster_ports import ClusterLook

RAYCLUSTERS = "rayclusters.ray.io"
_POLL_S = 1.0
_LOST_S = 120.0
_EVENTS_LIMIT = 500


class WaitListener(Protocol):
    """Whoever shows how the pods come up."""

    def pods(self, pods: tuple[PodState, ...], outlook: Outlook, elapsed_s: float) -> None:
        """What the pods do now, and what is waited for."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Clock:
    """Seconds of a clock that never goes back, and a way to let them go by."""

    monotonic: Callable[[], float]
    sleep: Callable[[float], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class Awaited:
    """The RayCluster that is waited for; `pods_due` counts its head and all workers."""

    namespace: str
    name: str
    pods_due: int


def wait_for_pods(
    awaited: Awaited, *, cluster: ClusterLook, patience: Patience, clock: Clock, listener: WaitListener
) -> tuple[PodState, ...]:
    """The pods, once all are ready; raises RdlcError with the cause when they never will be.

    A server that does not answer for a while is asked again; for longer, OutsideError is raised.
    """
    begun = heard = clock.monotonic()
    while True:
        now = clock.monotonic()
        try:
            scene = _look(awaited, cluster, elapsed_s=now - begun)
        except OutsideError:
            if now - heard >= _LOST_S:
                raise
            clock.sleep(_POLL_S)
            continue
        heard = now
        outlook = judge_wait(scene, patience)
        listener.pods(scene.pods, outlook, scene.elapsed_s)
        if outlook.is_ready:
            return scene.pods
        if outlook.cause:
            raise RdlcError(outlook.cause, hint=outlook.hint or None)
        clock.sleep(_POLL_S)


def list_pods(cluster: ClusterLook, *, namespace: str, name: str) -> tuple[PodState, ...]:
    """The pods of a RayCluster, the head first."""
    found = cluster.list("pods", namespace=namespace, labels=f"ray.io/cluster={name}")
    return tuple(sorted(map(read_pod_state, found), key=lambda pod: (not pod.is_head, pod.group, pod.name)))


def _look(awaited: Awaited, cluster: ClusterLook, *, elapsed_s: float) -> Scene:
    namespace, name = awaited.namespace, awaited.name
    raycluster = cluster.get(RAYCLUSTERS, name, namespace=namespace)
    if raycluster is None:
        raise RdlcError(f"RayCluster `{name}` was deleted while it came up")
    pods = list_pods(cluster, namespace=namespace, name=name)
    return Scene(
        raycluster=raycluster,
        pods=pods,
        events=_events(awaited, cluster, pods),
        pods_due=awaited.pods_due,
        elapsed_s=elapsed_s,
    )


def _events(awaited: Awaited, cluster: ClusterLook, pods: tuple[PodState, ...]) -> tuple[ClusterEvent, ...]:
    """The last events of the RayCluster, and of pods that no node has started yet; none where they may not be read."""
    waiting = [pod.name for pod in pods if pod.phase == "Pending"][:8]
    found: list[ClusterEvent] = []
    for name in (awaited.name, *waiting):
        fields = f"involvedObject.name={name}"
        objects = deque(cluster.list("events", namespace=awaited.namespace, fields=fields), maxlen=_EVENTS_LIMIT)
        # A server that ignores selectors must not bring other objects' events in.
        found += [event for event in map(read_event, objects) if event.name == name]
    return tuple(found)
