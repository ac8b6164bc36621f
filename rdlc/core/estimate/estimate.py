"""What a locked run will need of its hardware, whether that fits, and which setting would do better."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from rdlc.core.canonical import Json
from rdlc.core.estimate.hardware import Hardware
from rdlc.core.estimate.memory import MemoryEstimate, estimate_memory
from rdlc.core.estimate.pace import compute_floor, wire_floor
from rdlc.core.estimate.settings import TrainingSettings

# Beside PyTorch's allocator: the CUDA context, NCCL's buffers, and what fragmentation takes at least.
OVERHEAD_BYTES = 3 << 29
# Above that share of a GPU, the allocator has to give memory back and ask again.
_TIGHT = 0.92
_OFFERED_FACTORS = (2, 4, 8, 16, 32, 64)


@dataclass(frozen=True, kw_only=True, slots=True)
class Advice:
    """Settings of the recipe by key that would do better, and what they give in words."""

    settings: dict[str, str]
    gives: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Estimate:
    """Memory and least times of a run; None where a rate or a size is not known.

    `fit` is `fits`, `tight`, `too large` or `not known`; `bound` is `compute`, `network` or "".
    """

    settings: TrainingSettings
    hardware: Hardware
    memory: MemoryEstimate
    fit: str
    compute_s: float | None
    wire_s: float | None
    bound: str
    advice: tuple[Advice, ...]

    def payload(self) -> dict[str, Json]:
        """The mapping in `lock --json`; times are text, as floats are everywhere."""
        memory = self.memory
        return {
            "device": self.hardware.device,
            "origin": self.hardware.origin,
            "nodes": self.hardware.nodes,
            "ranks": self.settings.ranks,
            "model_parameters": self.settings.shape.parameters,
            "tokens_per_rank": self.settings.tokens * self.settings.accumulation,
            "memory": {
                "parameters_bytes": memory.parameters,
                "optimizer_bytes": memory.optimizer,
                "gradients_bytes": memory.gradients,
                "gathered_bytes": memory.gathered,
                "activations_bytes": memory.activations,
                "loss_bytes": memory.loss,
                "peak_bytes": memory.peak,
                "peak_moment": memory.moment,
                "gpu_bytes": self.hardware.memory_bytes,
                "fit": self.fit,
            },
            "compute_floor_s": None if self.compute_s is None else f"{self.compute_s:.6f}",
            "wire_floor_s": None if self.wire_s is None else f"{self.wire_s:.6f}",
            "bound": self.bound or None,
            "advice": [{"settings": dict(item.settings), "gives": item.gives} for item in self.advice],
        }


def estimate(settings: TrainingSettings, hardware: Hardware) -> Estimate:
    """The estimate of a run, with what would do better where it does not fit or waits for its network."""
    memory, compute, wire = (
        estimate_memory(settings),
        compute_floor(settings, hardware),
        wire_floor(settings, hardware),
    )
    fit, bound = judge_fit(memory, hardware), _bound(compute, wire)
    advice: list[Advice] = []
    # What would be faster is asked of a run that fits.
    keys: dict[str, str] = {}
    base = settings
    if fit in ("too large", "tight"):
        keys, base = _find_smaller(settings, hardware)
        advice.append(_advise_memory(keys, base))
    if bound == "network":
        advice += _find_faster(keys, base, hardware)
    return Estimate(
        settings=settings,
        hardware=hardware,
        memory=memory,
        fit=fit,
        compute_s=compute,
        wire_s=wire,
        bound=bound,
        advice=tuple(advice),
    )


def judge_fit(memory: MemoryEstimate, hardware: Hardware) -> str:
    """Whether so much fits into one of the GPUs."""
    if hardware.memory_bytes is None:
        return "not known"
    need = memory.peak + OVERHEAD_BYTES
    if need > hardware.memory_bytes:
        return "too large"
    return "tight" if need > _TIGHT * hardware.memory_bytes else "fits"


def _bound(compute: float | None, wire: float | None) -> str:
    if compute is None or wire is None:
        return ""
    return "network" if wire > compute else "compute"


def _find_smaller(settings: TrainingSettings, hardware: Hardware) -> tuple[dict[str, str], TrainingSettings]:
    """The first of the ways to need less that fits well, from the cheapest in time; no keys if none does."""
    for keys, changed in _smaller(settings):
        if set(keys) <= settings.known and judge_fit(estimate_memory(changed), hardware) == "fits":
            return keys, changed
    return {}, settings


def _advise_memory(keys: dict[str, str], changed: TrainingSettings) -> Advice:
    if not keys:
        return Advice(settings={}, gives="nothing that this recipe can be set to fits: take more or larger GPUs")
    return Advice(settings=keys, gives=f"needs {_gib(estimate_memory(changed).peak)} GiB of a GPU")


def _smaller(settings: TrainingSettings) -> Iterator[tuple[dict[str, str], TrainingSettings]]:
    chunked = replace(settings, loss="chunked")
    for loss, losing in (({}, settings), ({"loss": "chunked"}, chunked)):
        for level in ("none", "selective", "full"):
            changed = replace(losing, checkpointing=level)
            if changed != settings:
                kept = {} if level == settings.checkpointing else {"activation_checkpointing": level}
                yield {**loss, **kept}, changed
    full = replace(chunked, checkpointing="full")
    for rows in (rows for rows in range(settings.rows - 1, 0, -1) if settings.rows % rows == 0):
        steps = settings.rows // rows * settings.accumulation
        changed = replace(full, rows=rows, accumulation=steps)
        yield (
            {"loss": "chunked", "activation_checkpointing": "full", "gradient_accumulation": str(steps)},
            changed,
        )


def _find_faster(keys: dict[str, str], base: TrainingSettings, hardware: Hardware) -> Iterator[Advice]:
    """Each way to wait less for the network that fits, on top of the keys that `base` has already."""
    nodes = hardware.nodes
    if base.replicas == 1 and base.ranks % nodes == 0 and base.ranks > nodes:
        yield from _offer({**keys, "replicas": str(nodes)}, replace(base, replicas=nodes), hardware)
    if base.reduce_dtype == "float32":
        yield from _offer({**keys, "reduce_dtype": "bfloat16"}, replace(base, reduce_dtype="bfloat16"), hardware)
    for factor in _OFFERED_FACTORS:
        changed = replace(base, rows=base.rows * factor)
        if _bound(compute_floor(changed, hardware), wire_floor(changed, hardware)) == "compute":
            rows = changed.rows * changed.accumulation * changed.ranks
            yield from _offer({**keys, "global_batch_size": str(rows)}, changed, hardware)
            return


def _offer(keys: dict[str, str], changed: TrainingSettings, hardware: Hardware) -> Iterator[Advice]:
    wire, compute = wire_floor(changed, hardware), compute_floor(changed, hardware)
    fits = judge_fit(estimate_memory(changed), hardware) in ("fits", "not known")
    if set(keys) <= changed.known and wire is not None and compute is not None and fits:
        gives = f"wire {wire * 1000:,.0f} ms, compute {compute * 1000:,.0f} ms a step at least"
        yield Advice(settings=keys, gives=gives)


def _gib(size: int) -> str:
    return f"{size / (1 << 30):,.1f}"
