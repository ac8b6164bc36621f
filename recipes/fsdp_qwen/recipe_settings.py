"""The `recipe` section of a run's configuration: what is trained, how long, and how it is laid out and computed."""

from dataclasses import dataclass, field

from fsdp_qwen.compute_settings import ComputeSettings, check_compute, read_compute
from fsdp_qwen.failures import ConfigError
from fsdp_qwen.fields import Fields
from fsdp_qwen.schedule import SCHEDULES

MODELS = ("tiny", "qwen2.5-1.5b", "pretrained")
PRECISIONS = ("fp32", "bf16")
OPTIMIZERS = ("foreach", "for-loop", "fused")
EXPORTS = ("none", "last", "best")


@dataclass(frozen=True, kw_only=True, slots=True)
class RecipeConfig:
    """The training run's own settings, as in `configs/*.yaml`."""

    model: str
    steps: int
    global_batch_size: int
    sequence_length: int
    learning_rate: float
    learning_rate_warmup_steps: int
    learning_rate_schedule: str
    learning_rate_floor: float
    weight_decay: float
    adam_betas: tuple[float, float]
    adam_epsilon: float
    gradient_clip_norm: float
    precision: str
    optimizer_implementation: str
    checkpoint_every: int
    fingerprint_every: int
    evaluation_rows: int
    evaluate_every: int
    export: str
    warmup_steps: int
    tensorboard: bool = False
    compute: ComputeSettings = field(default_factory=ComputeSettings)


def read_recipe(fields: Fields, num_workers: int) -> RecipeConfig:
    """The `recipe` section of a config for so many workers; raises `ConfigError` naming the field."""
    recipe = RecipeConfig(
        model=fields.choice("model", MODELS),
        steps=fields.whole("steps", at_least=1),
        global_batch_size=fields.whole("global_batch_size", at_least=1),
        sequence_length=fields.whole("sequence_length", at_least=1, at_most=32768),
        learning_rate=fields.number("learning_rate", above=0.0),
        learning_rate_warmup_steps=fields.whole("learning_rate_warmup_steps", at_least=0, default=0),
        learning_rate_schedule=fields.choice("learning_rate_schedule", SCHEDULES, default="constant"),
        learning_rate_floor=fields.number("learning_rate_floor", default=0.0),
        weight_decay=fields.number("weight_decay"),
        adam_betas=fields.pair("adam_betas", below=1.0),
        adam_epsilon=fields.number("adam_epsilon", above=0.0, default=1e-8),
        gradient_clip_norm=fields.number("gradient_clip_norm", above=0.0),
        precision=fields.choice("precision", PRECISIONS),
        optimizer_implementation=fields.choice("optimizer_implementation", OPTIMIZERS, default="foreach"),
        checkpoint_every=fields.whole("checkpoint_every", at_least=0, default=0),
        fingerprint_every=fields.whole("fingerprint_every", at_least=1, default=1),
        evaluation_rows=fields.whole("evaluation_rows", at_least=0, default=0),
        evaluate_every=fields.whole("evaluate_every", at_least=0, default=0),
        export=fields.choice("export", EXPORTS, default="none"),
        warmup_steps=fields.whole("warmup_steps", at_least=0, default=0),
        tensorboard=fields.flag("tensorboard", default=False),
        compute=read_compute(fields),
    )
    fields.finish()
    # Each rank takes an equal share, so that a mean of ranks is the mean of rows.
    for name in ("global_batch_size", "evaluation_rows"):
        rows = getattr(recipe, name)
        if rows % num_workers:
            raise ConfigError(f"recipe.{name}: {rows} rows can't be split evenly over num_workers {num_workers}")
    check_compute(recipe.compute, global_batch_size=recipe.global_batch_size, num_workers=num_workers)
    return recipe
