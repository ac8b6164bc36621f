"""An exact fingerprint of sharded tensors: equal bits give equal fingerprints, whatever the layout.

For each tensor: the sum over its elements of (bits + 1) x w(i), modulo 2**64, where `bits` is the
element read as an integer, `i` its index in the flattened whole tensor and w(i) an odd number mixed
from `i`. Integer sums don't depend on order, so shards are summed where they lie and one int64
all-reduce finishes the job, for any world size. An odd factor is invertible modulo 2**64, so a
change of one element, even of one ulp, always changes the sum; a swap of two elements changes it
because their factors differ. It is a check against accidents, not against an adversary.

The fingerprint of the whole model adds up the tensors' sums, each times an odd number made from its
name, dtype and shape.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.tensor import DTensor, Replicate, Shard

from fsdp_qwen.failures import TrainingFailed

# Elements mixed at a time: bounds the extra memory to about three int64 buffers of this length (400
# MB on a GPU).
CHUNK = 1 << 24

_MASK = (1 << 64) - 1
_INTEGERS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


@dataclass(frozen=True, kw_only=True, slots=True)
class Fingerprint:
    """The fingerprint of named tensors: one number for all, and one per tensor, in name order."""

    total: str
    tensors: Mapping[str, str]


def fingerprint(tensors: Mapping[str, Tensor], device: torch.device) -> Fingerprint:
    """The fingerprint of tensors of any dtype, plain (equal on all ranks) or sharded on dimension 0.

    A collective on `device` (plain tensors may lie elsewhere): all ranks must call it with the same
    names. Raises `TrainingFailed` naming the tensor if a plain tensor differs between ranks.
    """
    names = sorted(tensors)
    rows = [_local_sum(tensors[name]).to(device) for name in names]
    # int64 [tensors, 2]: the sum over shards, and for plain tensors the sum over all replicas as
    # well.
    sums = torch.stack(rows)
    mine = sums[:, 1].tolist()
    dist.all_reduce(sums)
    summed = sums.tolist()
    _check_replicas(names, mine, summed, tensors)
    values = {name: whole & _MASK for name, (whole, _) in zip(names, summed, strict=True)}
    total = sum(values[name] * _name_factor(name, tensors[name]) for name in names) & _MASK
    return Fingerprint(total=f"0x{total:016x}", tensors={name: f"0x{value:016x}" for name, value in values.items()})


def _local_sum(tensor: Tensor) -> Tensor:
    """This rank's share: int64 [2] on the tensor's device; what several ranks hold alike counts once."""
    if isinstance(tensor, DTensor):
        value = _weighted_sum(tensor.to_local(), _shard_offset(tensor))
        nothing = torch.zeros_like(value)
        if tensor.device_mesh.ndim == 1:
            return torch.stack([value, nothing])
        return torch.stack([nothing if tensor.device_mesh.get_local_rank(0) else value, value])
    value = _weighted_sum(tensor, 0)
    counted = value if dist.get_rank() == 0 else torch.zeros_like(value)
    return torch.stack([counted, value])


def _weighted_sum(shard: Tensor, offset: int) -> Tensor:
    """Sum of (bits + 1) x w(offset + i) over a contiguous shard: int64 [] on the shard's device."""
    flat = shard.detach().reshape(-1)
    bits = flat.view(_INTEGERS[flat.element_size()])
    total = torch.zeros((), dtype=torch.int64, device=shard.device)
    for start in range(0, bits.numel(), CHUNK):
        piece = bits[start : start + CHUNK].to(torch.int64).add_(1)
        first = offset + start
        factors = torch.arange(first, first + piece.numel(), dtype=torch.int64, device=shard.device)
        total += piece.mul_(_mix(factors)).sum()
    return total


def _mix(index: Tensor) -> Tensor:
    """An odd number per index, in place: int64 in, int64 out, wrapping like unsigned arithmetic."""
    index.mul_(_signed(0x9E3779B97F4A7C15))
    index.bitwise_xor_(index >> 32)
    index.mul_(_signed(0xD6E8FEB86659FD93))
    index.bitwise_xor_(index >> 32)
    return index.bitwise_or_(1)


def _shard_offset(tensor: DTensor) -> int:
    """The flat index, in the whole tensor, of the first element of this rank's shard."""
    mesh, placements = tensor.device_mesh, tensor.placements
    assert mesh.ndim in (1, 2), f"unknown layout {mesh}"
    # With replicas there is a row of the mesh for each.
    assert placements == ((Shard(0),) if mesh.ndim == 1 else (Replicate(), Shard(0))), f"unknown layout {placements}"
    rows = tensor.shape[0]
    rows_per_rank = -(-rows // mesh.size(mesh.ndim - 1))
    first_row = min(rows, rows_per_rank * mesh.get_local_rank(mesh.ndim - 1))
    assert tensor.to_local().shape[0] == min(rows - first_row, rows_per_rank)
    elements_per_row = tensor.numel() // rows if rows else 0
    return first_row * elements_per_row


def _check_replicas(names: list[str], mine: list[int], summed: list[list[int]], tensors: Mapping[str, Tensor]) -> None:
    """Refuses a tensor that several ranks hold and that is not the same on all of them."""
    for name, value, (whole, replicas) in zip(names, mine, summed, strict=True):
        tensor = tensors[name]
        if not isinstance(tensor, DTensor):
            is_equal = (value * dist.get_world_size() - replicas) & _MASK == 0
        else:
            is_equal = tensor.device_mesh.ndim == 1 or (whole * tensor.device_mesh.size(0) - replicas) & _MASK == 0
        if not is_equal:
            raise TrainingFailed(f"{name}: should be equal on all ranks and is not", field=name)


def _name_factor(name: str, tensor: Tensor) -> int:
    text = f"{name} {str(tensor.dtype).removeprefix('torch.')} {list(tensor.shape)}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") | 1


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value
