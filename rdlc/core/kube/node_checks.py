"""The workers' nodes and what serves the cluster, held against the lock."""

from collections.abc import Iterator
from functools import partial

from rdlc.core.kube.due import ClusterDue
from rdlc.core.kube.image_ids import NOT_MEASURED
from rdlc.core.kube.observed import HEAD, ClusterSeen
from rdlc.core.kube.sightings import Judged, Sightings, over_time, unseen
from rdlc.core.record import Check

# What makes nodes unlike each other as far as a run can tell.
_ALIKE = ("AMI", "GPU", "container runtime", "driver", "instance type", "kernel")


def check_nodes(due: ClusterDue, sightings: Sightings) -> Iterator[Check]:
    """What was locked of the workers' nodes, and for the rest, whether they are alike."""
    for fact, locked in sorted(due.node_facts.items()):
        yield over_time(
            f"{fact} of the workers' nodes", locked, sightings, partial(_judge_fact, fact=fact, locked=locked)
        )
    # No lock asks for it: a role that may not see nodes leaves it out, and the record says that it could not.
    if any(seen.nodes is not None for _, seen in sightings.named):
        yield over_time("workers' nodes", "alike", sightings, _judge_alike)


def _judge_fact(seen: ClusterSeen, *, fact: str, locked: str) -> Judged:
    values = _facts(seen, fact)
    if values is None:
        return unseen(seen, "nodes"), None
    if len(set(values.values())) <= 1:
        value = next(iter(values.values()), "")
        return (value, value == locked) if value else (NOT_MEASURED, None)
    wrong = any(value not in {locked, ""} for value in values.values())
    return "; ".join(f"{node} {value or NOT_MEASURED}" for node, value in values.items()), False if wrong else None


def _judge_alike(seen: ClusterSeen) -> Judged:
    words = []
    for fact in _ALIKE:
        values = _facts(seen, fact)
        if values is None:
            return unseen(seen, "nodes"), None
        if len(set(values.values())) > 1:
            words.append(f"{fact}: " + ", ".join(f"{node} {value or 'none'}" for node, value in values.items()))
    return "; ".join(words) or "alike", not words


def _facts(seen: ClusterSeen, fact: str) -> dict[str, str] | None:
    """What each node that holds workers says, "" where it does not; None where they cannot be seen."""
    if seen.nodes is None:
        return None
    told = {node.name: node.facts.get(fact, "") for node in seen.nodes}
    names = {pod.node for pod in seen.pods if pod.group != HEAD and pod.node and not pod.is_leaving}
    return {name: told.get(name, "") for name in sorted(names)}


def check_plugins(due: ClusterDue, sightings: Sightings) -> Iterator[Check]:
    """One row for each image that serves the cluster."""
    for name, locked in sorted(due.plugins.items()):
        yield over_time(name, locked, sightings, partial(_judge_plugin, name=name, locked=locked))


def _judge_plugin(seen: ClusterSeen, *, name: str, locked: str) -> Judged:
    if seen.plugins is None:
        return unseen(seen, "plugins"), None
    found = seen.plugins.get(name, "none")
    return found, found == locked
