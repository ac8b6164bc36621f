"""The lines of a training's files, and what reading them gives."""

from dataclasses import replace

from rdlc.core.outcome import Outcome, Problem
from rdlc.core.outcome_files import read_outcome
from tests.diff_samples import TENSORS, a_fingerprint, make_step, metrics_line


def read_files(files: dict[str, bytes]) -> tuple[Outcome, tuple[Problem, ...]]:
    result = read_outcome(
        files.get("metrics.jsonl", b""),
        files.get("fingerprints.jsonl", b""),
        files.get("result.json"),
        name="runs/r1",
    )
    return result.outcome, result.problems


def fingerprints_line(step: int, attempt: int, parameters: int, first: int) -> dict[str, object]:
    tensors = {TENSORS[0]: a_fingerprint(first), TENSORS[1]: a_fingerprint(1)}
    return {
        "attempt": attempt,
        "step": step,
        "parameters": a_fingerprint(parameters),
        "tensors": tensors,
    }


def lines_of(attempt: int, *numbers: int) -> list[dict[str, object]]:
    return [metrics_line(replace(make_step(number), attempt=attempt)) for number in numbers]
