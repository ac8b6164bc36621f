"""The recipe's speed beside the yardstick's (`train_limit.py`, plain PyTorch), one variant after the other.

    python tests/benchmarks/gpu_speed.py --output FOLDER [--device cuda|cpu] [--gpus N] [--only NAME,...]

Run from the project's root. It prints a line for each variant and a table at the end, and never fails. On a
CPU it only shows that it works: the yardstick is left out, and the model is tiny. Step times are medians of
ten steps after four; MFU is of 790 TFLOP/s, what the yardstick counts with.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STEPS, WARM_UP = 14, 4
PARAMETERS, BLOCKS, WIDTH, LENGTH = 1_543_714_304, 28, 1536, 2048
EXACT = {
    "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
    "MKL_DYNAMIC": "FALSE",
    "MKL_NUM_THREADS": "4",
    "NCCL_ALGO": "Ring",
    "NCCL_COLLNET_ENABLE": "0",
    "NCCL_NVLS_ENABLE": "0",
    "OMP_NUM_THREADS": "4",
    "PYTHONHASHSEED": "0",
}


@dataclass(frozen=True, kw_only=True)
class Variant:
    """One run: rows per GPU; `yardstick` holds the options of train_limit.py, None for the recipe."""

    name: str
    rows: int
    yardstick: tuple[str, ...] | None = None
    settings: tuple[tuple[str, object], ...] = ()
    is_exact: bool = False


EQUAL = (("loss", "full"), ("compile", "blocks-and-loss"))
CHUNKED = (("loss", "chunked"), ("loss_chunk_tokens", 12288), ("compile", "blocks-and-loss"))
VARIANTS = (
    Variant(name="yardstick-16", rows=16, yardstick=("compile", "closs")),
    Variant(name="recipe-16", rows=16, settings=EQUAL),
    Variant(name="recipe-24-defaults", rows=24, settings=(*CHUNKED, ("attention", "cudnn"))),
    Variant(name="yardstick-8", rows=8, yardstick=("compile", "closs")),
    Variant(name="recipe-8", rows=8, settings=EQUAL),
    Variant(name="yardstick-8-exact", rows=8, yardstick=("compile", "closs", "det")),
    Variant(name="recipe-8-exact", rows=8, settings=EQUAL, is_exact=True),
    Variant(name="recipe-8-exact-again", rows=8, settings=EQUAL, is_exact=True),
)


def main() -> None:
    """Runs the variants that were asked for, and prints the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--gpus", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--limit-s", type=float, default=500.0, help="no variant is begun after so many seconds")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    started, rows = time.monotonic(), []
    for variant in wanted(options.only, options.device):
        if time.monotonic() - started > options.limit_s:
            print(f"{variant.name}: not run, the time is over", flush=True)
            continue
        row = run(variant, options.output.resolve(), device=options.device, gpus=options.gpus)
        rows.append(row)
        print(json.dumps(row), flush=True)
    for line in table(rows):
        print(line)


def wanted(only: str, device: str) -> Iterator[Variant]:
    """The variants by name, all without one; a CPU has no yardstick and no kernels but its own."""
    names = set(filter(None, only.split(",")))
    for variant in VARIANTS:
        if device == "cpu" and (variant.yardstick or "cudnn" in variant.name):
            continue
        if not names or variant.name in names:
            yield variant


def run(variant: Variant, output: Path, *, device: str, gpus: int) -> dict[str, object]:
    """Runs one variant with torchrun; gives back its figures, or how it failed."""
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(gpus)]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'recipes'}:{os.environ.get('PYTHONPATH', '')}"}
    folder = output / variant.name
    if variant.yardstick is not None:
        script = str(ROOT / "tests/benchmarks/train_limit.py")
        command = [*launch, script, variant.name, str(variant.rows), str(LENGTH), *variant.yardstick]
        if "det" in variant.yardstick:
            environment["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"
    else:
        config = output / f"{variant.name}.json"
        config.write_text(json.dumps(make_config(variant, device=device, gpus=gpus)))
        environment |= EXACT if variant.is_exact else {}
        arguments = ["--launcher", "torchrun", "--config", str(config), "--output", str(folder)]
        command = [*launch, "-m", "fsdp_qwen.train", *arguments]
    started = time.monotonic()
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    wall_s = round(time.monotonic() - started, 1)
    (output / f"{variant.name}.log").write_text(ended.stdout + ended.stderr)
    if ended.returncode:
        return {"name": variant.name, "failed": (ended.stderr or ended.stdout).strip().splitlines()[-1:], "s": wall_s}
    figures = read_yardstick(ended.stdout) if variant.yardstick is not None else read_recipe(folder, variant, gpus)
    return {"name": variant.name, **figures, "wall_s": wall_s}


def make_config(variant: Variant, *, device: str, gpus: int) -> dict[str, object]:
    """The recipe's config of a variant; tiny on a CPU."""
    is_tiny = device == "cpu"
    environment = EXACT if variant.is_exact else {}
    recipe = {
        "model": "tiny" if is_tiny else "qwen2.5-1.5b",
        "steps": STEPS,
        "global_batch_size": variant.rows * gpus,
        "sequence_length": 32 if is_tiny else LENGTH,
        "learning_rate": "1e-5",
        "weight_decay": "0.01",
        "adam_betas": ["0.9", "0.999"],
        "gradient_clip_norm": "1.0",
        "precision": "bf16",
        "optimizer_implementation": "fused",
        "fingerprint_every": 100,
        "warmup_steps": WARM_UP,
        **dict(variant.settings),
    }
    return {
        "format": 1,
        "run_name": variant.name,
        "seed": 0,
        "num_workers": gpus,
        "cpus_per_worker": 4,
        "gpus_per_worker": 0 if is_tiny else 1,
        "max_failures": 0,
        "code_digest": None,
        "scratch": None,
        "determinism": {"mode": "exact" if variant.is_exact else "fast", "environment": environment},
        "data": {"kind": "random-tokens", "seed": 0},
        "recipe": recipe,
    }


def read_recipe(folder: Path, variant: Variant, gpus: int) -> dict[str, object]:
    """What the recipe's own files say; step 14 has the fingerprint of the end in it and is left out."""
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    step_s = statistics.median(line["step_s"] for line in lines[WARM_UP : STEPS - 1])
    tokens_per_s = variant.rows * LENGTH / step_s
    measured = json.loads((folder / "workers/0/metrics.json").read_text())
    memory = measured.get("memory") or {}
    return {
        "step_s": round(step_s, 4),
        "first_s": round(lines[0]["step_s"], 1),
        "last_s": round(lines[-1]["step_s"], 4),
        "tok_s_gpu": round(tokens_per_s),
        "mfu_790": round((6 * PARAMETERS + 12 * BLOCKS * WIDTH * LENGTH) * tokens_per_s / 790e12, 4),
        "peak_gib": round(memory.get("allocated_peak_bytes", 0) / 2**30, 1) or None,
        "data_s": (measured.get("timed") or {}).get("data_s"),
        "losses": [line["loss"] for line in (*lines[:3], lines[-1])],
        "parameters": lines[-1]["parameters"],
        "gpus": gpus,
    }


def read_yardstick(output: str) -> dict[str, object]:
    """The yardstick's own line."""
    figures: dict[str, object] = json.loads(next(line for line in output.splitlines() if line.startswith("{")))
    return figures


def table(rows: list[dict[str, object]]) -> Iterator[str]:
    """The rows for reading."""
    yield f"{'variant':<22}{'step s':>9}{'tokens/s/GPU':>14}{'MFU of 790':>12}{'peak GiB':>10}"
    for row in rows:
        figures = [str(row.get(key, "failed")) for key in ("step_s", "tok_s_gpu", "mfu_790", "peak_gib")]
        yield f"{row['name']:<22}{figures[0]:>9}{figures[1]:>14}{figures[2]:>12}{figures[3]:>10}"


if __name__ == "__main__":
    main()
