"""The GPUs that a lock asks for, and what they can do: a name that is not in the tables is not known."""

from dataclasses import dataclass

from rdlc.core.lockfile import RunLock
from rdlc.core.traffic.rates import wire_bytes_per_s

_GIB = 1 << 30
# What CUDA tells PyTorch of a device's memory, in whole GiB: less than what its name says, by what error
# correction and the driver take.
_MEMORY_GIB = {
    "Tesla T4": 14,
    "NVIDIA L4": 22,
    "NVIDIA A10G": 22,
    "NVIDIA L40S": 44,
    "NVIDIA A100-SXM4-40GB": 39,
    "NVIDIA A100-SXM4-80GB": 79,
    "NVIDIA H100 80GB HBM3": 79,
    "NVIDIA H200": 139,
    "NVIDIA B200": 178,
}
# The GPU and how many of them a node of a type has. Source: EC2's instance types.
_INSTANCES = {
    "g4dn.12xlarge": ("Tesla T4", 4),
    "g4dn.xlarge": ("Tesla T4", 1),
    "g5.12xlarge": ("NVIDIA A10G", 4),
    "g5.48xlarge": ("NVIDIA A10G", 8),
    "g5.xlarge": ("NVIDIA A10G", 1),
    "g6.12xlarge": ("NVIDIA L4", 4),
    "g6.48xlarge": ("NVIDIA L4", 8),
    "g6.xlarge": ("NVIDIA L4", 1),
    "g6e.12xlarge": ("NVIDIA L40S", 4),
    "g6e.48xlarge": ("NVIDIA L40S", 8),
    "g6e.xlarge": ("NVIDIA L40S", 1),
    "p4d.24xlarge": ("NVIDIA A100-SXM4-40GB", 8),
    "p4de.24xlarge": ("NVIDIA A100-SXM4-80GB", 8),
    "p5.48xlarge": ("NVIDIA H100 80GB HBM3", 8),
    "p5e.48xlarge": ("NVIDIA H200", 8),
    "p5en.48xlarge": ("NVIDIA H200", 8),
    "p6-b200.48xlarge": ("NVIDIA B200", 8),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Hardware:
    """What a run is placed on; None where it is not known. `origin` says where the GPU's name is from."""

    device: str
    nodes: int
    memory_bytes: int | None
    wire_bytes_per_s: int | None
    origin: str


def locked_hardware(lock: RunLock, *, here: tuple[str, ...]) -> Hardware | None:
    """The hardware of a lock: its nodes' type for target eks, for target local the GPUs of this machine.

    `here` are the names of those; None for a run without GPUs, or on GPUs that nobody knows.
    """
    sections = lock.sections
    if sections.cluster.requested.gpus_per_worker == 0:
        return None
    if sections.infra is not None:
        kind = str(sections.infra.variables.get("gpu_instance_type"))
        device, per_node = _INSTANCES.get(kind, ("", 0))
        if not device:
            return None
        nodes = max(1, -(-sections.recipe.world_size // per_node))
        return Hardware(
            device=device,
            nodes=nodes,
            memory_bytes=memory_bytes(device),
            wire_bytes_per_s=wire_bytes_per_s(kind),
            origin=f"{nodes} x {kind}",
        )
    if sections.run.requested.target != "local" or len(set(here)) != 1:
        return None
    return Hardware(
        device=here[0], nodes=1, memory_bytes=memory_bytes(here[0]), wire_bytes_per_s=None, origin="this machine"
    )


def memory_bytes(device: str) -> int | None:
    """The memory of a device by the name that PyTorch gives it; None for one that is not known."""
    size = _MEMORY_GIB.get(device)
    return None if size is None else size * _GIB
