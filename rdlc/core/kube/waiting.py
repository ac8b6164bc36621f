"""Is a new RayCluster coming up, and if not: the one cause of it, as soon as it is certain.

What can still become right by itself is a wait with its reason (a queue, a node that is being made, an image
that is being pulled); what cannot is a cause, and nobody waits for a time limit then.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rdlc.core.canonical import Json
from rdlc.core.kube.pod_states import ClusterEvent, ContainerState, PodState, has_status, read_condition
from rdlc.core.text import one_line

_LASTING_PULL_TROUBLE = (
    "not found", "manifest unknown", "no such host", "denied", "unauthorized", "authorization failed", "403 Forbidden",
    "no match for platform", "invalid reference",
)  # fmt: skip
_PULL = ("ErrImagePull", "ImagePullBackOff")
_NEVER = ("InvalidImageName", "ErrImageNeverPull", "CreateContainerConfigError", "CreateContainerError")
_LACKING = re.compile(r"\d+ Insufficient ([A-Za-z0-9./_-]*[A-Za-z0-9])")
_QUOTED = re.compile(r'"([^"]+)"')
_NODES = re.compile(r"^(\d+)/(\d+) nodes are available: (.*?)(?:\. |$)")
_MAKING_NODES = ("Nominated", "TriggeredScaleUp")
_GANG = ("pod group is not ready", "PodGroup", "gang")


@dataclass(frozen=True, kw_only=True, slots=True)
class Patience:
    """How long, in seconds, what may come by itself is waited for.

    `placement_s` is 60 where all nodes are there already, more where nodes are made on demand.
    """

    status_s: float = 30.0
    pull_s: float = 120.0
    placement_s: float = 60.0
    mount_s: float = 180.0
    join_s: float = 180.0
    all_s: float = 3600.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Scene:
    """A cluster at one moment, `elapsed_s` after it was asked for; `pods_due` counts the head and all workers."""

    raycluster: Mapping[str, Json]
    pods: tuple[PodState, ...]
    events: tuple[ClusterEvent, ...]
    pods_due: int
    elapsed_s: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Outlook:
    """What is to be expected: it is ready, or waits for something, or never will be for a cause."""

    is_ready: bool = False
    cause: str = ""
    waits_for: str = ""
    hint: str = ""


def judge_wait(scene: Scene, patience: Patience) -> Outlook:
    """The outlook of a cluster that is coming up."""
    for outlook in _outlooks(scene, patience):
        if outlook.is_ready or outlook.cause:
            return outlook
        if scene.elapsed_s >= patience.all_s:
            cause = f"not all pods were ready within {patience.all_s:.0f} s: {outlook.waits_for}"
            return Outlook(cause=cause, hint=outlook.hint)
        return outlook
    raise AssertionError("the last of the outlooks is always one")


def _outlooks(scene: Scene, patience: Patience) -> Iterator[Outlook]:
    """What there is to say, the most telling first: the head's trouble is behind that of the workers."""
    ready = [pod for pod in scene.pods if pod.is_ready and not pod.is_leaving]
    if len(ready) == scene.pods_due == len(scene.pods) and _is_provisioned(scene):
        yield Outlook(is_ready=True)
    yield from _refused(scene)
    yield from _not_handled(scene, patience)
    ordered = sorted(scene.pods, key=lambda pod: (not pod.is_head, pod.name))
    for pod in ordered:
        yield from _pod_ended(pod)
        yield from _container_trouble(pod, scene, patience)
    yield from _queued(scene)
    yield from _unplaced(scene, patience)
    yield from _unmounted(scene, patience)
    yield from _not_made(scene, patience)
    yield from _joining(scene, patience)
    yield Outlook(waits_for=_count_words(scene, len(ready)))


def _is_provisioned(scene: Scene) -> bool:
    # An older operator has no such condition; then the pods alone speak.
    return read_condition(scene.raycluster, "RayClusterProvisioned")[0] in {"True", ""}


def _refused(scene: Scene) -> Iterator[Outlook]:
    for event in scene.events:
        if event.is_warning and event.reason in {"InvalidRayClusterMetadata", "InvalidRayClusterSpec"}:
            yield Outlook(cause=f"KubeRay refuses the spec: {event.message}", hint="`rdlc check LOCK`")


def _not_handled(scene: Scene, patience: Patience) -> Iterator[Outlook]:
    if has_status(scene.raycluster) or scene.pods or scene.events:
        return
    if scene.elapsed_s < patience.status_s:
        yield Outlook(waits_for="the KubeRay operator has not looked at it yet")
        return
    yield Outlook(
        cause=f"the KubeRay operator did nothing for {scene.elapsed_s:.0f} s: "
        "it does not run, or does not watch this namespace",
        hint="`kubectl get deployments -A -l app.kubernetes.io/name=kuberay-operator`",
    )


def _pod_ended(pod: PodState) -> Iterator[Outlook]:
    if pod.phase == "Failed":
        why = ": ".join(part for part in (pod.reason, pod.message) if part) or "no reason is given"
        yield Outlook(cause=f"{_called(pod)} ended: {why}", hint=f"`kubectl describe pod {pod.name}`")


def _container_trouble(pod: PodState, scene: Scene, patience: Patience) -> Iterator[Outlook]:
    for container in (*pod.init_containers, *pod.containers):
        if container.waiting in _NEVER:
            cause = f"{_called(pod)} cannot start: {container.waiting}: {container.message}"
            yield Outlook(cause=cause, hint=f"`kubectl describe pod {pod.name}`")
        yield from _pull_trouble(pod, container, scene, patience)
        yield from _crash(pod, container)


def _pull_trouble(pod: PodState, container: ContainerState, scene: Scene, patience: Patience) -> Iterator[Outlook]:
    if container.waiting not in _PULL:
        return
    words = f"the image of {_called(pod)} cannot be pulled: {_pull_words(container.message)}"
    is_lasting = any(sign in container.message for sign in _LASTING_PULL_TROUBLE)
    if is_lasting or scene.elapsed_s >= patience.pull_s:
        yield Outlook(cause=words, hint=f"`kubectl describe pod {pod.name}`")
    else:
        yield Outlook(waits_for=words)


def _pull_words(message: str) -> str:
    """The image, and the innermost of the errors that lie in each other."""
    found = _QUOTED.search(message)
    image = f"{found[1]}: " if found else ""
    return image + one_line(": ".join(message.rsplit(": ", 2)[-2:]), limit=300)


def _crash(pod: PodState, container: ContainerState) -> Iterator[Outlook]:
    if container.is_ready or not container.ended or container.exit_code == 0:
        return
    if container.ended == "OOMKilled":
        cause = f"{_called(pod)} ran out of memory while Ray started: its memory limit is too small"
        yield Outlook(cause=cause, hint="raise `resources.limits.memory` of that group")
    elif container.waiting == "CrashLoopBackOff" or container.restarts > 1:
        cause = f"{_called(pod)} ended {container.restarts} times with exit code {container.exit_code}"
        yield Outlook(cause=cause, hint=f"`kubectl logs {pod.name} -c {container.name} --previous`")


def _queued(scene: Scene) -> Iterator[Outlook]:
    if read_condition(scene.raycluster, "RayClusterSuspended")[0] == "True":
        yield Outlook(waits_for="queued: suspended until its queue lets it in (Kueue)")
    gated = [pod for pod in scene.pods if pod.unplaced == "SchedulingGated"]
    if gated:
        yield Outlook(waits_for=f"queued: {_some(gated)} held back by a scheduling gate (Kueue)")
    for pod in scene.pods:
        if pod.unplaced and any(sign in pod.unplaced_message for sign in _GANG):
            yield Outlook(waits_for=f"queued: {_innermost(pod.unplaced_message)}")


def _unplaced(scene: Scene, patience: Patience) -> Iterator[Outlook]:
    unplaced = [pod for pod in scene.pods if pod.unplaced]
    if not unplaced:
        return
    message = Counter(pod.unplaced_message for pod in unplaced).most_common(1)[0][0]
    words = f"{_some(unplaced)} cannot be placed: {_lacking(message)}"
    names = {pod.name for pod in unplaced}
    coming = [event for event in scene.events if event.name in names and event.reason in _MAKING_NODES]
    if coming:
        yield Outlook(waits_for=f"a node is being made for {_some(unplaced)}: {coming[-1].message}")
    elif scene.elapsed_s < patience.placement_s:
        yield Outlook(waits_for=words)
    else:
        yield Outlook(cause=words, hint="`kubectl describe nodes`: what each node can allocate")


def _unmounted(scene: Scene, patience: Patience) -> Iterator[Outlook]:
    for event in scene.events:
        if event.reason not in {"FailedMount", "FailedAttachVolume", "FailedCreatePodSandBox"}:
            continue
        if any(pod.name == event.name and not pod.is_ready and not _has_started(pod) for pod in scene.pods):
            words = f"pod {event.name} cannot start: {event.message}"
            is_over = scene.elapsed_s >= patience.mount_s
            yield Outlook(cause=words) if is_over else Outlook(waits_for=words)


def _has_started(pod: PodState) -> bool:
    return any(container.is_ready for container in pod.containers)


def _not_made(scene: Scene, patience: Patience) -> Iterator[Outlook]:
    refusals = [event for event in scene.events if event.is_warning and event.reason.startswith("FailedToCreate")]
    if len(scene.pods) < scene.pods_due and refusals:
        words = f"KubeRay cannot make a pod: {refusals[-1].message}"
        is_over = "denied" in refusals[-1].message or scene.elapsed_s >= patience.placement_s
        yield Outlook(cause=words) if is_over else Outlook(waits_for=words)


def _joining(scene: Scene, patience: Patience) -> Iterator[Outlook]:
    heads = [pod for pod in scene.pods if pod.is_head]
    waiting = [pod for pod in scene.pods if not pod.is_head and any(not c.is_ready for c in pod.init_containers)]
    if not heads or not waiting or scene.elapsed_s < patience.join_s or not heads[0].is_ready:
        return
    yield Outlook(
        cause=f"{_some(waiting)} cannot reach the head although it is ready: "
        "the cluster's DNS or its domain is another, or a network policy is in the way",
        hint=f"`kubectl logs {waiting[0].name} -c {waiting[0].init_containers[0].name}`",
    )


def _count_words(scene: Scene, num_ready: int) -> str:
    heads = [pod for pod in scene.pods if pod.is_head]
    if heads and not heads[0].is_ready:
        return f"{num_ready} of {scene.pods_due} pods are ready; the workers wait for the head ({heads[0].words})"
    return f"{num_ready} of {scene.pods_due} pods are ready"


def _lacking(message: str) -> str:
    """`0 of 2 nodes have enough vpc.amazonaws.com/efa`, or the scheduler's own words."""
    found = _NODES.match(message)
    missing = list(dict.fromkeys(_LACKING.findall(message)))
    if found and missing:
        return f"{found[1]} of {found[2]} nodes have enough {' and '.join(missing)} ({found[3]})"
    return _innermost(message) or "no reason is given"


def _innermost(message: str) -> str:
    return one_line(message.partition(" preemption: ")[0].strip(), limit=400) or "no reason is given"


def _called(pod: PodState) -> str:
    return f"{'the head' if pod.is_head else 'worker'} {pod.name}"


def _some(pods: Sequence[PodState]) -> str:
    heads = sum(pod.is_head for pod in pods)
    workers = len(pods) - heads
    parts = (["the head"] if heads else []) + ([f"{workers} worker{'s' * (workers > 1)}"] if workers else [])
    return " and ".join(parts)
