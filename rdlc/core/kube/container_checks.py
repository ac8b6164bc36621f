"""Every container's image and variables, and the live object, held against what was asked for."""

from collections.abc import Iterator, Sequence

from rdlc.core.kube.due import ClusterDue, GroupDue
from rdlc.core.kube.environments import compare_environment
from rdlc.core.kube.image_ids import describe_due, judge_image_id
from rdlc.core.kube.observed import AskedGroup, ClusterSeen, ContainerSeen
from rdlc.core.kube.sightings import Judged, Sightings, count, name_pods, over_time, row
from rdlc.core.record import Check


def check_containers(due: ClusterDue, sightings: Sightings) -> Iterator[Check]:
    """Two rows for each container of each pod: its image, and its variables."""
    seen = [(moment, name_pods(cluster.pods)) for moment, cluster in sightings.named]
    for key in dict.fromkeys(key for _, pods in seen for key in pods):
        at = [(moment, pods[key]) for moment, pods in seen if key in pods]
        group = at[-1][1].group
        held = {container.name for _, pod in at for container in pod.containers}
        asked = due.groups[group].containers if group in due.groups else {}
        for name in (*asked, *sorted(held - set(asked))):
            now = [(moment, next((c for c in pod.containers if c.name == name), None)) for moment, pod in at]
            yield from _check_container(due, group, f"{key}/{name}", now)


def _check_container(
    due: ClusterDue, group: str, place: str, now: Sequence[tuple[str, ContainerSeen | None]]
) -> Iterator[Check]:
    asked = due.container(group, place.rpartition("/")[2])
    if asked is None:
        found = [(moment, held.image_id or held.image, False) for moment, held in now if held is not None]
        yield row(f"container {place}", "no such container", found)
        return
    images: list[tuple[str, str, bool | None]] = []
    variables: list[tuple[str, str, bool | None]] = []
    for moment, held in now:
        if held is None:
            images.append((moment, "no such container", False))
            continue
        judged = judge_image_id(held.image_id, asked.digests) if asked.digests else (held.image_id, True)
        images.append((moment, *judged))
        variables.append((moment, *compare_environment(asked.environment, held, optional=due.optional)))
    if asked.digests:
        yield row(f"image of {place}", describe_due(asked.digests), images)
    yield row(f"environment of {place}", count(len(asked.environment), "variable"), variables)


def check_object(due: ClusterDue, sightings: Sightings) -> Iterator[Check]:
    """One row: of a live object that was changed the pods know nothing, and it must be as locked, too."""
    if due.is_locked:
        yield over_time("RayCluster object", "as locked", sightings, lambda seen: _judge_object(due, seen))


def _judge_object(due: ClusterDue, seen: ClusterSeen) -> Judged:
    words: list[str] = []
    for name in dict.fromkeys((*due.groups, *seen.cluster.groups)):
        asked, live = due.groups.get(name), seen.cluster.groups.get(name)
        if asked is None or live is None:
            words.append(f"group {name} is {'not locked' if asked is None else 'missing'}")
        else:
            words += _differences(name, asked, live, due.optional)
    if not words:
        return "as locked", True
    return f"generation {seen.cluster.generation}: {'; '.join(words)}", False


def _differences(name: str, asked: GroupDue, live: AskedGroup, optional: frozenset[str]) -> Iterator[str]:
    if asked.replicas != live.replicas:
        yield f"{name} has {count(live.replicas, 'pod')} (locked {asked.replicas})"
    for key in dict.fromkeys((*asked.containers, *live.containers)):
        wanted, held = asked.containers.get(key), live.containers.get(key)
        if wanted is None or held is None:
            yield f"container {name}/{key} is {'not locked' if wanted is None else 'missing'}"
            continue
        if not judge_image_id(held.image, wanted.digests)[1]:
            yield f"image of {name}/{key} is {held.image}"
        said, is_same = compare_environment(wanted.environment, held, optional=optional)
        if not is_same:
            yield f"{name}/{key}: {said}"
