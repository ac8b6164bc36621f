"""How fast can Qwen2.5-1.5B train under FSDP2 on this host: plain PyTorch, one variant per call. Sets the recipe's yardstick.

Run: torchrun --nproc-per-node=N bench/train_limit.py LABEL BS SEQ [ac] [compile] [closs] [det]
"""

import json
import os
import sys
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

label, bs, seq, opts = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), set(sys.argv[4:])
rank = int(os.environ["RANK"])
local = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(local)
if "det" in opts:
    torch.use_deterministic_algorithms(True)
dist.init_process_group("nccl", device_id=torch.device("cuda", local))
world = dist.get_world_size()
from transformers import Qwen2Config, Qwen2ForCausalLM

cfg = Qwen2Config(
    hidden_size=1536,
    intermediate_size=8960,
    num_hidden_layers=28,
    num_attention_heads=12,
    num_key_value_heads=2,
    vocab_size=151936,
    tie_word_embeddings=True,
    max_position_embeddings=32768,
    rope_theta=1e6,
    use_cache=False,
)
cfg._attn_implementation = "sdpa"
torch.manual_seed(0)
with torch.device("cuda"):
    model = Qwen2ForCausalLM(cfg)
P = sum(p.numel() for p in model.parameters())
if "ac" in opts:
    model.gradient_checkpointing_enable()
if "compile" in opts:
    for l in model.model.layers:
        l.compile()
    model.model.norm.compile()
mp = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
for l in model.model.layers:
    fully_shard(l, mp_policy=mp)
fully_shard(model, mp_policy=mp)
opt = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)


def loss_of(logits, labels):
    return F.cross_entropy(logits.flatten(0, 1).float(), labels.flatten())


if "closs" in opts:
    loss_of = torch.compile(loss_of)
g = torch.Generator(device="cuda").manual_seed(1234 + rank)
times, losses = [], []
for s in range(14):
    ids = torch.randint(0, cfg.vocab_size, (bs, seq + 1), device="cuda", generator=g)
    torch.cuda.synchronize()
    t = time.perf_counter()
    loss = loss_of(model(input_ids=ids[:, :-1]).logits, ids[:, 1:])
    loss.backward()
    opt.step()
    opt.zero_grad(set_to_none=True)
    torch.cuda.synchronize()
    times.append(time.perf_counter() - t)
    losses.append(loss.item().hex())
ts = sorted(times[4:])
step = ts[len(ts) // 2]
tok = bs * seq * world / step
flops = 6 * P + 12 * cfg.num_hidden_layers * cfg.hidden_size * seq  # per token, causal not halved (PaLM)
if rank == 0:
    print(
        json.dumps(
            {
                "label": label,
                "world": world,
                "bs": bs,
                "seq": seq,
                "opts": sorted(opts),
                "step_s": round(step, 4),
                "first_s": round(times[0], 1),
                "tok_s_gpu": round(tok / world),
                "mfu_790": round(flops * tok / world / 790e12, 4),
                "peak_gib": round(torch.cuda.max_memory_allocated() / 2**30, 1),
                "losses": losses[:3] + losses[-1:],
            }
        ),
        flush=True,
    )
dist.destroy_process_group()
