"""Exact mode: the switches that make two runs give the same bits, checked against a list.

Two kinds. *Environment variables* are read by libraries when they load or when the process group is
made, so they must be there before the process imports torch; a launcher sets them, `check_process`
only looks. *Switches of torch* are set by `set_switches` in each rank. Fast mode sets none of them;
both modes record what each rank saw.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fsdp_qwen.failures import ConfigError, TrainingFailed


@dataclass(frozen=True, kw_only=True, slots=True)
class Variable:
    """One variable of the allow-list: the values that keep runs exact, and why it matters."""

    name: str
    allowed: tuple[str, ...]
    is_required: bool
    why: str


def allowed_variables(cpus_per_worker: int) -> tuple[Variable, ...]:
    """The allow-list, for workers of so many CPU threads; other variables are not judged."""
    threads = str(cpus_per_worker)
    return (*_required(threads), *_OPTIONAL)


def _required(threads: str) -> tuple[Variable, ...]:
    rows = (
        ("OMP_NUM_THREADS", (threads,), "sums are split by thread; Ray would set it only if unset"),
        ("MKL_NUM_THREADS", (threads,), "matrix products are split by thread"),
        ("MKL_DYNAMIC", ("FALSE",), "MKL may otherwise use fewer threads when the machine is busy"),
        ("PYTHONHASHSEED", ("0",), "the order of sets of strings follows it"),
        ("CUBLAS_WORKSPACE_CONFIG", (":4096:8", ":16:8"), "cuBLAS picks kernels by free workspace"),
        (
            "NCCL_ALGO",
            ("Ring", "^NVLS"),
            "tree sums follow the topology found; NVLS sums differ per call",
        ),
        ("NCCL_NVLS_ENABLE", ("0",), "sums inside the NVLink switch are not repeatable"),
        ("NCCL_COLLNET_ENABLE", ("0",), "sums inside the network switch are not repeatable"),
    )
    return tuple(Variable(name=name, allowed=allowed, is_required=True, why=why) for name, allowed, why in rows)


# May be left out: the library's own default is repeatable on one machine. If set, only to one of
# these.
_OPTIONAL = tuple(
    Variable(name=name, allowed=allowed, is_required=False, why=why)
    for name, allowed, why in (
        (
            "NCCL_PROTO",
            ("Simple", "LL", "LL128"),
            "one protocol, so that message size can't pick another",
        ),
        ("NCCL_MIN_NCHANNELS", tuple(map(str, range(1, 65))), "channels split the sums"),
        ("NCCL_MAX_NCHANNELS", tuple(map(str, range(1, 65))), "channels split the sums"),
        ("NVIDIA_TF32_OVERRIDE", ("0",), "1 would force TF32 below torch's own switches"),
        ("TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", ("0",), "1 would undo torch's own switch"),
        ("NVTE_ALLOW_NONDETERMINISTIC_ALGO", ("0",), "Transformer Engine's own switch"),
        (
            "MKL_CBWR",
            ("AUTO", "COMPATIBLE", "AVX2", "AVX2,STRICT", "AVX512", "AVX512,STRICT"),
            "picks MKL's kernels",
        ),
        ("ATEN_CPU_CAPABILITY", ("default", "avx2", "avx512"), "picks ATen's kernels"),
        (
            "ONEDNN_MAX_CPU_ISA",
            ("DEFAULT", "SSE41", "AVX", "AVX2", "AVX512_CORE"),
            "picks oneDNN's kernels",
        ),
        (
            "ONEDNN_DEFAULT_FPMATH_MODE",
            ("STRICT",),
            "other modes round fp32 inputs to bf16 or TF32",
        ),
    )
)

# Not judged, but recorded: they place the run or say how its network was made.
_ALSO_RECORDED = (
    "CUDA_VISIBLE_DEVICES",
    "FI_PROVIDER",
    "GLOO_SOCKET_IFNAME",
    "NCCL_DEBUG",
    "NCCL_DEBUG_SUBSYS",
    "NCCL_IB_DISABLE",
    "NCCL_NET",
    "NCCL_P2P_DISABLE",
    "NCCL_SHM_DISABLE",
    "NCCL_SOCKET_IFNAME",
    "NCCL_TOPO_FILE",
)


def check_config(environment: Mapping[str, str], *, cpus_per_worker: int) -> None:
    """Refuses a config that leaves out a variable of the allow-list or gives it another value."""
    for variable in allowed_variables(cpus_per_worker):
        value = environment.get(variable.name)
        if value is None and not variable.is_required:
            continue
        if value not in variable.allowed:
            found = "is missing" if value is None else f"is `{value}`"
            raise ConfigError(
                f"determinism.environment.{variable.name}: {found}, exact mode allows only "
                f"{_listed(variable.allowed)} ({variable.why})"
            )


def check_process(
    environment: Mapping[str, str],
    wanted: Mapping[str, str],
    *,
    cpus_per_worker: int,
    allow_unset: bool,
) -> None:
    """Refuses a process whose variables of the allow-list are not what the config gives.

    A driver that will still set them passes `allow_unset`; a rank does not.
    """
    for variable in allowed_variables(cpus_per_worker):
        value, expected = environment.get(variable.name), wanted.get(variable.name)
        if value == expected or (value is None and allow_unset):
            continue
        found = "is not set" if value is None else f"is `{value}`"
        should = "leaves it unset" if expected is None else f"says `{expected}`"
        raise TrainingFailed(
            f"environment.{variable.name}: {found} in this process, but the config {should}; "
            f"exact mode allows only {_listed(variable.allowed)} ({variable.why})",
            field=f"environment.{variable.name}",
        )


def check_interpreter() -> None:
    """Refuses an interpreter that started before `PYTHONHASHSEED` was set: setting it later has no effect."""
    if sys.flags.hash_randomization:
        raise TrainingFailed(
            "environment.PYTHONHASHSEED: was not `0` when this interpreter started; set it before the launcher",
            field="environment.PYTHONHASHSEED",
        )


def recorded_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables worth keeping, of those that are set, in name order; never the whole environment."""
    names = {variable.name for variable in allowed_variables(1)} | set(_ALSO_RECORDED)
    return {name: environment[name] for name in sorted(names) if name in environment}


def set_switches(*, threads: int, seed: int) -> None:
    """Sets torch's own switches in this process; must run before any tensor work."""
    import torch

    # Every operation without a deterministic kernel raises instead of running.
    torch.use_deterministic_algorithms(True, warn_only=False)
    # Filling fresh memory only hides reads of uninitialised values, and costs time in every
    # allocation.
    _deterministic().fill_uninitialized_memory = False
    torch.backends.cudnn.deterministic = True
    # The autotuner picks kernels by measured time.
    torch.backends.cudnn.benchmark = False
    # TF32 and reduced-precision sums round differently from plain fp32, and by device generation.
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    # Attention: flash where dtype and shape allow it, else plain mathematics; no third choice.
    torch.backends.cuda.enable_flash_sdp(True)
    torch.backends.cuda.enable_math_sdp(True)
    torch.backends.cuda.enable_mem_efficient_sdp(False)
    torch.backends.cuda.enable_cudnn_sdp(False)
    torch.set_num_threads(threads)
    # Nothing in the loop draws from the global generator; a model that did would still start alike.
    torch.manual_seed(seed)


def read_switches() -> dict[str, str]:
    """torch's switches as they are in this process, as text, in name order."""
    import torch

    matmul, sdp = torch.backends.cuda.matmul, torch.backends.cuda
    values: dict[str, object] = {
        "cublas.allow_bf16_reduced_precision_reduction": matmul.allow_bf16_reduced_precision_reduction,
        "cublas.allow_fp16_reduced_precision_reduction": matmul.allow_fp16_reduced_precision_reduction,
        "cublas.allow_tf32": matmul.allow_tf32,
        "cudnn.allow_tf32": torch.backends.cudnn.allow_tf32,
        "cudnn.benchmark": torch.backends.cudnn.benchmark,
        "cudnn.deterministic": torch.backends.cudnn.deterministic,
        "deterministic_algorithms": torch.are_deterministic_algorithms_enabled(),
        "deterministic_algorithms.warn_only": torch.is_deterministic_algorithms_warn_only_enabled(),
        "fill_uninitialized_memory": _deterministic().fill_uninitialized_memory,
        "sdp.cudnn": sdp.cudnn_sdp_enabled(),
        "sdp.flash": sdp.flash_sdp_enabled(),
        "sdp.math": sdp.math_sdp_enabled(),
        "sdp.mem_efficient": sdp.mem_efficient_sdp_enabled(),
        "threads": torch.get_num_threads(),
    }
    return {name: str(value).lower() for name, value in sorted(values.items())}


def _deterministic() -> Any:
    """`torch.utils.deterministic`, whose switch is made at run time and so has no type."""
    import torch.utils.deterministic

    return torch.utils.deterministic


def _listed(words: Sequence[str]) -> str:
    if len(words) > 8:
        return f"`{words[0]}` to `{words[-1]}`"
    return ", ".join(f"`{word}`" for word in words)
