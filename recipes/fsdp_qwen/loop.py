"""The training run, top to bottom; it knows nothing of Ray or of how its process was started.

`publish` takes a folder with this rank's part of a checkpoint and makes it part of the run's
storage; `restore` gives back the folder of the newest complete checkpoint, or None. All ranks call
every function here in the same order.
"""

import math
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import mkdtemp

import torch
from torch.distributed.fsdp import FSDPModule
from torch.distributed.tensor import DTensor

from fsdp_qwen import checkpoint, held_out
from fsdp_qwen.config import Config
from fsdp_qwen.data import (
    TokenSource,
    batch_digest,
    describe_data,
    make_source,
    row_digests,
)
from fsdp_qwen.evaluation import compare, evaluate
from fsdp_qwen.failures import TrainingFailed
from fsdp_qwen.fingerprint import Fingerprint, fingerprint
from fsdp_qwen.loss import gather, summed_loss
from fsdp_qwen.meter import Meter
from fsdp_qwen.model import ShardedModel, build_model, make_mesh
from fsdp_qwen.network import Recorder
from fsdp_qwen.outcome import Outcome
from fsdp_qwen.place import Place
from fsdp_qwen.recipe_settings import RecipeConfig
from fsdp_qwen.records import Output, StepRecord
from fsdp_qwen.rows import Rows
from fsdp_qwen.schedule import scheduled_rate

Publish = Callable[[Path, int], None]
Restore = Callable[[], Path | None]


@dataclass(frozen=True, kw_only=True, slots=True)
class Training:
    """What all steps of a run share."""

    model: ShardedModel
    source: TokenSource
    rows: Rows
    optimizer: torch.optim.Optimizer
    recipe: RecipeConfig
    place: Place
    output: Output


def train(config: Config, place: Place, output: Output, *, publish: Publish, restore: Restore) -> Outcome:
    """Trains from step 1, or from the newest checkpoint, to the last step."""
    recipe = config.recipe

    # The optimizer comes after sharding, so that its state is sharded like the weights.
    model = build_model(recipe, seed=config.seed, mesh=make_mesh(recipe, place), pretrained=config.model)
    source = make_source(config, model.vocabulary)
    optimizer = make_optimizer(model, recipe)
    state = checkpoint.State(model=model.module, optimizer=optimizer, device=place.device)
    rows = Rows(source=source, recipe=recipe, place=place)
    run = Training(
        model=model, source=source, rows=rows, optimizer=optimizer, recipe=recipe, place=place, output=output
    )

    start = find_start(run, state, restore())
    begin(run, start.step)
    meter = Meter.start(model.module, place, output, warmup_steps=recipe.warmup_steps, has_events=recipe.tensorboard)

    # Read before the first step, after the warm-up and after the last step.
    network = Recorder(place=place, output=output, workload=describe_workload(model, recipe, place))
    network.read(start.step)
    warmed_up = last_warmup_step(start.step, recipe)
    seconds = []
    for step in range(start.step + 1, recipe.steps + 1):
        seconds.append(train_step(run, step, meter))
        network.end_step(step)
        if recipe.checkpoint_every and step % recipe.checkpoint_every == 0:
            with network.outside():
                part = Path(mkdtemp(prefix=f"{step}-{place.rank}-", dir=output.parts))
                checkpoint.save(state, part, step=step, loss_before=start.loss_before)
                publish(part, step)
        if is_evaluated(step, recipe):
            with network.outside():
                evaluate_after(run, step)
        if step in (warmed_up, recipe.steps):
            network.read(step)
        if step == warmed_up and place.rank == 0:
            output.add_phase("warmed-up", place.attempt)

    meter.finish(seconds, first_step=start.step + 1)
    if place.rank == 0:
        output.add_phase("evaluating", place.attempt)
    loss_after = evaluate_after(run, recipe.steps)
    outcome = Outcome(
        layout=model.layout.to_json(),
        data=describe_data(config, source),
        evaluation=held_out.with_best(compare(start.loss_before, loss_after, source, recipe), output),
        parameters=fingerprint(model.parameters(), place.device).total,
        timing=summarize_time(seconds, recipe),
    )
    return replace(outcome, exported=held_out.export(config, model, state, place, output))


def find_start(run: Training, state: checkpoint.State, folder: Path | None) -> checkpoint.Resumed:
    """Where training begins: a new run measures the untrained model; a resumed one knows from its checkpoint."""
    if folder is None:
        loss = evaluate(run.model, run.source, recipe=run.recipe, place=run.place)
        return checkpoint.Resumed(step=0, loss_before=loss)
    if run.place.attempt == 1:
        raise TrainingFailed(f"{folder}: a first attempt must start at step 1, but its run has a checkpoint already")
    return checkpoint.load(state, folder)


def begin(run: Training, step: int) -> None:
    """Says that training begins after `step` updates, and with which weights if they are new."""
    weights = fingerprint(run.model.parameters(), run.place.device)
    if run.place.rank == 0:
        run.output.add_phase("training", run.place.attempt)
        if step == 0:
            run.output.add_fingerprint(run.place.attempt, step, weights)


def train_step(run: Training, step: int, meter: Meter) -> float:
    """One update of the weights and its record; gives back the seconds it took.

    The time covers all of it: rows, update, fingerprint, and the device's queued work.
    """
    recipe, place = run.recipe, run.place
    started = now(place.device)
    meter.times.begin(step)

    # This rank's rows of the global batch. tokens: int64 [rows, sequence + 1], on the CPU.
    tokens = run.rows.take(step)
    meter.times.rows_ready()

    global_tokens = recipe.global_batch_size * recipe.sequence_length
    loss_sum = make_gradients(run, tokens, global_tokens)
    with meter.times.collective():
        norm = torch.nn.utils.clip_grad_norm_(run.model.module.parameters(), recipe.gradient_clip_norm)

    # The learning rate is computed from the step: there is no scheduler whose state could be lost.
    rate = learning_rate(step, recipe)
    for group in run.optimizer.param_groups:
        group["lr"] = rate
    run.optimizer.step()
    run.optimizer.zero_grad(set_to_none=True)

    # Only now does anything wait for the device, which has all of the step to do; meanwhile rows are made.
    with meter.times.preparing():
        run.rows.prepare(step + 1)
    gradient_norm = (norm.full_tensor() if isinstance(norm, DTensor) else norm).item()
    mine = loss_sum.item(), row_digests(tokens)
    with meter.times.collective():
        losses, digests = gather(*mine, place)
    loss = math.fsum(losses) / global_tokens
    check_finite(step, loss=loss, gradient_norm=gradient_norm)

    weights = fingerprint_if_due(run, step)
    seconds = now(place.device) - started
    meter.times.end()
    if place.rank == 0:
        record = StepRecord(
            attempt=place.attempt,
            step=step,
            loss=loss,
            gradient_norm=gradient_norm,
            learning_rate=rate,
            tokens=global_tokens,
            batch_digest=batch_digest(digests),
            parameters=weights.total if weights else None,
            step_s=seconds,
        )
        # The fingerprints come first, so that a step in `metrics.jsonl` always has its own.
        if weights:
            run.output.add_fingerprint(place.attempt, step, weights)
        run.output.add_step(record)
        meter.show(record)
    return seconds


def make_gradients(run: Training, tokens: torch.Tensor, global_tokens: int) -> torch.Tensor:
    """This rank's summed loss, float32 []; the gradients of the step are there afterwards, summed over ranks.

    Each rank sums its loss over tokens and divides by the global count, and gradients are summed over
    micro-steps and ranks. So the gradient is that of the global mean, however the rows are split.
    """
    micro_steps = run.recipe.compute.gradient_accumulation
    total = torch.zeros((), device=run.place.device)
    for number, part in enumerate(tokens.chunk(micro_steps), start=1):
        if micro_steps > 1:
            # Gradients stay whole on each rank until the last micro-step reduces their sum.
            assert isinstance(run.model.module, FSDPModule)
            run.model.module.set_requires_gradient_sync(number == micro_steps)
        loss_sum = summed_loss(run.model, part, run.place.device)
        (loss_sum / global_tokens).backward()
        total += loss_sum.detach()
    return total


def is_evaluated(step: int, recipe: RecipeConfig) -> bool:
    """Whether the held-out loss is due after this step, which is not the last: that one always is."""
    return bool(recipe.evaluate_every) and step % recipe.evaluate_every == 0 and step < recipe.steps


def evaluate_after(run: Training, step: int) -> float | None:
    """The held-out loss after a step; noted where more than the last step is evaluated."""
    loss = evaluate(run.model, run.source, recipe=run.recipe, place=run.place)
    if run.recipe.evaluate_every:
        held_out.record_evaluation(run.output, run.place, step=step, loss=loss)
    return loss


def fingerprint_if_due(run: Training, step: int) -> Fingerprint | None:
    """The fingerprint of the weights after this step, each few steps and after the last."""
    if step % run.recipe.fingerprint_every and step != run.recipe.steps:
        return None
    return fingerprint(run.model.parameters(), run.place.device)


def check_finite(step: int, *, loss: float, gradient_norm: float) -> None:
    """Ends the run if its numbers are no longer numbers; all ranks see the same values."""
    for field, value in (("loss", loss), ("gradient_norm", gradient_norm)):
        if not math.isfinite(value):
            raise TrainingFailed(f"step {step}: {field} is {value}", field=field)


def make_optimizer(model: ShardedModel, recipe: RecipeConfig) -> torch.optim.Optimizer:
    """AdamW over all parameters, float32, in the implementation that the config names."""
    return torch.optim.AdamW(
        model.module.parameters(),
        lr=recipe.learning_rate,
        betas=recipe.adam_betas,
        eps=recipe.adam_epsilon,
        weight_decay=recipe.weight_decay,
        foreach=recipe.optimizer_implementation == "foreach",
        fused=recipe.optimizer_implementation == "fused",
    )


def learning_rate(step: int, recipe: RecipeConfig) -> float:
    """The rate of a step, by the schedule of the config."""
    return scheduled_rate(
        step,
        peak=recipe.learning_rate,
        warmup_steps=recipe.learning_rate_warmup_steps,
        steps=recipe.steps,
        schedule=recipe.learning_rate_schedule,
        floor=recipe.learning_rate_floor,
    )


def describe_workload(model: ShardedModel, recipe: RecipeConfig, place: Place) -> dict[str, object]:
    """What the bytes and the FLOPs of a step follow from, as `network.json` shows it."""
    return {
        "layout": model.layout.to_json(),
        "rows_per_rank": recipe.global_batch_size // place.world_size,
        **({"micro_steps": micro_steps} if (micro_steps := recipe.compute.gradient_accumulation) > 1 else {}),
        "sequence_length": recipe.sequence_length,
        "fingerprint_every": recipe.fingerprint_every,
    }


def last_warmup_step(start: int, recipe: RecipeConfig) -> int:
    """The step after which an attempt that begins after step `start` counts as warmed up; at least its first."""
    last = start + recipe.warmup_steps
    return last if start < last < recipe.steps else start + 1


def summarize_time(seconds: list[float], recipe: RecipeConfig) -> dict[str, object]:
    """The median step time of the last attempt, without its first `warmup_steps` steps."""
    counted = seconds[recipe.warmup_steps :]
    median = statistics.median(counted) if counted else None
    tokens = recipe.global_batch_size * recipe.sequence_length
    return {
        "warmup_steps": recipe.warmup_steps,
        "counted_steps": len(counted),
        "median_step_s": median and round(median, 6),
        "tokens_per_s": median and round(tokens / median, 1),
    }


def now(device: torch.device) -> float:
    """Seconds on a steady clock, after all work queued on the device is done."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()
