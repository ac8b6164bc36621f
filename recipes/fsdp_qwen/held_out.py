"""The held-out loss as training goes on, the step where it was best, and the model that is exported at the end."""

from dataclasses import dataclass, replace

import torch.distributed as dist

from fsdp_qwen import checkpoint
from fsdp_qwen.config import Config
from fsdp_qwen.export import export_model
from fsdp_qwen.failures import TrainingFailed
from fsdp_qwen.fetching import fetch_folder
from fsdp_qwen.locked_folder import LockedFolder, find_fault
from fsdp_qwen.model import ShardedModel
from fsdp_qwen.outcome import Evaluation
from fsdp_qwen.place import Place
from fsdp_qwen.records import Output, append_line, read_lines
from fsdp_qwen.storage import opened_storage

EVALUATIONS = "evaluations.jsonl"
EXPORT = "export"


@dataclass(frozen=True, kw_only=True, slots=True)
class Best:
    """The step after which the held-out loss was least, and that loss in nats per token."""

    step: int
    loss: float


def check_folders(config: Config, place: Place) -> None:
    """Refuses weights and text that are not as locked; a collective. One rank of each node reads them."""
    folders = [config.model, config.data.text.folder if config.data.text else None]
    locked = [folder for folder in folders if folder is not None]
    if not locked:
        return
    faults = [_find_fault(locked) if place.local_rank == 0 else None] * place.world_size
    dist.all_gather_object(faults, faults[0])
    for fault in faults:
        if fault is not None:
            raise fault


def _find_fault(folders: list[LockedFolder]) -> TrainingFailed | None:
    """Why the files of this node can't be used, after those that it lacks were fetched."""
    try:
        for folder in folders:
            fetch_folder(folder)
    except TrainingFailed as error:
        return error
    return find_fault(folders)


def record_evaluation(output: Output, place: Place, *, step: int, loss: float | None) -> None:
    """Adds the held-out loss after a step to the run's record; rank 0 does."""
    if place.rank == 0 and loss is not None:
        append_line(output.path / EVALUATIONS, {"attempt": place.attempt, "step": step, "loss": loss.hex()})


def find_best(output: Output) -> Best | None:
    """The best of all steps that were evaluated, the first one of equals; None if none was."""
    # A step that was done again has the same loss, or is a later attempt's.
    losses = {
        int(str(line["step"])): float.fromhex(str(line["loss"])) for line in read_lines(output.path / EVALUATIONS)
    }
    if not losses:
        return None
    step = min(losses, key=lambda step: (losses[step], step))
    return Best(step=step, loss=losses[step])


def with_best(evaluation: Evaluation | None, output: Output) -> Evaluation | None:
    """The evaluation with the best step in it, where more than the last one was evaluated."""
    best = find_best(output)
    if evaluation is None or best is None:
        return evaluation
    return replace(evaluation, best_step=best.step, best_loss=best.loss)


def export(
    config: Config, model: ShardedModel, state: checkpoint.State, place: Place, output: Output
) -> dict[str, object] | None:
    """Writes the last or the best weights to the run's `export` folder; says which, None for none. A collective."""
    recipe = config.recipe
    if recipe.export == "none":
        return None
    step = recipe.steps
    if recipe.export == "best":
        found = [find_best(output)] if place.rank == 0 else [None]
        dist.broadcast_object_list(found, src=0)
        assert found[0] is not None
        step = found[0].step
    if step != recipe.steps:
        with opened_storage(config, place, output) as storage:
            checkpoint.load(state, storage.find(step))
    export_model(model, output.path / EXPORT, step=step, pretrained=config.model)
    return {"folder": EXPORT, "step": step}
