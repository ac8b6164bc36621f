"""The environment variables that every worker must see before it starts, and why each one."""

from rdlc.core.network import NetworkRequest
from rdlc.core.sections import Setting
from rdlc.core.spec import ClusterRequest

# Sources: cuBLAS "Results reproducibility", NVIDIA's Megatron Core guide to deterministic training,
# Intel's oneMKL "Reproducibility Conditions", PyTorch's notes on randomness.
_EXACT = {
    # cuBLAS picks split-k workspaces per stream unless it is fixed.
    "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
    "MKL_DYNAMIC": "FALSE",
    # Ring keeps the order of summation; NVLS and CollNet sum inside the switch.
    "NCCL_ALGO": "Ring",
    "NCCL_COLLNET_ENABLE": "0",
    "NCCL_NVLS_ENABLE": "0",
    "NVTE_ALLOW_NONDETERMINISTIC_ALGO": "0",
    "PYTHONHASHSEED": "0",
}
_THREADS = ("MKL_NUM_THREADS", "OMP_NUM_THREADS")


def worker_settings(
    cluster: ClusterRequest, *, is_exact: bool, network: NetworkRequest | None = None
) -> dict[str, Setting]:
    """Variable name to value and origin; the thread counts are set in both modes.

    Ray sets `OMP_NUM_THREADS` from the CPUs of a worker unless it is set (ray-project/ray#6998), and
    a different count moves the bits of CPU gradients: it is never left to a default.
    """
    threads = str(cluster.cpus_per_worker)
    settings = {name: Setting(value=threads, origin="cluster.cpus_per_worker") for name in _THREADS}
    if is_exact:
        for name, value in _EXACT.items():
            settings[name] = Setting(value=value, origin="recipe.deterministic")
    for name, value in network.guard.items() if network is not None else ():
        settings[name] = Setting(value=value, origin="network.strict")
    return dict(sorted(settings.items()))
