"""Runs of the recipe for its tests: plain processes forked from one warm server, or a real Ray."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stderr
from dataclasses import dataclass, field
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from fsdp_qwen import train
from tests.registry.processes import free_port

RECIPES = Path(train.__file__).resolve().parent.parent

# What exact mode asks of every process, the server that the ranks are forked from included.
ENVIRONMENT = {
    "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
    "MKL_DYNAMIC": "FALSE",
    "MKL_NUM_THREADS": "1",
    "NCCL_ALGO": "Ring",
    "NCCL_COLLNET_ENABLE": "0",
    "NCCL_NVLS_ENABLE": "0",
    "OMP_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0",
}

RECIPE: dict[str, object] = {
    "model": "tiny",
    "steps": 6,
    "global_batch_size": 8,
    "sequence_length": 32,
    "learning_rate": "1e-2",
    "weight_decay": "0.01",
    "adam_betas": ["0.9", "0.95"],
    "gradient_clip_norm": "1.0",
    "precision": "fp32",
}


REFERENCE: dict[str, object] = {
    "steps": 4,
    "checkpoint_every": 2,
    "evaluation_rows": 4,
    "warmup_steps": 1,
}


def make_config(**changes: Any) -> dict[str, Any]:
    """A whole config; `recipe` and `data` are changes to those sections."""
    recipe = {**RECIPE, **changes.pop("recipe", {})}
    data = {"kind": "markov", "seed": 0, **changes.pop("data", {})}
    return {
        "format": 1,
        "run_name": "test",
        "seed": 0,
        "num_workers": 2,
        "cpus_per_worker": 1,
        "gpus_per_worker": 0,
        "max_failures": 0,
        "code_digest": None,
        "scratch": None,
        "determinism": {"mode": "exact", "environment": dict(ENVIRONMENT)},
        "data": data,
        "recipe": recipe,
        **changes,
    }


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """A run that has ended, and what it left."""

    output: Path
    exit_code: int
    stderr: str
    result: dict[str, Any] = field(default_factory=dict)

    @property
    def steps(self) -> list[dict[str, Any]]:
        """The step records without what differs between equal runs: time and attempt."""
        lines = read_lines(self.output / "metrics.jsonl")
        return [{k: v for k, v in line.items() if k not in ("step_s", "attempt")} for line in lines]

    @property
    def fingerprints(self) -> dict[int, dict[str, Any]]:
        """The newest fingerprint per step."""
        return {line["step"]: line for line in read_lines(self.output / "fingerprints.jsonl")}

    @property
    def phases(self) -> list[tuple[str, int]]:
        lines = read_lines(self.output / "phases.jsonl")
        return [(line["phase"], line["attempt"]) for line in lines]

    def worker(self, rank: int) -> dict[str, Any]:
        document: dict[str, Any] = json.loads((self.output / "workers" / str(rank) / "worker.json").read_text())
        return document


def finish(output: Path, exit_code: int, stderr: str) -> Run:
    """The run whose process ended so."""
    path = output / "result.json"
    result = json.loads(path.read_text()) if path.exists() else {}
    return Run(output=output, exit_code=exit_code, stderr=stderr, result=result)


@pytest.fixture(scope="package")
def storage_port() -> int:
    """Where an imitated S3 listens in the tests that start one."""
    return free_port()


@pytest.fixture(scope="package", autouse=True)
def exact_environment(storage_port: int) -> Iterator[None]:
    """The environment of exact mode and of storage, before the first rank starts; put back at the end."""
    before = dict(os.environ)
    # The server that ranks are forked from keeps the environment in which it was started.
    storage = {
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{storage_port}",
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    os.environ.update({**ENVIRONMENT, **storage})
    yield
    os.environ.clear()
    os.environ.update(before)


Start = Callable[..., Run]


def run_processes(folder: Path, name: str = "output", **changes: Any) -> Run:
    """Runs the recipe with plain processes, with this process as the driver."""
    config, output = folder / f"{name}.json", folder / name
    config.write_text(json.dumps(make_config(**changes)))
    arguments = ["--config", str(config), "--output", str(output), "--launcher", "processes"]
    with redirect_stderr(StringIO()) as stderr:
        code = train.main(arguments)
    return finish(output, code, stderr.getvalue())


@pytest.fixture
def run(tmp_path: Path) -> Start:
    """Runs the recipe with plain processes below the test's folder."""
    return partial(run_processes, tmp_path)


@pytest.fixture(scope="package")
def reference(tmp_path_factory: pytest.TempPathFactory, exact_environment: None) -> Run:
    """A finished run that many tests look at; nobody changes its folder."""
    return run_processes(tmp_path_factory.mktemp("reference"), recipe=REFERENCE)


@pytest.fixture
def copy(reference: Run, tmp_path: Path) -> Run:
    """The reference run in a folder that the test may change."""
    output = tmp_path / "copy"
    shutil.copytree(reference.output, output)
    return finish(output, reference.exit_code, reference.stderr)


def start_driver(
    folder: Path,
    config: Mapping[str, Any],
    *arguments: str,
    environment: Mapping[str, str] | None = None,
    through_torchrun: int = 0,
) -> "subprocess.Popen[str]":
    """Starts the recipe as a user would, in its own process; its output folder is `output`."""
    (folder / "config.json").write_text(json.dumps(config))
    clean = {k: v for k, v in os.environ.items() if k not in ENVIRONMENT and k != "PYTHONPATH"}
    launcher = [
        *("-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={through_torchrun}"),
    ]
    return subprocess.Popen(
        [
            sys.executable,
            *(launcher if through_torchrun else []),
            *("-m", "fsdp_qwen.train", "--config", "config.json", "--output", "output"),
            *arguments,
        ],
        cwd=folder,
        env={**clean, "PYTHONPATH": str(RECIPES), **(environment or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for(driver: "subprocess.Popen[str]", output: Path) -> Run:
    """Waits for a driver's end, long enough for a very busy machine."""
    stdout, stderr = driver.communicate(timeout=500)
    assert stdout == "", "the recipe prints to stderr only"
    return finish(output, driver.returncode, stderr)
