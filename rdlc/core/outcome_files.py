"""The files in which a training leaves its outcome, read and checked against each other."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from rdlc.core.fields import Fields
from rdlc.core.lines import fingerprint, hex_float, read_json_file, read_json_lines
from rdlc.core.outcome import (
    STEP_BITS,
    Outcome,
    Problem,
    ReadOutcome,
    Step,
    check_tensor_name,
    read_step,
)
from rdlc.errors import InputError

METRICS_FILE = "metrics.jsonl"
FINGERPRINTS_FILE = "fingerprints.jsonl"
RESULT_FILE = "result.json"

METRICS_LIMIT_BYTES = 256 << 20
FINGERPRINTS_LIMIT_BYTES = 512 << 20
RESULT_LIMIT_BYTES = 64 << 20


@dataclass(frozen=True, kw_only=True, slots=True)
class _Fingerprints:
    """One line of `fingerprints.jsonl`."""

    step: int
    attempt: int
    parameters: str
    tensors: Mapping[str, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Result:
    """The part of `result.json` that is compared."""

    finished: bool
    last_step: int | None = None
    evaluation_loss: str | None = None
    parameters: str | None = None


def read_outcome(metrics: bytes, fingerprints: bytes, result: bytes | None, *, name: str) -> ReadOutcome:
    """The outcome in the files of the folder `name`, and what does not fit together in it.

    `result` is None when the training left no `result.json`. Raises InputError with file, line and
    field for a line that cannot be read.
    """
    lines = _read_metrics(metrics, f"{name}/{METRICS_FILE}")
    prints = _read_fingerprints(fingerprints, f"{name}/{FINGERPRINTS_FILE}")
    end = _read_result(result, f"{name}/{RESULT_FILE}")
    last = {step.step: step for step in lines}
    by_step = {item.step: item for item in prints}
    outcome = Outcome(
        steps=tuple(last[number] for number in sorted(last)),
        tensors={number: by_step[number].tensors for number in sorted(by_step)},
        evaluation_loss=end.evaluation_loss,
        initial_parameters=by_step[0].parameters if 0 in by_step else None,
        final_parameters=end.parameters,
        finished=end.finished,
    )
    problems = (
        *_find_gaps(outcome.steps),
        *_find_redone_steps(lines),
        *_find_redone_tensors(prints),
        *_find_contradictions(outcome, by_step, end),
    )
    return ReadOutcome(outcome=outcome, problems=problems)


def _read_metrics(data: bytes, name: str) -> list[Step]:
    steps: list[Step] = []
    for fields in read_json_lines(data, name=name, limit_bytes=METRICS_LIMIT_BYTES):
        step = read_step(fields)
        if steps:
            _check_order(fields, step, steps[-1])
        steps.append(step)
    return steps


def _read_fingerprints(data: bytes, name: str) -> list[_Fingerprints]:
    prints: list[_Fingerprints] = []
    for fields in read_json_lines(data, name=name, limit_bytes=FINGERPRINTS_LIMIT_BYTES):
        item = _Fingerprints(
            step=fields.count("step"),
            attempt=fields.count("attempt", least=1),
            parameters=fingerprint(fields, "parameters"),
            tensors=_read_tensors(fields),
        )
        if prints:
            _check_order(fields, item, prints[-1])
            if item.tensors.keys() != prints[0].tensors.keys():
                first = prints[0].step
                raise fields.error("tensors", f"names other parameters than at step {first}")
        prints.append(item)
    return prints


def _read_tensors(fields: Fields) -> dict[str, str]:
    below = fields.below("tensors")
    tensors = {}
    for name in below.values:
        check_tensor_name(fields, "tensors", name)
        tensors[name] = fingerprint(below, name)
    if not tensors:
        raise fields.error("tensors", "must name at least one parameter")
    return tensors


def _check_order(fields: Fields, item: Step | _Fingerprints, before: Step | _Fingerprints) -> None:
    if item.attempt < before.attempt:
        raise fields.error("attempt", f"must not fall from {before.attempt} to {item.attempt}")
    if item.attempt == before.attempt and item.step <= before.step:
        attempt = item.attempt
        raise fields.error("step", f"must rise within attempt {attempt}, not go from {before.step} to {item.step}")


def _read_result(data: bytes | None, name: str) -> _Result:
    if data is None:
        return _Result(finished=False)
    try:
        return _parse_result(read_json_file(data, name=name, limit_bytes=RESULT_LIMIT_BYTES))
    except InputError as error:
        # The file has many lines, and JSON does not say on which one a value stands.
        raise InputError(error.message, hint=error.hint, file=name, field=error.field) from error


def _parse_result(fields: Fields) -> _Result:
    evaluation = fields.below("evaluation") if fields.has("evaluation") else None
    return _Result(
        finished=fields.text("status", choices=("finished", "failed")) == "finished",
        last_step=fields.count("last_step") if fields.has("last_step") else None,
        evaluation_loss=hex_float(evaluation, "loss") if evaluation else None,
        parameters=fingerprint(fields, "parameters") if fields.has("parameters") else None,
    )


def _find_gaps(steps: tuple[Step, ...]) -> list[Problem]:
    if not steps:
        return []
    if (first := steps[0].step) != 1:
        message = f"the record does not start at step 1, but at step {first}"
        return [Problem(step=first, field="step", message=message)]
    for before, step in pairwise(steps):
        if step.step != before.step + 1:
            message = f"the record goes from step {before.step} straight to step {step.step}"
            return [Problem(step=step.step, field="step", message=message)]
    return []


def _find_redone_steps(lines: list[Step]) -> list[Problem]:
    problems = []
    done: dict[int, Step] = {}
    for step in lines:
        before = done.get(step.step)
        done[step.step] = step
        for word, attribute in STEP_BITS.items() if before else ():
            old, new = getattr(before, attribute), getattr(step, attribute)
            if None not in (old, new) and old != new:
                message = (
                    f"attempt {step.attempt} did step {step.step} again, with another value of {word}: {new}, not {old}"
                )
                problems.append(Problem(step=step.step, field=word, message=message))
    return problems


def _find_redone_tensors(prints: list[_Fingerprints]) -> list[Problem]:
    problems = []
    done: dict[int, _Fingerprints] = {}
    for item in prints:
        before = done.get(item.step, item)
        done[item.step] = item
        changed = [name for name, value in item.tensors.items() if before.tensors[name] != value]
        if changed:
            message = (
                f"attempt {item.attempt} reached step {item.step} again with other parameters: "
                f"`{changed[0]}` is the first of {len(changed)}"
            )
            problems.append(Problem(step=item.step, field="parameters", message=message))
    return problems


def _find_contradictions(outcome: Outcome, prints: Mapping[int, _Fingerprints], end: _Result) -> list[Problem]:
    problems = []
    for step in outcome.steps:
        item = prints.get(step.step)
        if item and step.parameters and item.parameters != step.parameters:
            message = (
                f"`{METRICS_FILE}` says parameters {step.parameters} after step {step.step}, "
                f"and `{FINGERPRINTS_FILE}` says {item.parameters}"
            )
            problems.append(Problem(step=step.step, field="parameters", message=message))
    last = outcome.last_step
    if end.finished and end.last_step not in (None, last):
        message = f"`{RESULT_FILE}` says last step {end.last_step}, and `{METRICS_FILE}` ends with step {last}"
        problems.append(Problem(step=last, field="step", message=message))
    final = outcome.steps[-1].parameters if outcome.steps else None
    if end.finished and None not in (final, end.parameters) and final != end.parameters:
        message = f"`{RESULT_FILE}` says parameters {end.parameters}, and `{METRICS_FILE}` ends with {final}"
        problems.append(Problem(step=last, field="final parameters", message=message))
    return problems
