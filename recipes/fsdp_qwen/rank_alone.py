"""How fast a rank's device computes by itself, with no other rank to wait for."""

import time

import torch
from torch import Tensor

# Large enough to fill a GPU, and to be over in about 20 ms on the slowest one that is meant.
_GPU_WIDTH, _GPU_TIMES = 4096, 10
_CPU_WIDTH, _CPU_TIMES = 192, 5


@torch.no_grad()
def flops_alone(device: torch.device) -> float:
    """Operations per second of a square matrix product: bfloat16 on a GPU, float32 on a CPU; waits for the device."""
    is_gpu = device.type == "cuda"
    width, times = (_GPU_WIDTH, _GPU_TIMES) if is_gpu else (_CPU_WIDTH, _CPU_TIMES)
    dtype = torch.bfloat16 if is_gpu else torch.float32
    # [width, width], values of different sizes and signs: a GPU runs faster on zeros.
    values = torch.arange(width * width, device=device).remainder(97).sub(48).div(48).view(width, width).to(dtype)
    # The first one chooses its kernel.
    torch.mm(values, values)
    return 2 * width**3 * times / _seconds(values, times)


def _seconds(values: Tensor, times: int) -> float:
    if values.device.type == "cuda":
        first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        first.record()
        for _ in range(times):
            torch.mm(values, values)
        last.record()
        last.synchronize()
        return float(first.elapsed_time(last)) / 1000
    # The quickest of them: whoever else the core works for does not count.
    taken = []
    for _ in range(times):
        started = time.perf_counter()
        torch.mm(values, values)
        taken.append(time.perf_counter() - started)
    return times * max(min(taken), 1e-9)
