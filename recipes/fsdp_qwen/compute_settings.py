"""How a step is computed and laid out on the ranks: keys of the config's `recipe` section.

None of them changes what is trained; several change the bits, and all change speed and memory.
"""

from dataclasses import dataclass

from fsdp_qwen.failures import ConfigError
from fsdp_qwen.fields import Fields

LOSSES = ("full", "chunked")
COMPILES = ("none", "blocks", "blocks-and-loss")
ATTENTIONS = ("auto", "math", "flash", "efficient", "cudnn")
ACTIVATIONS = ("none", "selective", "full")
REDUCE_DTYPES = ("float32", "bfloat16")
RESHARDS = ("blocks", "all", "none")


@dataclass(frozen=True, kw_only=True, slots=True)
class ComputeSettings:
    """The defaults are the plainest way.

    loss: `chunked` computes it `loss_chunk_tokens` tokens at a time, so that the float32 logits of the
    whole vocabulary never exist for more. compile: what torch.compile makes kernels for. attention: the
    one SDPA backend that may run, `auto` leaves it to PyTorch. activation_checkpointing: whether blocks
    are computed again in the backward pass: each one, every other one, or none.
    gradient_accumulation: micro-steps of a step; only the last one reduces gradients. reduce_dtype: of
    gradients on the wire. reshard: which groups' weights are let go between forward and backward pass.
    replicas: groups of ranks that hold the whole model each (HSDP). prefetch: how many blocks ahead
    weights are gathered; 0 leaves it to FSDP.
    """

    loss: str = "full"
    loss_chunk_tokens: int = 4096
    compile: str = "none"
    attention: str = "auto"
    activation_checkpointing: str = "none"
    gradient_accumulation: int = 1
    reduce_dtype: str = "float32"
    reshard: str = "blocks"
    replicas: int = 1
    prefetch: int = 0

    @property
    def compiles_blocks(self) -> bool:
        """Whether each decoder block is compiled."""
        return self.compile != "none"

    @property
    def compiles_loss(self) -> bool:
        """Whether the loss is compiled."""
        return self.compile == "blocks-and-loss"


PLAIN = ComputeSettings()


def read_compute(fields: Fields) -> ComputeSettings:
    """These keys of a `recipe` section, each of which may be left out."""
    return ComputeSettings(
        loss=fields.choice("loss", LOSSES, default="full"),
        loss_chunk_tokens=fields.whole("loss_chunk_tokens", at_least=1, default=4096),
        compile=fields.choice("compile", COMPILES, default="none"),
        attention=fields.choice("attention", ATTENTIONS, default="auto"),
        activation_checkpointing=fields.choice("activation_checkpointing", ACTIVATIONS, default="none"),
        gradient_accumulation=fields.whole("gradient_accumulation", at_least=1, default=1),
        reduce_dtype=fields.choice("reduce_dtype", REDUCE_DTYPES, default="float32"),
        reshard=fields.choice("reshard", RESHARDS, default="blocks"),
        replicas=fields.whole("replicas", at_least=1, default=1),
        prefetch=fields.whole("prefetch", at_least=0, at_most=64, default=0),
    )


def check_compute(compute: ComputeSettings, *, global_batch_size: int, num_workers: int) -> None:
    """Refuses settings that do not divide; raises `ConfigError` naming the field."""
    if num_workers % compute.replicas:
        raise ConfigError(
            f"recipe.replicas: num_workers {num_workers} can't be split evenly into {compute.replicas} replicas"
        )
    micro_steps = compute.gradient_accumulation
    if global_batch_size % (num_workers * micro_steps):
        raise ConfigError(
            f"recipe.gradient_accumulation: global_batch_size {global_batch_size} can't be split evenly over "
            f"num_workers {num_workers} times {micro_steps} micro-steps"
        )


def check_exact_compute(compute: ComputeSettings) -> None:
    """Refuses what has no deterministic kernel; raises `ConfigError` naming the field."""
    if compute.attention in ("efficient", "cudnn"):
        raise ConfigError(
            f"recipe.attention: `{compute.attention}` is not deterministic in its backward pass, "
            "exact mode allows only `auto`, `math`, `flash`"
        )
