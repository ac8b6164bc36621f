"""Was the cluster that ran the one that was locked? Judged from what was seen before and after the job."""

from collections.abc import Iterator, Sequence

from rdlc.core.kube.container_checks import check_containers, check_object
from rdlc.core.kube.due import ClusterDue
from rdlc.core.kube.image_ids import NOT_MEASURED
from rdlc.core.kube.node_checks import check_nodes, check_plugins
from rdlc.core.kube.observed import ClusterSeen, PodSeen
from rdlc.core.kube.placement import check_placement
from rdlc.core.kube.sightings import LIMIT, Judged, Sightings, count, name_pods, over_time, unseen
from rdlc.core.record import Check, Rank
from rdlc.core.text import one_line


def check_cluster(due: ClusterDue, sightings: Sightings, ranks: Sequence[Rank]) -> tuple[Check, ...]:
    """One check for each question; what could not be seen is not measured, and so is not met."""
    rows = [
        over_time("pods", _describe_groups(due), sightings, lambda seen: _judge_pods(due, seen)),
        *check_containers(due, sightings),
        over_time("container restarts", "0", sightings, _judge_restarts),
        *_check_same(due, sightings),
        *check_object(due, sightings),
        *_check_kuberay(due, sightings),
        over_time("Ray nodes", _describe_ray(due), sightings, lambda seen: _judge_ray(due, seen)),
        *check_nodes(due, sightings),
        *check_plugins(due, sightings),
    ]
    if due.ranks:
        rows.append(check_placement(due, sightings.last, ranks))
    return tuple(rows)


def _describe_groups(due: ClusterDue) -> str:
    return ", ".join(f"{name} {group.replicas}" for name, group in due.groups.items())


def _judge_pods(due: ClusterDue, seen: ClusterSeen) -> Judged:
    counts = dict.fromkeys(due.groups, 0)
    for pod in seen.pods:
        if not pod.is_leaving:
            counts[pod.group] = counts.get(pod.group, 0) + 1
    words = ", ".join(f"{name} {count}" for name, count in counts.items())
    if words == _describe_groups(due):
        return words, True
    wrong = [name for name, count in counts.items() if name not in due.groups or due.groups[name].replicas != count]
    names = ", ".join(pod.name for pod in seen.pods if pod.group in wrong and not pod.is_leaving)
    return f"{words} ({', '.join(wrong)}: {names or 'none'})", False


def _judge_restarts(seen: ClusterSeen) -> Judged:
    counts = {
        f"{key}/{held.name}": held.restarts
        for key, pod in name_pods(seen.pods).items()
        for held in pod.containers
        if held.restarts and not held.is_init
    }
    return ", ".join(f"{count} of {place}" for place, count in counts.items()) or "0", not counts


def _check_same(due: ClusterDue, sightings: Sightings) -> Iterator[Check]:
    """A run that rdlc did not start was not looked at before it, so that is not asked."""
    if due.is_locked:
        yield _compare_moments(sightings)


def _compare_moments(sightings: Sightings) -> Check:
    name, locked = "pods before and after", "the same pods"
    before, after = sightings.before, sightings.after
    if before is None or after is None:
        return Check(name=name, locked=locked, found=NOT_MEASURED, is_met=None)
    old, new = ({pod.uid: (key, pod) for key, pod in name_pods(seen.pods).items()} for seen in (before, after))
    words = [f"{key} is gone: {_who(pod)}" for uid, (key, pod) in old.items() if uid not in new]
    words += [f"{key} came later: {_who(pod)}" for uid, (key, pod) in new.items() if uid not in old]
    for uid in old.keys() & new.keys():
        words += _changes(*old[uid], new[uid][1])
    found = one_line("; ".join(sorted(words)), limit=LIMIT)
    return Check(name=name, locked=locked, found=found or locked, is_met=not words)


def _who(pod: PodSeen) -> str:
    return f"{pod.name} (uid {pod.uid}, node {pod.node or 'none'})"


def _changes(key: str, old: PodSeen, new: PodSeen) -> Iterator[str]:
    """What is not as it was in a pod that stayed; what is asked of every moment is told elsewhere."""
    if old.node != new.node:
        yield f"{key} moved from {old.node} to {new.node}"
    ids = {held.name: held.image_id for held in old.containers}
    for held in new.containers:
        if ids.get(held.name, held.image_id) != held.image_id:
            yield f"{key}/{held.name} changed its image from {ids[held.name]} to {held.image_id}"


def _check_kuberay(due: ClusterDue, sightings: Sightings) -> Iterator[Check]:
    if due.kuberay:
        yield over_time("KubeRay", due.kuberay, sightings, lambda seen: _judge_kuberay(due, seen))


def _judge_kuberay(due: ClusterDue, seen: ClusterSeen) -> Judged:
    versions = sorted({pod.kuberay.removeprefix("v") for pod in seen.pods if pod.kuberay})
    if not versions:
        return NOT_MEASURED, None
    return ", ".join(versions), versions == [due.kuberay.removeprefix("v")]


def _describe_ray(due: ClusterDue) -> str:
    pods = sum(group.replicas for group in due.groups.values())
    gpus = "" if due.gpus is None else f", {count(due.gpus, 'GPU')}"
    return f"{pods} alive, 0 dead{gpus}"


def _judge_ray(due: ClusterDue, seen: ClusterSeen) -> Judged:
    if seen.ray_nodes is None:
        return unseen(seen, "Ray nodes"), None
    alive = [node for node in seen.ray_nodes if node.state == "ALIVE"]
    dead = [node for node in seen.ray_nodes if node.state != "ALIVE"]
    gpus = sum(int(node.gpus) for node in alive if node.gpus.isdigit())
    words = f"{len(alive)} alive, {len(dead)} dead" + ("" if due.gpus is None else f", {count(gpus, 'GPU')}")
    named = [f"{node.state} {node.id} at {node.address}" for node in dead]
    addresses = {pod.address for pod in seen.pods}
    named += [f"{node.id} at {node.address} is no pod of it" for node in alive if node.address not in addresses]
    return (f"{words} ({'; '.join(named)})", False) if named else (words, words == _describe_ray(due))
