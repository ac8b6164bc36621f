"""What the estimate needs of a recipe's merged config; a key that is not there has the recipe's first behaviour."""

from collections.abc import Mapping
from dataclasses import dataclass

from rdlc.core.canonical import Json
from rdlc.core.estimate.shapes import SHAPES, ModelShape

_COMPUTE = {"bf16": "bfloat16", "fp32": "float32"}
CHUNK_TOKENS = 4096


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingSettings:
    """How a model is trained on `ranks` ranks; `rows` are those of one rank in one micro-step.

    `known` are the keys that the config has: no advice names another one.
    """

    shape: ModelShape
    ranks: int
    rows: int
    sequence_length: int
    compute_dtype: str
    reduce_dtype: str = "float32"
    loss: str = "full"
    chunk_tokens: int = CHUNK_TOKENS
    compiled: str = "none"
    checkpointing: str = "none"
    accumulation: int = 1
    reshard: str = "blocks"
    replicas: int = 1
    optimizer: str = "fused"
    known: frozenset[str] = frozenset()

    @property
    def tokens(self) -> int:
        """Tokens of one rank in one micro-step."""
        return self.rows * self.sequence_length

    @property
    def shards(self) -> int:
        """Ranks that one copy of the model is spread over."""
        return self.ranks // self.replicas


def read_settings(
    config: Mapping[str, Json], *, ranks: int, pretrained: ModelShape | None = None
) -> TrainingSettings | None:
    """The settings in a merged config; None for a model or a form that no formula is known for.

    `pretrained` is the shape of the weights that the run begins with, if it does.
    """
    shape = pretrained if is_pretrained(config) else SHAPES.get(str(config.get("model")))
    compute = _COMPUTE.get(str(config.get("precision")))
    rows, length = _count(config, "global_batch_size", 0), _count(config, "sequence_length", 0)
    accumulation, replicas = _count(config, "gradient_accumulation", 1), _count(config, "replicas", 1)
    if shape is None or compute is None or length == 0 or not accumulation or not replicas:
        return None
    if rows == 0 or rows % (ranks * accumulation) or ranks % replicas:
        return None
    return TrainingSettings(
        shape=shape,
        ranks=ranks,
        rows=rows // (ranks * accumulation),
        sequence_length=length,
        compute_dtype=compute,
        reduce_dtype=str(config.get("reduce_dtype", "float32")),
        loss=str(config.get("loss", "full")),
        chunk_tokens=_count(config, "loss_chunk_tokens", CHUNK_TOKENS) or CHUNK_TOKENS,
        compiled=str(config.get("compile", "none")),
        checkpointing=str(config.get("activation_checkpointing", "none")),
        accumulation=accumulation,
        reshard=str(config.get("reshard", "blocks")),
        replicas=replicas,
        optimizer=str(config.get("optimizer_implementation", "foreach")),
        known=frozenset(config),
    )


def is_pretrained(config: Mapping[str, Json]) -> bool:
    """Whether the shape is that of weights from elsewhere."""
    return config.get("model") == "pretrained"


def _count(config: Mapping[str, Json], key: str, default: int) -> int:
    value = config.get(key, default)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
