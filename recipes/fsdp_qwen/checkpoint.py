"""Checkpoints that are complete, intact and bit-exact, or refused.

A checkpoint is a folder: one `.distcp` file per rank and `.metadata`, written by
torch.distributed.checkpoint, and `checkpoint.json`, written last, with the step, the fingerprints
and the sha256 of every other file. Loading checks the files before, and the fingerprints of what
came out of them after. Nothing random has to be saved: rows follow from the step, and no operation
of the loop draws random numbers.
"""

from dataclasses import dataclass
from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.checkpoint.state_dict_loader import load as load_shards
from torch.distributed.checkpoint.state_dict_saver import save as save_shards

from fsdp_qwen.checkpoint_index import INDEX
from fsdp_qwen.digest import file_digest
from fsdp_qwen.failures import TrainingFailed
from fsdp_qwen.fingerprint import fingerprint
from fsdp_qwen.records import read_document, write_document


@dataclass(frozen=True, kw_only=True, slots=True)
class State:
    """What a checkpoint holds: the sharded model and its optimizer, on their device."""

    model: nn.Module
    optimizer: torch.optim.Optimizer
    device: torch.device

    def fingerprints(self) -> tuple[str, str]:
        """The fingerprints of the parameters and of the optimizer's state; a collective."""
        names: dict[Tensor, str] = {parameter: name for name, parameter in self.model.named_parameters()}
        moments: dict[str, Tensor] = {
            f"{names[parameter]}/{key}": value
            for parameter, state in self.optimizer.state.items()
            for key, value in state.items()
        }
        parameters = {name: parameter for parameter, name in names.items()}
        return fingerprint(parameters, self.device).total, fingerprint(moments, self.device).total


@dataclass(frozen=True, kw_only=True, slots=True)
class Resumed:
    """Where a checkpoint left off."""

    step: int
    loss_before: float | None


def save(state: State, folder: Path, *, step: int, loss_before: float | None) -> None:
    """Writes this rank's part of a checkpoint into this rank's own folder; a collective.

    Rank 0's part holds the index as well. The parts of all ranks together, in one folder, are the
    checkpoint.
    """
    model, optimizer = get_state_dict(state.model, state.optimizer)
    save_shards({"model": model, "optimizer": optimizer}, checkpoint_id=folder)
    parameters, moments = state.fingerprints()
    mine = {path.name: file_digest(path) for path in sorted(folder.iterdir())}
    gathered: list[dict[str, str]] = [{} for _ in range(dist.get_world_size())]
    dist.all_gather_object(gathered, mine)
    if dist.get_rank() == 0:
        files = {name: digest for part in gathered for name, digest in part.items()}
        index = {
            "format": 1,
            "step": step,
            "world_size": dist.get_world_size(),
            "loss_before": None if loss_before is None else loss_before.hex(),
            "parameters": parameters,
            "optimizer": moments,
            "files": dict(sorted(files.items())),
        }
        write_document(folder / INDEX, index)


def load(state: State, folder: Path) -> Resumed:
    """Loads a checkpoint into the model and the optimizer; a collective.

    Raises `TrainingFailed` naming the file if the checkpoint is not exactly what was saved.
    """
    index = _checked_index(folder)
    model, optimizer = get_state_dict(state.model, state.optimizer)
    load_shards({"model": model, "optimizer": optimizer}, checkpoint_id=folder)
    set_state_dict(state.model, state.optimizer, model_state_dict=model, optim_state_dict=optimizer)
    for name, found in zip(("parameters", "optimizer"), state.fingerprints(), strict=True):
        if found != index[name]:
            raise TrainingFailed(
                f"{folder / INDEX}: {name} has the fingerprint {index[name]}, but {found} was loaded",
                field="checkpoint",
            )
    step, loss_before = index["step"], index["loss_before"]
    assert isinstance(step, int)
    return Resumed(step=step, loss_before=None if loss_before is None else float.fromhex(str(loss_before)))


def _checked_index(folder: Path) -> dict[str, object]:
    """The index of an intact checkpoint.

    Each rank checks its share of the files; all ranks get the same answer.
    """
    index = read_document(folder / INDEX)
    if index is None:
        raise TrainingFailed(f"{folder / INDEX}: is missing, so the checkpoint is not complete", field="checkpoint")
    files = index["files"]
    assert isinstance(files, dict)
    names = sorted(files)[dist.get_rank() :: dist.get_world_size()]
    mine = next((fault for name in names if (fault := _fault(folder / name, files[name]))), None)
    faults: list[str | None] = [None] * dist.get_world_size()
    dist.all_gather_object(faults, mine)
    for fault in faults:
        if fault:
            raise TrainingFailed(fault, field="checkpoint")
    return index


def _fault(path: Path, expected: str) -> str | None:
    if not path.exists():
        return f"{path}: is missing, so the checkpoint is not complete"
    found = file_digest(path)
    if found != expected:
        return f"{path}: has {found}, but {expected} was saved, so the checkpoint is damaged"
    return None
