"""How fast Qwen2.5-1.5B's shape trains under FSDP2 on this host in plain PyTorch: the recipe's yardstick.

    torchrun --nproc-per-node=N tests/benchmarks/train_limit.py LABEL ROWS LENGTH [ac] [compile] [closs] [det]

Random tokens, SDPA, no gradient clipping, nothing recorded; one variant a call, its figures as a line of JSON.
"""

import json
import os
import sys
import time
from collections.abc import Callable

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.nn.functional import cross_entropy
from transformers import Qwen2Config, Qwen2ForCausalLM

STEPS, WARM_UP = 14, 4
Loss = Callable[[Tensor, Tensor], Tensor]


def make_model(options: set[str]) -> Qwen2ForCausalLM:
    """The model on this rank's GPU, sharded."""
    shape = Qwen2Config(
        hidden_size=1536, intermediate_size=8960, num_hidden_layers=28, num_attention_heads=12,
        num_key_value_heads=2, vocab_size=151_936, tie_word_embeddings=True, max_position_embeddings=32_768,
        rope_parameters={"rope_type": "default", "rope_theta": 1_000_000.0}, use_cache=False,
    )  # fmt: skip
    shape._attn_implementation = "sdpa"
    torch.manual_seed(0)
    with torch.device("cuda"):
        model = Qwen2ForCausalLM(shape)
    if "ac" in options:
        model.gradient_checkpointing_enable()
    if "compile" in options:
        for layer in model.model.layers:
            layer.compile()
        model.model.norm.compile()
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for layer in model.model.layers:
        fully_shard(layer, mp_policy=policy)
    fully_shard(model, mp_policy=policy)
    return model


def loss_of(logits: Tensor, labels: Tensor) -> Tensor:
    """The mean loss, in float32."""
    return cross_entropy(logits.flatten(0, 1).float(), labels.flatten())


def main() -> None:
    """Trains a few steps; rank 0 prints the figures."""
    label, rows, length, options = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), set(sys.argv[4:])
    rank, local_rank = int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    if "det" in options:
        torch.use_deterministic_algorithms(True)
    dist.init_process_group("nccl", device_id=torch.device("cuda", local_rank))
    model = make_model(options)
    parameters = sum(each.numel() for each in model.parameters())
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)
    measure: Loss = torch.compile(loss_of) if "closs" in options else loss_of
    generator = torch.Generator(device="cuda").manual_seed(1234 + rank)
    times, losses = [], []
    for _ in range(STEPS):
        ids = torch.randint(0, model.config.vocab_size, (rows, length + 1), device="cuda", generator=generator)
        torch.cuda.synchronize()
        started = time.perf_counter()
        loss = measure(model(input_ids=ids[:, :-1]).logits, ids[:, 1:])
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        torch.cuda.synchronize()
        times.append(time.perf_counter() - started)
        losses.append(float(loss.item()).hex())
    counted = sorted(times[WARM_UP:])
    step_s, world = counted[len(counted) // 2], dist.get_world_size()
    # Per token; attention is counted as if it were not causal, as PaLM's authors did.
    flops = 6 * parameters + 12 * model.config.num_hidden_layers * model.config.hidden_size * length
    figures = {
        "label": label, "world": world, "bs": rows, "seq": length, "opts": sorted(options),
        "step_s": round(step_s, 4), "first_s": round(times[0], 1), "tok_s_gpu": round(rows * length / step_s),
        "mfu_790": round(flops * rows * length / step_s / 790e12, 4),
        "peak_gib": round(torch.cuda.max_memory_allocated() / 2**30, 1), "losses": losses[:3] + losses[-1:],
    }  # fmt: skip
    if rank == 0:
        print(json.dumps(figures), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
