"""An estimate for people, line by line."""

from collections.abc import Iterator

from rdlc.core.estimate.estimate import OVERHEAD_BYTES, Advice, Estimate
from rdlc.core.text import one_line


def describe_estimate(found: Estimate) -> Iterator[tuple[str, str]]:
    """Label and text of each line."""
    settings, hardware = found.settings, found.hardware
    device = one_line(hardware.device)
    tokens = settings.tokens * settings.accumulation
    yield (
        "estimate",
        (
            f"{settings.shape.parameters:,} parameters on {settings.ranks} x {device} ({one_line(hardware.origin)}), "
            f"{tokens:,} tokens a step on each"
        ),
    )
    yield "memory", _describe_memory(found)
    yield "time", _describe_time(found)
    for number, advice in enumerate(found.advice):
        yield ("better" if number == 0 else "or", _describe_advice(advice))


def describe_problems(found: Estimate) -> Iterator[str]:
    """A sentence for each thing that lets the run fail or crawl; none if it will run well."""
    if found.fit == "too large":
        yield f"the run does not fit: {_describe_need(found)}"
    elif found.fit == "tight":
        yield f"the run barely fits: {_describe_need(found)}"
    if found.bound == "network":
        yield "the run is network-bound: its bytes take longer than its computing"


def _describe_need(found: Estimate) -> str:
    assert found.hardware.memory_bytes is not None
    return (
        f"it needs {_gib(found.memory.peak)} GiB and {_gib(OVERHEAD_BYTES)} GiB for CUDA and NCCL, "
        f"and a GPU has {_gib(found.hardware.memory_bytes)} GiB"
    )


def _describe_memory(found: Estimate) -> str:
    memory = found.memory
    parts = {
        "parameters": memory.parameters,
        "optimizer": memory.optimizer,
        "gradients": memory.gradients,
        "gathered weights": memory.gathered,
        "activations": memory.activations,
        "logits": memory.loss,
    }
    listed = ", ".join(f"{name} {_gib(size)}" for name, size in parts.items() if size)
    size = found.hardware.memory_bytes
    of = f" of {_gib(size)}: {found.fit}" if size else ", and the GPU's is not known"
    return f"{_gib(memory.peak)} GiB a GPU{of} ({memory.moment}: {listed})"


def _describe_time(found: Estimate) -> str:
    compute = "compute not known" if found.compute_s is None else f"compute {found.compute_s * 1000:,.0f} ms"
    if found.hardware.nodes == 1:
        wire = "no wire (one node)"
    else:
        wire = "wire not known" if found.wire_s is None else f"wire {found.wire_s * 1000:,.0f} ms"
    bound = f": {found.bound}-bound" if found.bound else ""
    return f"at least {compute} and {wire} a step, by data sheets{bound}"


def _describe_advice(advice: Advice) -> str:
    keys = " ".join(f"--set recipe.{key}={value}" for key, value in advice.settings.items())
    return f"`{keys}`: {advice.gives}" if keys else advice.gives


def _gib(size: int) -> str:
    return f"{size / (1 << 30):,.1f}"
