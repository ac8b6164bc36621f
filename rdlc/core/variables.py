"""Which environment variables a run takes from the shell, and which ones no secret may be called."""

# What a run takes over from the shell: where programs and libraries are, who runs it, which GPUs.
PASSED = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "VIRTUAL_ENV")
# Could move results or the transport if they were passed on; the lock's own values rule.
MATTERS = (
    "ATEN_", "CUBLAS_", "CUDA_", "FI_", "GLOO_", "GOMP_", "KMP_", "LD_", "MKL_", "NCCL_", "NVTE_", "OMP_",
    "ONEDNN_", "PYTHONHASHSEED", "PYTHONOPTIMIZE", "PYTHONPATH", "PYTORCH_", "RAY_", "TORCH",
)  # fmt: skip
# They change how Python, the C library, the shell or a number library works: never a secret.
_STEERING = (
    "BASH", "CUDNN_", "DNNL_", "GCONV_", "GLIBC_", "LC_", "MALLOC_", "NUMEXPR_", "NVIDIA_", "OPENBLAS_", "PIP_",
    "PYTHON", "RDLC_", "RUNTIME_ENV_", "TRITON_", "XDG_",
)  # fmt: skip
_ALONE = ("ENV", "IFS", "LANGUAGE", "PWD", "SHELL", "SOURCE_DATE_EPOCH", "TEMP", "TMP", "TMPDIR", "TZ")


def is_reserved(name: str) -> bool:
    """Whether a variable of that name steers what runs: handed over as a secret, no lock would show it."""
    return name in PASSED or name in _ALONE or name.startswith((*MATTERS, *_STEERING))
