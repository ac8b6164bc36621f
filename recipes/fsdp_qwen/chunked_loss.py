"""The summed cross entropy a few tokens at a time: the logits of all tokens never exist together.

With a vocabulary of 152,000 the float32 logits of one row of 2,048 tokens take 1.2 GB, and their
gradient as much again. Here the gradient with regard to each chunk's logits is made at once, when they
are there anyway, and only its products with weights and hidden states are kept; nothing is computed
twice.
"""

from collections.abc import Callable, Iterator
from types import MethodType
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from transformers.modeling_utils import PreTrainedModel

from fsdp_qwen.failures import TrainingFailed

Measure = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]


def forward_chunked(module: PreTrainedModel, *, chunk_tokens: int, is_compiled: bool) -> None:
    """Makes the model's own call take `input_ids` and `targets` (int64 [rows, sequence]) and give the summed loss.

    It must be the call itself, since FSDP gathers the output layer's weights for that only.
    """
    for name in ("final_logit_softcapping", "logits_scaling", "logit_scale"):
        if getattr(module.config, name, None) not in (None, 1, 1.0):
            raise TrainingFailed(f"recipe.loss: `chunked` does not know this model's `{name}`", field="recipe.loss")
    measure: Measure = torch.compile(measure_chunk, dynamic=False) if is_compiled else measure_chunk

    def forward(self: PreTrainedModel, *, input_ids: Tensor, targets: Tensor) -> Tensor:
        hidden = self.base_model(input_ids=input_ids, use_cache=False).last_hidden_state
        head = self.get_output_embeddings()
        assert head is not None
        assert head.bias is None
        return sum_loss(hidden.flatten(0, 1), head.weight, targets.flatten(), chunk_tokens, measure)

    module.forward = MethodType(forward, module)


def sum_loss(hidden: Tensor, weight: Tensor, targets: Tensor, chunk_tokens: int, measure: Measure) -> Tensor:
    """The summed cross entropy in nats, float32 [].

    hidden: [tokens, width] and weight: [vocabulary, width] in the compute dtype; targets: int64 [tokens].
    """
    apply: Callable[..., Tensor] = _ChunkedLoss.apply
    return apply(hidden, weight, targets, chunk_tokens, measure, torch.is_grad_enabled())


def measure_chunk(logits: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """The summed loss of one chunk, float32 [], and its gradient with regard to the logits, in their dtype.

    logits: [tokens, vocabulary]; targets: int64 [tokens].
    """
    wide = logits.float()
    log_sums = torch.logsumexp(wide, dim=-1)
    right = wide.gather(1, targets[:, None])[:, 0]
    is_right = torch.arange(logits.shape[1], device=logits.device) == targets[:, None]
    gradient = torch.exp(wide - log_sums[:, None]) - is_right.float()
    return (log_sums - right).sum(), gradient.to(logits.dtype)


class _ChunkedLoss(Function):
    """Loss and gradients of all chunks, one after the other."""

    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        targets: Tensor,
        chunk_tokens: int,
        measure: Measure,
        needs_gradients: bool,
    ) -> Tensor:
        summed = torch.zeros((), dtype=torch.float32, device=hidden.device)
        if not needs_gradients:
            for part, right in _chunks(hidden, targets, chunk_tokens):
                summed += measure(part @ weight.T, right)[0]
            return summed
        of_hidden = torch.empty_like(hidden)
        # Summed over chunks in float32; each chunk's product has the compute dtype, as the whole one would.
        of_weight = torch.zeros(weight.shape, dtype=torch.float32, device=weight.device)
        for (part, right), out in zip(
            _chunks(hidden, targets, chunk_tokens), of_hidden.split(chunk_tokens), strict=True
        ):
            loss, gradient = measure(part @ weight.T, right)
            summed += loss
            torch.mm(gradient, weight, out=out)
            of_weight += gradient.T @ part
        ctx.save_for_backward(of_hidden, of_weight)
        ctx.dtype = weight.dtype
        return summed

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        of_hidden, of_weight = ctx.saved_tensors
        [scale] = gradients
        return (of_hidden * scale).to(of_hidden.dtype), (of_weight * scale).to(ctx.dtype), None, None, None, None


def _chunks(hidden: Tensor, targets: Tensor, chunk_tokens: int) -> Iterator[tuple[Tensor, Tensor]]:
    return zip(hidden.split(chunk_tokens), targets.split(chunk_tokens), strict=True)
