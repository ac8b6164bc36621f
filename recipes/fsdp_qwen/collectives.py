"""Collectives that torch gave other names in 2.13: the ones of the torch that is there."""

from collections.abc import Callable

import torch.distributed as dist

# The older names still work there, and warn.
_all_gather = getattr(dist, "all_gather_single", None) or dist.all_gather_into_tensor
_reduce_scatter = getattr(dist, "reduce_scatter_single", None) or dist.reduce_scatter_tensor

all_gather: Callable[..., object] = _all_gather
reduce_scatter: Callable[..., object] = _reduce_scatter
