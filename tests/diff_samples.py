"""Locks, outcomes, baselines and records of a small run, for the tests of comparing."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from rdlc.core.baseline import Baseline
from rdlc.core.canonical import Json
from rdlc.core.derivation import derive_cluster, derive_data
from rdlc.core.lockfile import RunLock, write_lock
from rdlc.core.outcome import Outcome, Step
from rdlc.core.provenance import Provenance
from rdlc.core.record import RunRecord, write_record
from rdlc.core.sections import (
    CodeSection,
    DataSection,
    EnvironmentSection,
    RecipeSection,
    RunSection,
    Sections,
)
from rdlc.core.spec import ClusterRequest, RecipeRequest, RunRequest

TENSORS = ("model.layers.2.weight", "model.layers.10.weight")


def batch_digest(step: int) -> str:
    return f"sha256:{step:064x}"


def a_fingerprint(number: int) -> str:
    return f"0x{number:016x}"


def make_step(number: int) -> Step:
    return Step(
        step=number,
        attempt=1,
        loss=(3.0 - number / 8).hex(),
        gradient_norm=(1.0 + number / 4).hex(),
        learning_rate="0.003",
        tokens=1024,
        batch_digest=batch_digest(number),
        parameters=a_fingerprint(number),
        step_s=0.25,
    )


def make_outcome(steps: int = 3, *, is_finished: bool = True) -> Outcome:
    return Outcome(
        steps=tuple(make_step(number) for number in range(1, steps + 1)),
        tensors={
            step: {name: a_fingerprint(16 * step + index) for index, name in enumerate(TENSORS)}
            for step in range(steps + 1)
        },
        evaluation_loss=(2.5).hex() if is_finished else None,
        initial_parameters=a_fingerprint(0),
        final_parameters=a_fingerprint(steps) if is_finished else None,
        finished=is_finished,
    )


def change_step(outcome: Outcome, number: int, **values: str | None) -> Outcome:
    """The outcome with other values in one step."""
    steps = tuple(
        replace(step, **values) if step.step == number else step  # type: ignore[arg-type]  # texts
        for step in outcome.steps
    )
    return replace(outcome, steps=steps)


def change_tensor(outcome: Outcome, number: int, name: str, value: str) -> Outcome:
    """The outcome with another fingerprint of one parameter at one step."""
    tensors = {step: dict(table) for step, table in outcome.tensors.items()}
    tensors[number][name] = value
    return replace(outcome, tensors=tensors)


def metrics_line(step: Step) -> dict[str, object]:
    return {
        "attempt": step.attempt,
        "step": step.step,
        "loss": step.loss,
        "gradient_norm": step.gradient_norm,
        "learning_rate": step.learning_rate,
        "tokens": step.tokens,
        "batch_digest": step.batch_digest,
        "parameters": step.parameters,
        "step_s": step.step_s,
    }


def json_lines(lines: Sequence[Mapping[str, object]]) -> bytes:
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def outcome_files(outcome: Outcome) -> dict[str, bytes]:
    """The files that a recipe leaves for the outcome."""
    totals = {step.step: step.parameters for step in outcome.steps}
    totals[0] = outcome.initial_parameters
    prints = [
        {"attempt": 1, "step": step, "parameters": totals[step], "tensors": dict(tensors)}
        for step, tensors in outcome.tensors.items()
    ]
    evaluation = {"loss": outcome.evaluation_loss} if outcome.evaluation_loss else None
    result = {
        "format": 1,
        "status": "finished" if outcome.finished else "failed",
        "last_step": outcome.last_step,
        "parameters": outcome.final_parameters,
        "evaluation": evaluation,
    }
    return {
        "metrics.jsonl": json_lines([metrics_line(step) for step in outcome.steps]),
        "fingerprints.jsonl": json_lines(prints),
        "result.json": json.dumps(result, indent=1).encode(),
    }


def make_lock(
    *,
    config: Mapping[str, Json] | None = None,
    overrides: Mapping[str, Json] | None = None,
    files: Mapping[str, str] | None = None,
    created: str = "2026-11-30T12:00:00Z",
) -> RunLock:
    shipped = {"fsdp_qwen/__init__.py": "b" * 64, **(files or {"fsdp_qwen/loop.py": "a" * 64})}
    data: dict[str, Json] = {"kind": "markov", "seed": 0}
    cluster = ClusterRequest(workers=2, cpus_per_worker=1, gpus_per_worker=0)
    recipe = RecipeRequest(
        module="fsdp_qwen.loop",
        config="configs/tiny.yaml",
        overrides=overrides or {},
        seed=0,
        deterministic=True,
        max_failures=0,
    )
    sections = Sections(
        run=RunSection(
            requested=RunRequest(name="tiny", target="local", claim="execution", limits={}, secrets=(), allow={})
        ),
        environment=EnvironmentSection(
            python="3.11.7",
            implementation="cpython",
            system="Linux",
            machine="x86_64",
            libc="glibc 2.36",
            cpu_vendor="AuthenticAMD",
            instruction_set=("avx2", "fma"),
            threads_per_worker=1,
            distributions={"torch": "2.13.0"},
        ),
        cluster=derive_cluster(cluster, deterministic=True),
        code=CodeSection(root="recipes", package="fsdp_qwen", files=shipped),
        data=DataSection(requested=data, resolved=derive_data(data)),
        recipe=RecipeSection(requested=recipe, config=config or {"learning_rate": "3e-3", "steps": 3}, world_size=2),
    )
    return RunLock(sections=sections, provenance=Provenance(created=created, tool="rdlc 0.1.0", git=None))


def make_baseline(lock: RunLock, outcome: Outcome) -> Baseline:
    return Baseline(
        lock_id=lock.id,
        name=lock.name,
        sections=lock.digests,
        claim="execution",
        level="execution",
        record="20261130T120000Z-1a2b",
        outcome=outcome,
    )


def make_record(lock: RunLock) -> RunRecord:
    return RunRecord(
        id="20261130T120000Z-1a2b",
        kind="run",
        name=lock.name,
        lock_id=lock.id,
        tool="rdlc 0.1.0",
        status="finished",
        claim="execution",
        level="execution",
        started="2026-11-30T12:00:00Z",
        token="t0",
        accepted={},
        observed={"torch": "2.13.0", "peak memory of a rank": "300 MiB"},
        files={},
    )


def write_record_folder(folder: Path, lock: RunLock, outcome: Outcome, record: RunRecord | None = None) -> None:
    folder.mkdir(parents=True)
    (folder / "lock.yaml").write_bytes(write_lock(lock))
    (folder / "record.json").write_bytes(write_record(record or make_record(lock)))
    for name, data in outcome_files(outcome).items():
        (folder / name).write_bytes(data)
