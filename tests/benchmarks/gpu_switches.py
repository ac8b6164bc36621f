"""Which switch of exact mode, dropped alone, breaks equality, and at which step; and a rank killed and resumed.

    python tests/benchmarks/gpu_switches.py --output FOLDER [--device cuda|cpu]

Run from the project's root. Each variant runs twice, without compiled kernels, on four blocks of
Qwen2.5-1.5B's shape and 2 x 2048 tokens a step; steps are compared bit by bit with each other and with exact
mode's. It prints a table and never fails.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.benchmarks.gpu_speed import EXACT, ROOT

STEPS = 6
KILLED_AT, CHECKPOINT_EVERY = 5, 3
# Switches of torch first, then environment variables; `exact` drops nothing.
VARIANTS = (
    "exact",
    "deterministic_algorithms",
    "attention.only_flash",
    "CUBLAS_WORKSPACE_CONFIG",
    "matmul.bf16_reduced_precision",
    "tf32",
    "cudnn.benchmark",
    "fill_uninitialized_memory",
)
FIELDS = ("loss", "gradient_norm", "parameters")


def main() -> None:
    """Runs all variants, some at a time, and the run that is killed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--output", type=Path)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--at-once", type=int, default=2, help="how many runs share the device")
    parser.add_argument("--limit-s", type=float, default=600.0, help="no runs are begun after so many seconds")
    parser.add_argument("--worker", nargs=3, metavar=("CONFIG", "FOLDER", "DROPPED"))
    options = parser.parse_args()
    if options.worker:
        work(*options.worker)
        return
    output = options.output.resolve()
    output.mkdir(parents=True, exist_ok=True)
    for name, every in (("killed", CHECKPOINT_EVERY), ("config", 0)):
        (output / f"{name}.json").write_text(json.dumps(make_config(options.device, checkpoint_every=every)))
    started = time.monotonic()
    print(f"{'dropped':<32}{'two runs':<34}against exact mode")
    names = ("exact", "killed", *VARIANTS[1:])
    folders = [(name, f"{name}-{number}") for name in names for number in ((1,) if name == "killed" else (1, 2))]
    with ThreadPoolExecutor(max_workers=options.at_once) as pool:
        for name, folder in folders:
            pool.submit(run_until, started + options.limit_s, output, name, folder)
    for name in names:
        show(output, name)


def run_until(end: float, output: Path, name: str, folder: str) -> None:
    """Makes a run, unless it is too late to begin one."""
    if time.monotonic() < end:
        start(output, name, folder).wait(timeout=600)


def show(output: Path, name: str) -> None:
    """The line of a variant."""
    exact, one = (read_steps(output / f"{each}-1") for each in ("exact", name))
    again = compare(one, read_steps(output / f"{name}-2")) if name != "killed" else "-"
    print(f"{name:<32}{again:<34}{compare(exact, one)}", flush=True)


def start(output: Path, name: str, folder: str) -> subprocess.Popen[bytes]:
    """Starts one run; its output goes to a log beside it."""
    environment = {**os.environ, **EXACT}
    environment["PYTHONPATH"] = f"{ROOT}:{ROOT / 'recipes'}:{os.environ.get('PYTHONPATH', '')}"
    environment.pop(name, None)
    restarts = "1" if name == "killed" else "0"
    command = (
        sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "1",
        "--max-restarts", restarts, "-m", "tests.benchmarks.gpu_switches",
        "--worker", str(output / ("killed.json" if name == "killed" else "config.json")), str(output / folder), name,
    )  # fmt: skip
    with (output / f"{folder}.log").open("wb") as log:
        return subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT, cwd=ROOT)


def work(config: str, folder: str, dropped: str) -> None:
    """One rank: the recipe with its switches set, but for one."""
    from fsdp_qwen import exact, loop, model, train, worker

    shapes: dict[str, Any] = dict(model._SHAPES)
    model._SHAPES = {**shapes, "qwen2.5-1.5b": {**shapes["qwen2.5-1.5b"], "num_hidden_layers": 4}}

    def set_up(_config: object) -> None:
        exact.set_switches(threads=4, seed=0)
        drop(dropped)

    vars(worker)["set_up_process"] = set_up
    if dropped == "killed":
        whole = loop.train_step

        def train_step(run: loop.Training, step: int, meter: Any) -> float:
            if step == KILLED_AT and run.place.attempt == 1:
                os.kill(os.getpid(), signal.SIGKILL)
            return whole(run, step, meter)

        vars(loop)["train_step"] = train_step
    sys.exit(train.main(["--config", config, "--output", folder, "--launcher", "torchrun"]))


def drop(name: str) -> None:
    """Sets one switch of torch back to what it is without exact mode."""
    import torch
    import torch.utils.deterministic

    if name == "deterministic_algorithms":
        torch.use_deterministic_algorithms(False)
    elif name == "matmul.bf16_reduced_precision":
        torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = True
    elif name == "tf32":
        torch.backends.cuda.matmul.allow_tf32 = True
        torch.backends.cudnn.allow_tf32 = True
    elif name == "attention.only_flash":
        torch.backends.cuda.enable_mem_efficient_sdp(True)
        torch.backends.cuda.enable_cudnn_sdp(True)
        torch.backends.cuda.enable_flash_sdp(False)
    elif name == "cudnn.benchmark":
        torch.backends.cudnn.benchmark = True
    elif name == "fill_uninitialized_memory":
        torch.utils.deterministic.fill_uninitialized_memory = True  # type: ignore[attr-defined] # made at run time


def make_config(device: str, *, checkpoint_every: int) -> dict[str, object]:
    """The config of all runs: fast mode, since exact mode refuses a dropped variable."""
    is_tiny = device == "cpu"
    recipe = {
        "model": "tiny" if is_tiny else "qwen2.5-1.5b",
        "steps": STEPS,
        "global_batch_size": 2,
        "sequence_length": 32 if is_tiny else 2048,
        "learning_rate": "1e-4",
        "weight_decay": "0.01",
        "adam_betas": ["0.9", "0.95"],
        "gradient_clip_norm": "1.0",
        "precision": "bf16",
        "optimizer_implementation": "fused",
        "checkpoint_every": checkpoint_every,
    }
    return {
        "format": 1, "run_name": "switches", "seed": 0, "num_workers": 1, "cpus_per_worker": 4,
        "gpus_per_worker": 0 if is_tiny else 1, "max_failures": 1, "code_digest": None, "scratch": None,
        "determinism": {"mode": "fast", "environment": {}}, "data": {"kind": "random-tokens", "seed": 0},
        "recipe": recipe,
    }  # fmt: skip


def read_steps(folder: Path) -> dict[int, Mapping[str, object]]:
    """The record of each step, the newest one of a step that was done twice."""
    path = folder / "metrics.jsonl"
    lines: Sequence[Mapping[str, Any]] = (
        [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    )
    return {int(line["step"]): line for line in lines}


def compare(one: Mapping[int, Mapping[str, object]], other: Mapping[int, Mapping[str, object]]) -> str:
    """The first step and field in which two runs differ."""
    if len(one) < STEPS or len(other) < STEPS:
        return f"not measured ({min(len(one), len(other))} of {STEPS} steps)"
    for step in range(1, STEPS + 1):
        for field in FIELDS:
            if one[step][field] != other[step][field]:
                return f"differ at step {step}: {field}"
    return f"equal, {STEPS} steps"


if __name__ == "__main__":
    main()
