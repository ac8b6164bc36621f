"""What a record says of its run, held against what its own files prove."""

from collections.abc import Iterator, Sequence

from rdlc.core.conformance import WorkerReport, check_conformance
from rdlc.core.judgement import Observation, describe_same_bits, judge
from rdlc.core.kube.sightings import Sightings
from rdlc.core.launch import total_steps
from rdlc.core.level import reaches
from rdlc.core.lockfile import RunLock
from rdlc.core.outcome import Outcome
from rdlc.core.record import Check, RunRecord
from rdlc.core.transport.judged import JudgedTransport

# The endings after which nobody judged: rdlc was killed or interrupted before.
UNJUDGED = ("running", "interrupted")


def find_false_claims(
    lock: RunLock,
    record: RunRecord,
    *,
    workers: Sequence[WorkerReport],
    outcome: Outcome,
    transport: JudgedTransport,
    sightings: Sightings,
) -> Iterator[str]:
    """What a record says and its lock or its files do not, one sentence each.

    `transport` is what the files of the record prove of it, `sightings` what they hold of its cluster.
    """
    claim = lock.sections.run.requested.claim
    # It trains nothing.
    is_probe = record.kind == "probe"
    said = (
        ("name", record.name, lock.name),
        ("claim", record.claim, claim),
        ("steps_total", record.steps_total, None if is_probe else total_steps(lock)),
    )
    for key, found, locked in said:
        if found != locked:
            yield f"says `{key}` {_shown(found)}, and its lock says {_shown(locked)}"
    if record.status == "finished" and not outcome.finished and not is_probe:
        yield "says that the run finished, and its files hold no finished outcome"
    if record.transport is not None and record.status in UNJUDGED:
        yield "says what its transport was, and nobody judged it"
    elif record.transport is not None and record.transport.judged != transport:
        held = record.transport.judged
        yield (
            f"says of its transport {_shown(f'{held.finding}, {held.seen.transport}')}, "
            f"and its files show {_shown(f'{transport.finding}, {transport.seen.transport}')}"
        )
    proven = _prove(lock, record, check_conformance(lock, workers, sightings), outcome, transport)
    if not reaches(proven, record.level):
        yield f"says level `{record.level}`, and its files prove `{proven}` at most"


def _prove(
    lock: RunLock,
    record: RunRecord,
    checks: Sequence[Check],
    outcome: Outcome,
    transport: JudgedTransport,
) -> str:
    if record.status in UNJUDGED:
        return "recorded"
    level = judge(
        Observation(
            is_finished=record.status == "finished" and outcome.finished,
            steps_done=outcome.last_step,
            steps_total=total_steps(lock),
            checks=checks,
            accepted=record.accepted,
            transport=transport,
            shows_learning=True,
            comparison=None,
        )
    ).level
    # The baseline is not in the record: a replay's own words are all there is of the comparison.
    is_same = record.kind == "replay" and record.outcome == describe_same_bits(outcome.last_step)
    return "outcome-bitwise" if level == "execution" and is_same else level


def _shown(value: str | int | None) -> str:
    return "nothing" if value is None else f"`{value}`"
