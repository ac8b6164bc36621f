"""A lock in which every optional field stands, and damaged copies of files."""

from collections.abc import Iterator
from dataclasses import replace

from rdlc.core.lockfile import RunLock
from rdlc.core.provenance import GitState, Provenance
from rdlc.core.sections import DataSection
from tests.diff_samples import make_lock


def full_lock() -> RunLock:
    """The lock of a small run with limits, secrets, waived rules, settings, lists, and a git state."""
    lock = make_lock(
        config={"adam_betas": ["0.9", "0.95"], "learning_rate": "3e-3", "steps": 3},
        overrides={"learning_rate": "3e-3"},
        files={"fsdp_qwen/__init__.py": "b" * 64, "fsdp_qwen/a b.py": "c" * 64, "fsdp_qwen/loop.py": "a" * 64},
    )
    sections = lock.sections
    run = replace(
        sections.run.requested,
        limits={"max_hours": "1", "no_step_minutes": "10"},
        secrets=("HF_TOKEN",),
        allow={"K22": "no hugepages on this AMI"},
    )
    return RunLock(
        sections=replace(
            sections,
            run=replace(sections.run, requested=run),
            data=DataSection(
                requested={"kind": "markov", "seed": 0, "states": 8},
                resolved={"source": "generated", "shows_learning": True},
            ),
        ),
        provenance=Provenance(
            created="2026-11-30T12:00:00Z",
            tool="rdlc 0.1.0",
            git=GitState(
                commit="1" * 40,
                branch="main",
                tree="2" * 40,
                patch="diff --git a/x b/x\n-one\n+two\n",
                patch_omitted="too large",
                untracked=("fsdp_qwen/new.py",),
            ),
        ),
    )


def flipped(data: bytes, mask: int, *, end: int, step: int = 1) -> Iterator[tuple[int, bytes]]:
    """Copies of the data with one byte before `end` changed, each `step`-th in turn, and its place."""
    for index in range(0, end, step):
        damaged = bytearray(data)
        damaged[index] ^= mask
        yield index, bytes(damaged)
