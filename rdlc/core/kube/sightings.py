"""A cluster seen before and after a job, and the rows that are judged over both."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rdlc.core.kube.image_ids import NOT_MEASURED
from rdlc.core.kube.observed import HEAD, AskedGroup, ClusterSeen, PodSeen
from rdlc.core.record import Check
from rdlc.core.text import one_line

LIMIT = 2000
Judged = tuple[str, bool | None]


@dataclass(frozen=True, kw_only=True, slots=True)
class Sightings:
    """A cluster before and after the job; None where it was not looked at."""

    before: ClusterSeen | None = None
    after: ClusterSeen | None = None

    @property
    def named(self) -> tuple[tuple[str, ClusterSeen], ...]:
        """Those that there are, in order, each with its name."""
        both = (("before", self.before), ("after", self.after))
        return tuple((name, seen) for name, seen in both if seen is not None)

    @property
    def asked(self) -> Mapping[str, AskedGroup] | None:
        """What the cluster was created from, if that is known."""
        return None if self.before is None else self.before.asked

    @property
    def last(self) -> ClusterSeen | None:
        """The latest."""
        return self.after or self.before


def name_pods(pods: Sequence[PodSeen]) -> dict[str, PodSeen]:
    """The pods by names that are the same in every run: `head`, `gpu-0`, `gpu-1`; those that leave are left out."""
    named: dict[str, PodSeen] = {}
    counts: dict[str, int] = {}
    for pod in sorted(pods, key=lambda pod: (pod.group != HEAD, pod.group, len(pod.index), pod.index, pod.name)):
        if pod.is_leaving:
            continue
        number = counts.get(pod.group, 0)
        counts[pod.group] = number + 1
        named[pod.group if pod.group == HEAD and not number else f"{pod.group}-{number}"] = pod
    return named


def over_time(name: str, locked: str, sightings: Sightings, judge: Callable[[ClusterSeen], Judged]) -> Check:
    """One row over both moments; where they differ, it says which is which."""
    judged = [(moment, *judge(seen)) for moment, seen in sightings.named]
    return row(name, locked, judged)


def row(name: str, locked: str, judged: Sequence[tuple[str, str, bool | None]]) -> Check:
    """One row of what was judged at each moment: met only where every moment is."""
    said = dict.fromkeys(found for _, found, _ in judged)
    answers = [is_met for _, _, is_met in judged]
    words = "; ".join(f"{moment} {found}" for moment, found, _ in judged) if len(said) > 1 else "".join(said)
    is_met = False if False in answers else None if None in answers or not answers else True
    return Check(name=name, locked=locked, found=one_line(words or NOT_MEASURED, limit=LIMIT), is_met=is_met)


def unseen(seen: ClusterSeen, what: str) -> str:
    """Why something could not be seen."""
    why: Mapping[str, str] = seen.unseen
    return f"{NOT_MEASURED}: {why[what]}" if what in why else NOT_MEASURED


def count(number: int, noun: str) -> str:
    """A number with its noun."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
