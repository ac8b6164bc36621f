"""The loss: what a rank computes over its own tokens, and how the ranks' parts become one number."""

import struct
from collections.abc import Callable
from functools import cache

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from fsdp_qwen.collectives import all_gather
from fsdp_qwen.model import ShardedModel
from fsdp_qwen.place import Place


def summed_loss(model: ShardedModel, tokens: Tensor, device: torch.device) -> Tensor:
    """The summed cross entropy of each token given those before it, in nats.

    tokens: int64 [rows, sequence + 1] on any device; the result is float32 [] on `device`.
    """
    moved = tokens.to(device)
    # inputs and targets: int64 [rows, sequence]
    inputs, targets = moved[:, :-1].contiguous(), moved[:, 1:].contiguous()
    if model.compute.loss == "chunked":
        summed: Tensor = model.module(input_ids=inputs, targets=targets)
        return summed
    # logits: [rows, sequence, vocabulary] in the compute dtype; the loss is computed in float32.
    logits = model.module(input_ids=inputs, use_cache=False).logits
    measure = _compiled_loss() if model.compute.compiles_loss else _loss_of
    return measure(logits, targets)


def _loss_of(logits: Tensor, targets: Tensor) -> Tensor:
    return cross_entropy(logits.float().flatten(0, 1), targets.flatten(), reduction="sum")


@cache
def _compiled_loss() -> Callable[[Tensor, Tensor], Tensor]:
    return torch.compile(_loss_of, dynamic=False)


def gather(value: float, digests: list[bytes], place: Place) -> tuple[list[float], list[bytes]]:
    """All ranks' values, and all ranks' row digests, in rank order; one small collective.

    Whoever adds the values up then does so in the same order on each rank, so that all ranks have
    the same bits by construction and not by the grace of a reduction's algorithm.
    """
    payload = struct.pack("<d", value) + b"".join(digests)
    mine = torch.tensor(list(payload), dtype=torch.uint8, device=place.device)
    # uint8 [world size x payload]
    everyone = torch.empty(place.world_size * len(payload), dtype=torch.uint8, device=place.device)
    all_gather(everyone, mine)
    parts = [bytes(part) for part in everyone.view(place.world_size, -1).tolist()]
    values = [struct.unpack("<d", part[:8])[0] for part in parts]
    return values, [part[i : i + 32] for part in parts for i in range(8, len(part), 32)]
