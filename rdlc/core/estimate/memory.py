"""The memory that a rank's GPU needs, part by part, by formulas that are held against measured peaks.

One of a few moments is the highest one. When the loss goes backward, the activations of all blocks and the
logits are there, and no gradients yet: they are let go after each update. When the backward pass ends,
all gradients are there, and the activations are gone. With checkpointing, a third: one block computes
its activations again beside what was kept. The update of the weights needs little, unless it works on
lists of all tensors.

Counted per token and block, in elements, with h the hidden size, f the feed-forward size, q and k the
widths of a query and of a key, for what autograd keeps (PyTorch 2.11, attention in one kernel):
- as written: each of two norms its input in float32, and normalised and scaled in the compute dtype;
  attention q, k, v and its output; feed-forward its gate, the gate's activation, the other half, their
  product: 2 (4 h + 2 c h) + c (2 q + 2 k + 4 f) bytes, at c bytes an element;
- compiled: the residual twice, both norms' outputs, attention's four, and f three times:
  c (4 h + 2 q + 2 k + 3 f);
- computed again: the block's input, c h; all blocks (`full`), or every other one (`selective`).
The logits, v a token: as written, float32 log-probabilities with the gradients before and behind them,
12 v; compiled, logits and their gradient in the compute dtype, 2 c v. In chunks, only so many tokens
have them at a time, and the gradients that the loss makes ahead are there: v h (4 + c), and c h a token.
"""

from dataclasses import dataclass

from rdlc.core.estimate.settings import TrainingSettings
from rdlc.core.estimate.shapes import MASTER_BYTES
from rdlc.core.traffic.layout import DTYPES

# Blocks whose weights are gathered at once: the one at work, and the next one.
_GATHERED_BLOCKS = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class MemoryEstimate:
    """Bytes of one rank's GPU at its highest moment; `moment` says which one that is.

    `parameters` and `optimizer` are there all the time, the others as far as that moment has them.
    """

    moment: str
    parameters: int
    optimizer: int
    gradients: int
    gathered: int
    activations: int
    loss: int

    @property
    def peak(self) -> int:
        """All parts together."""
        return self.parameters + self.optimizer + self.gradients + self.gathered + self.activations + self.loss


def estimate_memory(settings: TrainingSettings) -> MemoryEstimate:
    """The highest of the moments; the CUDA context, NCCL's buffers and fragmentation are not in it."""
    return max(_moments(settings), key=lambda each: each.peak)


def _moments(settings: TrainingSettings) -> tuple[MemoryEstimate, ...]:
    shape, width = settings.shape, DTYPES[settings.compute_dtype]
    shard = MASTER_BYTES * shape.parameters // settings.shards
    # Without reduction in between, micro-steps add up whole gradients.
    added = 0 if settings.accumulation == 1 else DTYPES[settings.reduce_dtype] * shape.parameters
    kept = settings.tokens * kept_bytes(settings)
    gathered = gathered_bytes(settings)
    once = settings.tokens * _block_bytes(settings)
    root = shape.root_parameters * width + shape.root_parameters * MASTER_BYTES
    return (
        MemoryEstimate(
            moment="when the loss goes backward",
            parameters=shard,
            optimizer=2 * shard,
            gradients=added,
            gathered=gathered,
            activations=kept,
            loss=loss_bytes(settings),
        ),
        MemoryEstimate(
            moment="when the last block goes backward",
            parameters=shard,
            optimizer=2 * shard,
            gradients=added,
            gathered=gathered,
            # Its activations computed again, and the gradients of its feed-forward beside them.
            activations=kept
            + (once if settings.checkpointing != "none" else 0)
            + settings.tokens * 2 * width * shape.intermediate,
            loss=0,
        ),
        MemoryEstimate(
            moment="when the backward pass ends",
            parameters=shard,
            optimizer=2 * shard,
            gradients=shard + (added and DTYPES[settings.reduce_dtype] * shape.root_parameters) + root,
            gathered=shape.root_parameters * width,
            activations=0,
            loss=0,
        ),
        MemoryEstimate(
            moment="when the weights are updated",
            parameters=shard,
            optimizer=2 * shard,
            # Tensor by tensor or in one kernel there is nothing beside them; in lists, the square roots are.
            gradients=shard * (2 if settings.optimizer == "foreach" else 1),
            gathered=shape.root_parameters * width,
            activations=0,
            loss=0,
        ),
    )


def kept_bytes(settings: TrainingSettings) -> int:
    """What all blocks keep of one token until they go backward."""
    shape, width = settings.shape, DTYPES[settings.compute_dtype]
    # Selective: every other block, beginning with the first.
    again = {"full": shape.blocks, "selective": -(-shape.blocks // 2)}.get(settings.checkpointing, 0)
    return again * width * shape.hidden + (shape.blocks - again) * _block_bytes(settings)


def _block_bytes(settings: TrainingSettings) -> int:
    """What one block that is not computed again keeps of one token."""
    shape, width = settings.shape, DTYPES[settings.compute_dtype]
    attention = 2 * shape.query_width + 2 * shape.key_value_width
    if settings.compiled != "none":
        return width * (4 * shape.hidden + attention + 3 * shape.intermediate)
    return 2 * shape.hidden * (4 + 2 * width) + width * (attention + 4 * shape.intermediate)


def gathered_bytes(settings: TrainingSettings) -> int:
    """The whole weights, in the compute dtype, that a rank holds at once."""
    shape, width = settings.shape, DTYPES[settings.compute_dtype]
    if settings.reshard == "none":
        return width * shape.parameters
    return width * (shape.root_parameters + _GATHERED_BLOCKS * shape.block_parameters)


def loss_bytes(settings: TrainingSettings) -> int:
    """Logits and what goes backward from them."""
    shape, width = settings.shape, DTYPES[settings.compute_dtype]
    is_compiled = "loss" in settings.compiled
    if settings.loss == "chunked":
        chunk = min(settings.chunk_tokens, settings.tokens) * shape.vocabulary
        # As written: the logits, wide, shifted, raised, and the right ones; the gradients are made with them.
        gradients = shape.vocabulary * shape.hidden * (4 + width) + settings.tokens * width * shape.hidden
        return chunk * (2 * width if is_compiled else 16 + width) + gradients
    return settings.tokens * shape.vocabulary * (2 * width if is_compiled else 12)
