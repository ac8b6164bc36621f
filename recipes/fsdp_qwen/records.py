"""The files a run leaves in its output folder, each line or file written whole.

| file | written by | holds |
|---|---|---|
| `phases.jsonl` | driver, rank 0 | a line per phase, as it begins |
| `metrics.jsonl` | rank 0 | a line per step |
| `fingerprints.jsonl` | rank 0 | parameter fingerprints per tensor |
| `failures.jsonl` | driver | why an attempt ended early |
| `workers/<rank>/worker.json` | each rank | what this process was and saw |
| `workers/<rank>/network.json` | each rank | what the network moved, read between steps |
| `workers/<rank>/metrics.json` | each rank | its times, memory and device |
| `workers/<rank>/failure.json` | each rank | why it failed, if it could still say so |
| `workers/<rank>/output.log` | each rank | what a plain process printed |
| `nccl/nccl.<host>.<pid>.log` | NCCL | its log, a file per process; only of a run on GPUs |
| `tensorboard/events.out.*` | rank 0 | the steps for TensorBoard, if asked for |
| `packages/<node>.json` | driver | what setting up the extra packages took on a node |
| `ray.log` | driver | what Ray printed |
| `checkpoints/<run name>/` | all ranks | the checkpoints |
| `parts/` | each rank | checkpoints in the making; empty afterwards |
| `evaluations.jsonl` | rank 0 | the held-out loss after some steps; only with `evaluate_every` |
| `export/` | rank 0 | the weights as Hugging Face loads them; only with `export` |
| `result.json` | driver | the outcome |
"""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fsdp_qwen.failures import Failure

if TYPE_CHECKING:
    from fsdp_qwen.fingerprint import Fingerprint


@dataclass(frozen=True, kw_only=True, slots=True)
class StepRecord:
    """One training step; `loss` and `gradient_norm` are global, so they are equal on all ranks."""

    attempt: int
    step: int
    loss: float
    gradient_norm: float
    learning_rate: float
    tokens: int
    batch_digest: str
    parameters: str | None
    step_s: float

    def to_json(self) -> dict[str, object]:
        """The line in `metrics.jsonl`: compared values are hex or text, a measured one a number."""
        return {
            "attempt": self.attempt,
            "step": self.step,
            "loss": self.loss.hex(),
            "gradient_norm": self.gradient_norm.hex(),
            "learning_rate": repr(self.learning_rate),
            "tokens": self.tokens,
            "batch_digest": self.batch_digest,
            "parameters": self.parameters,
            "step_s": round(self.step_s, 6),
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class Output:
    """The output folder of one run."""

    path: Path

    @property
    def metrics(self) -> Path:
        """The step records."""
        return self.path / "metrics.jsonl"

    @property
    def result(self) -> Path:
        """The outcome."""
        return self.path / "result.json"

    def checkpoints(self, run_name: str) -> Path:
        """The folder that holds this run's checkpoints."""
        return self.path / "checkpoints" / run_name

    @property
    def parts(self) -> Path:
        """Where ranks put checkpoints together; empty but for what killed ranks left."""
        return self.path / "parts"

    def worker(self, rank: int) -> Path:
        """The folder of one rank."""
        return self.path / "workers" / str(rank)

    def network(self, rank: int) -> Path:
        """What one rank saw the network move."""
        return self.worker(rank) / "network.json"

    def rank_metrics(self, rank: int) -> Path:
        """What one rank measured of itself."""
        return self.worker(rank) / "metrics.json"

    @property
    def events(self) -> Path:
        """Where TensorBoard looks."""
        return self.path / "tensorboard"

    def node_packages(self, node: int) -> Path:
        """Where it stands what the extra packages took on one node."""
        return self.path / "packages" / f"{node}.json"

    def add_phase(self, phase: str, attempt: int) -> None:
        """Says that a phase begins."""
        append_line(self.path / "phases.jsonl", {"phase": phase, "attempt": attempt})

    def add_step(self, record: StepRecord) -> None:
        """Adds a step."""
        append_line(self.metrics, record.to_json())

    def add_fingerprint(self, attempt: int, step: int, weights: "Fingerprint") -> None:
        """Adds the fingerprint after so many steps; step 0 is before the first update."""
        line = {
            "attempt": attempt,
            "step": step,
            "parameters": weights.total,
            "tensors": dict(weights.tensors),
        }
        append_line(self.path / "fingerprints.jsonl", line)

    def add_failure(self, attempt: int, failure: Failure) -> None:
        """Says why an attempt ended early."""
        append_line(self.path / "failures.jsonl", {"attempt": attempt, **asdict(failure)})

    def write_failure(self, failure: Failure, attempt: int, details: str) -> None:
        """Says why one rank failed, with the interpreter's own report for a developer."""
        document = {"attempt": attempt, **asdict(failure), "details": details.splitlines()}
        write_document(self.worker(failure.rank or 0) / "failure.json", document)

    def read_failure(self, rank: int, attempt: int) -> Failure | None:
        """Why a rank failed in an attempt, if it could still say so."""
        document = read_document(self.worker(rank) / "failure.json")
        return _failure(document) if document is not None and document["attempt"] == attempt else None

    def read_worker(self, rank: int) -> dict[str, object] | None:
        """What a rank said about itself at its latest start."""
        return read_document(self.worker(rank) / "worker.json")

    def last_failure(self) -> Failure | None:
        """Why the latest attempt that ended early did so."""
        lines = read_lines(self.path / "failures.jsonl")
        return _failure(lines[-1]) if lines else None

    def attempts_failed(self) -> int:
        """How many attempts of this run have ended early."""
        return len(read_lines(self.path / "failures.jsonl"))


def _failure(document: Mapping[str, object]) -> Failure:
    rank, field = document["rank"], document["field"]
    assert rank is None or isinstance(rank, int)
    return Failure(
        rank=rank,
        kind=str(document["kind"]),
        message=str(document["message"]),
        field=None if field is None else str(field),
    )


def append_line(path: Path, document: Mapping[str, object]) -> None:
    """Adds one JSON line with one write, so that a killed process leaves whole lines only."""
    line = json.dumps(document, ensure_ascii=True) + "\n"
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(descriptor, line.encode("ascii"))
    finally:
        os.close(descriptor)


def read_lines(path: Path) -> list[dict[str, object]]:
    """The documents in a file of JSON lines; none if the file does not exist."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text("ascii").splitlines()]


def write_document(path: Path, document: Mapping[str, object]) -> None:
    """Writes a JSON file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.write_text(json.dumps(document, ensure_ascii=True, indent=1) + "\n", "ascii")
    partial.replace(path)


def read_document(path: Path) -> dict[str, object] | None:
    """A JSON object, or None if there is no such file."""
    if not path.exists():
        return None
    document = json.loads(path.read_text("ascii"))
    assert isinstance(document, dict)
    return document
