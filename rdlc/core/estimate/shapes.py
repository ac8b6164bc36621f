"""The shapes of the models that the recipe knows by name, and how they lie on ranks."""

from dataclasses import dataclass, replace
from math import prod

from rdlc.core.lines import read_json_file
from rdlc.core.traffic.layout import Layout, Shape, Unit

# Bytes of one element of what PyTorch keeps for the optimizer, whatever it computes in.
MASTER_BYTES = 4


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelShape:
    """A decoder of Qwen2's kind: biases on query, key and value, gated feed-forward.

    `is_tied` says that the output layer is the embedding.
    """

    vocabulary: int
    hidden: int
    intermediate: int
    blocks: int
    heads: int
    key_value_heads: int
    is_tied: bool = True

    @property
    def query_width(self) -> int:
        """Elements of a token's query, and of what attention gives for it."""
        return self.hidden

    @property
    def key_value_width(self) -> int:
        """Elements of a token's key, and of its value."""
        return self.hidden // self.heads * self.key_value_heads

    @property
    def block_tensors(self) -> tuple[tuple[int, ...], ...]:
        """The shapes of one block's parameters."""
        hidden, query, narrow, wide = self.hidden, self.query_width, self.key_value_width, self.intermediate
        attention = (
            (query, hidden),
            (query,),
            (narrow, hidden),
            (narrow,),
            (narrow, hidden),
            (narrow,),
            (hidden, query),
        )
        return (*attention, (wide, hidden), (wide, hidden), (hidden, wide), (hidden,), (hidden,))

    @property
    def root_tensors(self) -> tuple[tuple[int, ...], ...]:
        """The shapes of what is in no block: the embedding, the last norm, and an output layer of its own."""
        table = (self.vocabulary, self.hidden)
        return (table, (self.hidden,)) if self.is_tied else (table, (self.hidden,), table)

    @property
    def block_parameters(self) -> int:
        """Parameters of one block."""
        return sum(map(prod, self.block_tensors))

    @property
    def root_parameters(self) -> int:
        """Parameters in no block."""
        return sum(map(prod, self.root_tensors))

    @property
    def parameters(self) -> int:
        """All parameters."""
        return self.blocks * self.block_parameters + self.root_parameters


CONFIG_FILE = "config.json"
CONFIG_LIMIT_BYTES = 1 << 20
_MOST = 1 << 24
# By the names of the recipe's configs; a test holds them against the recipe.
SHAPES = {
    "tiny": ModelShape(vocabulary=256, hidden=64, intermediate=176, blocks=2, heads=4, key_value_heads=2),
    "qwen2.5-1.5b": ModelShape(
        vocabulary=151_936, hidden=1536, intermediate=8960, blocks=28, heads=12, key_value_heads=2
    ),
}


def read_shape(data: bytes, *, name: str) -> ModelShape | None:
    """The shape in the `config.json` of pretrained weights; None for a model of another kind.

    Raises InputError for a file that is no such config.
    """
    fields = read_json_file(data, name=name, limit_bytes=CONFIG_LIMIT_BYTES)
    if fields.text("model_type") != "qwen2":
        return None
    heads = fields.count("num_attention_heads", least=1, most=_MOST)
    shape = ModelShape(
        vocabulary=fields.count("vocab_size", least=1, most=_MOST),
        hidden=fields.count("hidden_size", least=1, most=_MOST),
        intermediate=fields.count("intermediate_size", least=1, most=_MOST),
        blocks=fields.count("num_hidden_layers", least=1, most=_MOST),
        heads=heads,
        key_value_heads=fields.count("num_key_value_heads", default=heads, least=1, most=_MOST),
        is_tied=fields.flag("tie_word_embeddings", default=False),
    )
    return None if shape.hidden % shape.heads else shape


def plan_layout(
    shape: ModelShape, *, ranks: int, compute_dtype: str, reduce_dtype: str, reshard: str = "blocks", replicas: int = 1
) -> Layout:
    """How the model lies on the ranks of each replica: each block, then what is left."""
    block = _unit("block", shape.block_tensors, ranks=ranks, is_let_go=reshard != "none")
    return Layout(
        parameters=shape.parameters,
        trainable_tensors=shape.blocks * len(shape.block_tensors) + len(shape.root_tensors),
        units=(
            *(replace(block, name=f"block {number}") for number in range(shape.blocks)),
            _unit("", shape.root_tensors, ranks=ranks, is_let_go=reshard == "all"),
        ),
        compute_dtype=compute_dtype,
        reduce_dtype=reduce_dtype,
        shape=Shape(blocks=shape.blocks, attention_width=shape.query_width),
        replicas=replicas,
    )


def _unit(name: str, tensors: tuple[tuple[int, ...], ...], *, ranks: int, is_let_go: bool) -> Unit:
    return Unit(
        name=name,
        parameters=sum(map(prod, tensors)),
        reshard_after_forward=is_let_go,
        # Each tensor is cut along its first dimension, and the last parts are filled up.
        padded_parameters=sum(-(-each[0] // ranks) * ranks * prod(each[1:]) for each in tensors),
    )
