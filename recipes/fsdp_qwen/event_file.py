"""The steps as TensorBoard shows them: one event file below `tensorboard/`, written by rank 0."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fsdp_qwen.failures import TrainingFailed
from fsdp_qwen.records import StepRecord


@dataclass(frozen=True, kw_only=True, slots=True)
class EventFile:
    """An open event file; its writer has a thread of its own."""

    _writer: Any

    @classmethod
    def open(cls, folder: Path) -> "EventFile":
        """A new event file; raises `TrainingFailed` where nothing can write one."""
        try:
            from tensorboardX import SummaryWriter
        except ImportError as error:
            raise TrainingFailed(
                "recipe.tensorboard: tensorboardX is not installed (it comes with `ray[train]`)",
                field="recipe.tensorboard",
            ) from error
        return cls(_writer=SummaryWriter(str(folder)))

    def add(self, record: StepRecord, world_size: int) -> None:
        """Adds a step."""
        rate = record.tokens / record.step_s
        values = {
            "loss": record.loss,
            "gradient_norm": record.gradient_norm,
            "learning_rate": record.learning_rate,
            "step_s": record.step_s,
            "tokens_per_s": rate,
            "tokens_per_s_per_rank": rate / world_size,
        }
        for name, value in values.items():
            self._writer.add_scalar(name, value, record.step)

    def close(self) -> None:
        """Writes out what is left."""
        self._writer.close()
