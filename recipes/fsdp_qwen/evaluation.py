"""The loss on held-out rows, beside what the true source would score on the same rows."""

import math

import torch

from fsdp_qwen.data import TokenSource, held_out_rows
from fsdp_qwen.loss import gather, summed_loss
from fsdp_qwen.model import ShardedModel
from fsdp_qwen.outcome import Evaluation
from fsdp_qwen.place import Place
from fsdp_qwen.recipe_settings import RecipeConfig


@torch.no_grad()
def evaluate(model: ShardedModel, source: TokenSource, *, recipe: RecipeConfig, place: Place) -> float | None:
    """The mean loss per held-out token over all ranks, or None without evaluation rows."""
    if not recipe.evaluation_rows:
        return None
    mine = place.share(recipe.evaluation_rows)
    # As many rows at a time as in a micro-step, so that evaluating needs no more memory.
    at_once = recipe.global_batch_size // place.world_size // recipe.compute.gradient_accumulation
    losses = []
    for start in range(mine.start, mine.stop, at_once):
        rows = range(start, min(start + at_once, mine.stop))
        tokens = torch.tensor(held_out_rows(source, rows=rows, length=recipe.sequence_length + 1))
        losses.append(summed_loss(model, tokens, place.device).item())
    everyone, _ = gather(math.fsum(losses), [], place)
    return math.fsum(everyone) / (recipe.evaluation_rows * recipe.sequence_length)


def compare(before: float | None, after: float | None, source: TokenSource, recipe: RecipeConfig) -> Evaluation | None:
    """Both evaluations beside the true source's loss, or None without evaluation rows."""
    if before is None or after is None:
        return None
    tokens = recipe.evaluation_rows * recipe.sequence_length
    rows = held_out_rows(source, rows=range(recipe.evaluation_rows), length=recipe.sequence_length + 1)
    known = [nats for row in rows if (nats := source.source_nats(row)) is not None]
    return Evaluation(
        rows=recipe.evaluation_rows,
        tokens=tokens,
        loss_before=before,
        loss=after,
        source_loss=math.fsum(known) / tokens if known else None,
    )
