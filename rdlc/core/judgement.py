"""Which level of reproducibility a run reached, and on what that rests."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rdlc.core.comparison import Comparison
from rdlc.core.conformance import NONE_REPORTED, is_conforming
from rdlc.core.record import Check
from rdlc.core.transport.judged import JudgedTransport, describe_judgement

NO_WORKER = "no worker reported"


@dataclass(frozen=True, kw_only=True, slots=True)
class Observation:
    """What there is to judge: how the run ended, what it did, and what it was compared with.

    `steps_total` None means that the lock does not tell. `comparison` None means that no outcome was
    compared. `transport` is None when nothing was seen of it.
    """

    is_finished: bool
    steps_done: int
    steps_total: int | None
    checks: Sequence[Check]
    accepted: Mapping[str, str]
    transport: JudgedTransport | None
    shows_learning: bool
    comparison: Comparison | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Judgement:
    """The level, and the sentences that it rests on, the strongest last."""

    level: str
    evidence: tuple[str, ...]


def judge(observation: Observation) -> Judgement:
    """The highest level that the observation proves."""
    evidence: list[str] = []
    level = _climb(observation, evidence)
    for section, reason in sorted(observation.accepted.items()):
        evidence.append(f"drift in {section} was allowed: {reason}")
    if not observation.shows_learning:
        evidence.append("random tokens: the machinery is proven, learning is not shown")
    return Judgement(level=level, evidence=tuple(evidence))


def _climb(observation: Observation, evidence: list[str]) -> str:
    checks = observation.checks
    if not checks or not is_conforming(checks, accepted=observation.accepted):
        failed = [check.name for check in checks if not check.is_met]
        if not checks or any(check.name == "ranks" and check.found == NONE_REPORTED for check in checks):
            # What is seen of a cluster does not need them.
            failed = [NO_WORKER, *(c.name for c in checks if c.is_met is False and c.name != "ranks")]
        evidence.append(f"what ran is not shown to be what was locked: {', '.join(failed)}")
        return "recorded"
    evidence.append(f"what ran is what was locked: {_count(len(checks), 'check')} met on every rank")
    if not _has_executed(observation, evidence):
        return "infrastructure"
    return _compare_outcome(observation.comparison, evidence)


def _has_executed(observation: Observation, evidence: list[str]) -> bool:
    done, total = observation.steps_done, observation.steps_total
    if not observation.is_finished:
        evidence.append(f"it did not finish: {_count(done, 'step')} done of {total or 'an unknown number'}")
        return False
    if total is not None and done != total:
        evidence.append(f"it did {_count(done, 'step')}, and the lock says {total}")
        return False
    evidence.append(f"it did all {_count(done, 'step')} and finished")
    if observation.transport is None:
        evidence.append("transport: not measured, so no higher level can be shown")
        return False
    evidence.append(describe_judgement(observation.transport))
    return observation.transport.is_fine


def _compare_outcome(comparison: Comparison | None, evidence: list[str]) -> str:
    if comparison is None:
        return "execution"
    if not comparison.equal:
        evidence.append(f"outcome: {describe_comparison(comparison)}")
        return "execution"
    counts = comparison.evidence
    evidence.append(
        f"every bit is the same: loss and gradient norm of {_count(comparison.steps_compared, 'step')}, "
        f"{_count(counts.get('tensors', 0), 'parameter fingerprint')}, the final parameters"
    )
    return "outcome-bitwise"


def describe_same_bits(steps: int) -> str:
    """The sentence that only an outcome without any difference gets."""
    return f"the same bits in {_count(steps, 'step')} and the final parameters"


def describe_comparison(comparison: Comparison) -> str:
    """In one sentence how two outcomes compare, with the first divergent step and parameter."""
    if comparison.equal:
        return describe_same_bits(comparison.steps_compared)
    divergence = comparison.divergence
    if divergence is None:
        rest = comparison.ending or "; ".join(comparison.not_compared) or "not compared"
        return f"the same bits in {_count(comparison.steps_compared, 'step')}, but {rest}"
    fields = ", ".join(divergence.fields) or "parameters"
    words = f"first differs at step {divergence.step} in {fields}"
    if divergence.tensors:
        words += (
            f"; first parameter `{divergence.tensors[0]}`, {len(divergence.tensors)} of "
            f"{divergence.tensors_total} parameters differ at step {divergence.tensor_step}"
        )
    return words


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
