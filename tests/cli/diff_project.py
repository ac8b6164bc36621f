"""Two locks, a baseline and two records, for the transcripts of `rdlc diff`."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from rdlc.core.baseline import write_baseline
from rdlc.core.lockfile import write_lock
from tests.diff_samples import (
    TENSORS,
    a_fingerprint,
    change_step,
    change_tensor,
    make_baseline,
    make_lock,
    make_outcome,
    make_record,
    write_record_folder,
)

LOCK = make_lock()
OTHER = make_lock(
    config={"learning_rate": "1e-3", "steps": 3},
    overrides={"learning_rate": "1e-3"},
    files={"fsdp_qwen/loop.py": "b" * 64, "fsdp_qwen/new.py": "c" * 64},
)

Diff = Callable[..., tuple[int, str, str]]


def write_project() -> None:
    """Writes two locks, a baseline and two records into the current folder."""
    Path("recipes").mkdir()
    Path("a.lock.yaml").write_bytes(write_lock(LOCK))
    Path("b.lock.yaml").write_bytes(write_lock(OTHER))
    Path("a.baseline.yaml").write_bytes(write_baseline(make_baseline(LOCK, make_outcome())))
    outcome = change_step(make_outcome(), 2, gradient_norm=(9.0).hex(), parameters=a_fingerprint(77))
    outcome = change_tensor(outcome, 2, TENSORS[1], a_fingerprint(99))
    drifted = replace(make_record(OTHER), accepted={"code": "a fix"}, observed={"torch": "2.13.1"})
    write_record_folder(Path("runs/tiny/r1"), LOCK, make_outcome())
    write_record_folder(Path("runs/tiny/r2"), OTHER, outcome, drifted)


def with_names(text: str) -> str:
    """The text with a name for each whole digest."""
    for side, lock in (("A", LOCK), ("B", OTHER)):
        text = text.replace(lock.id, f"<id of {side}>")
        for section, value in lock.digests.items():
            text = text.replace(value, f"<{section} of {side}>")
    for character in "abc":
        text = text.replace(character * 64, f"<64 {character}>")
    return text
