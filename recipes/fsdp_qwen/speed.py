"""What makes a step faster or smaller without changing what it computes: kernels, recomputing, gathering ahead."""

from collections.abc import Sequence

import torch
from torch.distributed.fsdp import FSDPModule
from transformers.modeling_utils import PreTrainedModel

from fsdp_qwen.chunked_loss import forward_chunked
from fsdp_qwen.compute_settings import ComputeSettings
from fsdp_qwen.failures import TrainingFailed


def choose_attention(attention: str) -> None:
    """Lets only that backend of attention run, in this process; one that cannot run then raises."""
    if attention == "auto":
        return
    torch.backends.cuda.enable_math_sdp(attention == "math")
    torch.backends.cuda.enable_flash_sdp(attention == "flash")
    torch.backends.cuda.enable_mem_efficient_sdp(attention == "efficient")
    torch.backends.cuda.enable_cudnn_sdp(attention == "cudnn")


def speed_up(module: PreTrainedModel, compute: ComputeSettings, blocks: Sequence[str]) -> None:
    """Sets up recomputing, compiled blocks and the chunked loss; before the model is sharded."""
    if compute.activation_checkpointing != "none":
        _recompute(module, blocks, every=2 if compute.activation_checkpointing == "selective" else 1)
    if compute.compiles_blocks:
        for part in (*(module.get_submodule(name) for name in blocks), getattr(module.base_model, "norm", None)):
            if part is not None:
                part.compile(dynamic=False)
    if compute.loss == "chunked":
        forward_chunked(module, chunk_tokens=compute.loss_chunk_tokens, is_compiled=compute.compiles_loss)


def prefetch(module: PreTrainedModel, blocks: Sequence[str], *, depth: int) -> None:
    """Has each sharded block gather the weights of so many blocks after it while it computes; 0 changes nothing."""
    if not depth:
        return
    parts = [module.get_submodule(name) for name in blocks]
    sharded: list[FSDPModule] = [part for part in parts if isinstance(part, FSDPModule)]
    for number, part in enumerate(sharded):
        part.set_modules_to_forward_prefetch(sharded[number + 1 : number + 1 + depth])
        part.set_modules_to_backward_prefetch(sharded[max(0, number - depth) : number][::-1])


def _recompute(module: PreTrainedModel, blocks: Sequence[str], *, every: int) -> None:
    """Has one of so many blocks compute its activations again in the backward pass."""
    module.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    for number, name in enumerate(blocks):
        block = module.get_submodule(name)
        if not hasattr(block, "gradient_checkpointing"):
            raise TrainingFailed(f"recipe.activation_checkpointing: `{name}` can't compute its activations again")
        # For mypy every attribute of a module is a tensor or a module.
        vars(block)["gradient_checkpointing"] = number % every == 0
