"""Locks in which every optional field stands, and damaged copies of files."""

from collections.abc import Iterator
from dataclasses import replace

from rdlc.core.canonical import Json
from rdlc.core.data.files import LockedFile, LockedFiles
from rdlc.core.data.origin import Origin
from rdlc.core.lockfile import RunLock
from rdlc.core.packages.derivation import local_base
from rdlc.core.packages.request import PackagesRequest
from rdlc.core.packages.section import LockedPackage, PackagesSection
from rdlc.core.packages.wishes import base_reason, marker_reason
from rdlc.core.provenance import GitState, PackagesOrigin, Provenance
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


def packages_lock() -> RunLock:
    """The full lock with two extra packages, one of them from source, and two requirements that add nothing."""
    lock = full_lock()
    base = local_base(lock.sections.local_environment)
    marked, met = 'tomli>=2; python_version < "3.11"', "torch>=2"
    request = PackagesRequest(
        requires=("peft", marked, met, "trl==0.20.0"),
        requirements_file="extra.txt",
        index="https://index.example/simple",
        exclude_newer="2026-09-01T23:59:59Z",
        install="wheelhouse",
        allow_sdist=("trl",),
        allow_replace={"numpy": "a fix"},
    )
    section = PackagesSection(
        requested=replace(request, requires=tuple(sorted(request.requires))),
        python=base.python,
        platform=base.uv_platform,
        constraints_digest=base.constraints_digest,
        evidence="environment",
        extras=(
            extra("peft", "0.17.0", "peft-0.17.0-py3-none-any.whl"),
            extra("trl", "0.20.0", "trl-0.20.0.tar.gz"),
        ),
        left_out={marked: marker_reason(base), met: base_reason("torch", "2.13.0")},
    )
    origin = PackagesOrigin(index=request.index, yanked={"trl-0.20.0.tar.gz": "broken"})
    return RunLock(
        sections=replace(lock.sections, packages=section), provenance=replace(lock.provenance, packages=origin)
    )


def text_request() -> dict[str, Json]:
    """What it asks for."""
    return {
        "kind": "text",
        "seed": 0,
        "path": "s3://corpus/2026",
        "files": ["*.jsonl"],
        "field": "body",
        "documents": "paragraph",
        "held_out_percent": 5,
        "tokenizer": "model",
        "separator": "<|endoftext|>",
    }


def text_lock() -> RunLock:
    """The full lock with weights of the Hub and text in S3, some of it without a digest."""
    lock = full_lock()
    model = LockedFiles(
        evidence="stated",
        commit="3" * 40,
        files={
            "config.json": LockedFile(size=784, sha256="sha256:" + "1" * 64),
            "model.safetensors": LockedFile(size=3 << 30, sha256="sha256:" + "2" * 64),
            "tokenizer.json": LockedFile(size=7 << 20, sha256="sha256:" + "3" * 64),
        },
    )
    dataset = LockedFiles(
        evidence="listing",
        files={
            "a/one.jsonl": LockedFile(size=4096, sha256="sha256:" + "4" * 64, version="v.1", etag="5" * 32),
            "two.jsonl": LockedFile(size=8192, etag=f"{'6' * 32}-2"),
        },
    )
    data = DataSection(
        requested=text_request(),
        resolved={"source": "s3", "shows_learning": True},
        model_origin=Origin(kind="hub", place="Qwen/Qwen2.5-1.5B", revision="main"),
        model=model,
        dataset=dataset,
    )
    return replace(lock, sections=replace(lock.sections, data=data))


def extra(name: str, version: str, file: str) -> LockedPackage:
    """An extra package of 1 KiB."""
    return LockedPackage(name=name, version=version, file=file, size=1024, sha256="sha256:" + "e" * 64)


def flipped(data: bytes, mask: int, *, end: int, step: int = 1) -> Iterator[tuple[int, bytes]]:
    """Copies of the data with one byte before `end` changed, each `step`-th in turn, and its place."""
    for index in range(0, end, step):
        damaged = bytearray(data)
        damaged[index] ^= mask
        yield index, bytes(damaged)
