"""What a pod of a RayCluster is doing, read from the object that the API server gives."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rdlc.core.canonical import Json
from rdlc.core.text import one_line

_MESSAGE_LIMIT = 4000


@dataclass(frozen=True, kw_only=True, slots=True)
class ContainerState:
    """One container: why it waits ("" if it does not), and how it ended the last time."""

    name: str
    is_ready: bool
    restarts: int
    waiting: str
    message: str
    ended: str
    exit_code: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class PodState:
    """One pod; `group` is `head` or the name of its worker group, `unplaced` why no node takes it."""

    name: str
    uid: str
    group: str
    node: str
    address: str
    phase: str
    reason: str
    message: str
    is_ready: bool
    is_leaving: bool
    unplaced: str
    unplaced_message: str
    containers: tuple[ContainerState, ...]
    init_containers: tuple[ContainerState, ...]

    @property
    def is_head(self) -> bool:
        """Whether it is the head of the cluster."""
        return self.group == "head"

    @property
    def words(self) -> str:
        """What it is doing, in a word or two, as a table shows it."""
        if self.is_leaving:
            return "Terminating"
        if self.unplaced:
            return self.unplaced
        for container in (*self.init_containers, *self.containers):
            if container.waiting:
                return container.waiting
        return "Ready" if self.is_ready else self.reason or self.phase


def read_pod_state(pod: Mapping[str, Json]) -> PodState:
    """The state in a pod's object; what is missing or of another kind is empty."""
    metadata, spec, status = _below(pod, "metadata"), _below(pod, "spec"), _below(pod, "status")
    labels = _below(metadata, "labels")
    conditions = {_text(item, "type"): item for item in _items(status, "conditions")}
    scheduled = conditions.get("PodScheduled", {})
    is_unplaced = _text(scheduled, "status") == "False"
    is_head = _text(labels, "ray.io/node-type") == "head"
    return PodState(
        name=_text(metadata, "name"),
        uid=_text(metadata, "uid"),
        group="head" if is_head else _text(labels, "ray.io/group") or "worker",
        node=_text(spec, "nodeName"),
        address=_text(status, "podIP"),
        phase=_text(status, "phase"),
        reason=_text(status, "reason"),
        message=_text(status, "message"),
        is_ready=_text(conditions.get("Ready", {}), "status") == "True",
        is_leaving="deletionTimestamp" in metadata,
        unplaced=(_text(scheduled, "reason") or "Unschedulable") if is_unplaced else "",
        unplaced_message=_text(scheduled, "message") if is_unplaced else "",
        containers=tuple(_containers(status, "containerStatuses")),
        init_containers=tuple(_containers(status, "initContainerStatuses")),
    )


def _containers(status: Mapping[str, Json], key: str) -> Iterator[ContainerState]:
    for item in _items(status, key):
        now, before = _below(item, "state"), _below(item, "lastState")
        waiting = _below(now, "waiting")
        ended = _below(now, "terminated") or _below(before, "terminated")
        code = ended.get("exitCode")
        message = _text(waiting, "message")
        yield ContainerState(
            name=_text(item, "name"),
            is_ready=item.get("ready") is True,
            restarts=_count(item, "restartCount"),
            # A kubelet that backs off may leave the reason out.
            waiting=_text(waiting, "reason") or ("ImagePullBackOff" if "pulling image" in message else ""),
            message=message,
            ended=_text(ended, "reason"),
            exit_code=code if isinstance(code, int) else None,
        )


def read_condition(item: Mapping[str, Json], name: str) -> tuple[str, str, str]:
    """Status, reason and message of a condition of an object; three times "" if it has none of that name."""
    for condition in _items(_below(item, "status"), "conditions"):
        if _text(condition, "type") == name:
            return _text(condition, "status"), _text(condition, "reason"), _text(condition, "message")
    return "", "", ""


def has_status(item: Mapping[str, Json]) -> bool:
    """Whether anything was ever written into the object's status."""
    return bool(_below(item, "status"))


def _below(item: Mapping[str, Json], key: str) -> Mapping[str, Json]:
    value = item.get(key)
    return value if isinstance(value, Mapping) else {}


def _items(item: Mapping[str, Json], key: str) -> Sequence[Mapping[str, Json]]:
    value = item.get(key)
    if not isinstance(value, Sequence) or isinstance(value, str):
        return ()
    return [entry for entry in value if isinstance(entry, Mapping)]


def _text(item: Mapping[str, Json], key: str) -> str:
    value = item.get(key)
    return one_line(value, limit=_MESSAGE_LIMIT) if isinstance(value, str) else ""


def _count(item: Mapping[str, Json], key: str) -> int:
    value = item.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


@dataclass(frozen=True, kw_only=True, slots=True)
class ClusterEvent:
    """One event: what it is about, and what was said."""

    kind: str
    name: str
    is_warning: bool
    reason: str
    message: str


def read_event(event: Mapping[str, Json]) -> ClusterEvent:
    """The event in its object."""
    about = _below(event, "involvedObject")
    return ClusterEvent(
        kind=_text(about, "kind"),
        name=_text(about, "name"),
        is_warning=_text(event, "type") == "Warning",
        reason=_text(event, "reason"),
        message=_text(event, "message"),
    )
