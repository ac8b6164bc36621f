"""`result.json`: the outcome of a run, from what the ranks wrote and what rank 0 gave back."""

from collections.abc import Mapping
from dataclasses import asdict

from fsdp_qwen.checkpoint_index import saved_by_run
from fsdp_qwen.config import Config
from fsdp_qwen.failures import Failure, TrainingFailed
from fsdp_qwen.outcome import Evaluation, Outcome
from fsdp_qwen.records import Output, read_lines, write_document


def write_result(config: Config, output: Output, ended: Outcome | Failure) -> None:
    """Writes the result of a finished run or of a failed one; atomic."""
    steps = read_lines(output.metrics)
    document: dict[str, object] = {
        "format": 1,
        "status": "failed" if isinstance(ended, Failure) else "finished",
        "error": None,
        "first_step": steps[0]["step"] if steps else None,
        "last_step": steps[-1]["step"] if steps else None,
        "attempts": _attempts(output, steps),
        "world_size": config.num_workers,
        "ranks": _ranks(output, config.num_workers),
        "layout": None,
        "data": None,
        "evaluation": None,
        "parameters": None,
        "timing": None,
        **_checkpoints(config, output),
    }
    if isinstance(ended, Failure):
        document["error"] = {"message": ended.message, "rank": ended.rank, "field": ended.field}
    else:
        document |= {
            "layout": ended.layout,
            "data": ended.data,
            "evaluation": _evaluation(ended.evaluation),
            "parameters": ended.parameters,
            "timing": ended.timing,
        }
        if ended.exported is not None:
            document["exported"] = ended.exported
    write_document(output.result, document)


def _checkpoints(config: Config, output: Output) -> dict[str, object]:
    """The complete checkpoints; if storage cannot be asked now, none of them, and why."""
    try:
        return {"checkpoints": saved_by_run(config, output)}
    except TrainingFailed as error:
        return {"checkpoints": [], "checkpoints_why": error.message}


def _attempts(output: Output, steps: list[dict[str, object]]) -> list[dict[str, object]]:
    """Each attempt, its first step (None if it recorded none), and the failure that led to it."""
    failures = {line["attempt"]: line["message"] for line in read_lines(output.path / "failures.jsonl")}
    last = max([1, *(int(str(line["attempt"])) for line in read_lines(output.path / "phases.jsonl"))])
    return [
        {
            "attempt": attempt,
            "start_step": next((line["step"] for line in steps if line["attempt"] == attempt), None),
            "reason": failures.get(attempt - 1),
        }
        for attempt in range(1, last + 1)
    ]


def _ranks(output: Output, world_size: int) -> list[dict[str, object]]:
    """Which rank was where, for the ranks that came far enough to say so."""
    found = (output.read_worker(rank) for rank in range(world_size))
    names = ("rank", "local_rank", "node_rank", "host")
    return [{name: worker[name] for name in names} for worker in found if worker is not None]


def _evaluation(evaluation: Evaluation | None) -> Mapping[str, object] | None:
    if evaluation is None:
        return None
    return {name: value.hex() if isinstance(value, float) else value for name, value in asdict(evaluation).items()}
