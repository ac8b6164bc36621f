"""This rank's rows of each step, made while the device still works on the step before."""

from dataclasses import dataclass, field

from torch import Tensor

from fsdp_qwen.data import TokenSource, training_rows
from fsdp_qwen.place import Place
from fsdp_qwen.recipe_settings import RecipeConfig


@dataclass(kw_only=True, slots=True)
class Rows:
    """The rows of one rank; those of a step are the same whether or not they were prepared."""

    source: TokenSource
    recipe: RecipeConfig
    place: Place
    _ready: dict[int, Tensor] = field(default_factory=dict)

    def take(self, step: int) -> Tensor:
        """The rows of a step: int64 [rows, sequence + 1], on the CPU."""
        tokens = self._ready.pop(step, None)
        return self._make(step) if tokens is None else tokens

    def prepare(self, step: int) -> None:
        """Makes the rows of the next step; a CPU would be kept from its own work by that, and makes them when due."""
        if self.place.device.type == "cuda" and step <= self.recipe.steps:
            self._ready = {step: self._make(step)}

    def _make(self, step: int) -> Tensor:
        rows = self.place.share(self.recipe.global_batch_size)
        return training_rows(self.source, step=step, rows=rows, length=self.recipe.sequence_length + 1)
