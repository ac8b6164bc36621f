"""How fast known devices compute and known nodes talk: a name that is not in the tables has no rate."""

from dataclasses import dataclass

_TERA = 10**12
_GIGABIT_BYTES = 10**9 // 8


@dataclass(frozen=True, kw_only=True, slots=True)
class DevicePeak:
    """Floating-point operations per second of one device, dense, by the dtype of the inputs."""

    bfloat16: int | None
    float32: int

    def of(self, dtype: str) -> int | None:
        """The peak of a dtype; None for one that is not in the table or not in the device."""
        return {"bfloat16": self.bfloat16, "float32": self.float32}.get(dtype)


# NVIDIA's data sheets. Tensor cores without sparsity for bfloat16, plain cores for float32, which is what
# PyTorch uses for it unless it is told otherwise. By the part of the name that torch gives. A T4 has no
# bfloat16 in its tensor cores; the A10G is the one that NVIDIA makes for EC2 alone, with a sheet of its own.
_PEAKS = {
    "Tesla T4": DevicePeak(bfloat16=None, float32=81 * _TERA // 10),
    "NVIDIA L4": DevicePeak(bfloat16=121 * _TERA, float32=303 * _TERA // 10),
    "NVIDIA A10G": DevicePeak(bfloat16=70 * _TERA, float32=35 * _TERA),
    "NVIDIA L40S": DevicePeak(bfloat16=362 * _TERA, float32=916 * _TERA // 10),
    "NVIDIA A100-SXM4-40GB": DevicePeak(bfloat16=312 * _TERA, float32=195 * _TERA // 10),
    "NVIDIA A100-SXM4-80GB": DevicePeak(bfloat16=312 * _TERA, float32=195 * _TERA // 10),
    "NVIDIA H100 80GB HBM3": DevicePeak(bfloat16=989 * _TERA, float32=67 * _TERA),
    "NVIDIA H200": DevicePeak(bfloat16=989 * _TERA, float32=67 * _TERA),
    "NVIDIA B200": DevicePeak(bfloat16=2250 * _TERA, float32=80 * _TERA),
}
# Network bandwidth of a node with all its EFA interfaces, in Gbit/s each way. Source: EC2's instance types.
_GIGABITS = {
    "g6.12xlarge": 40,
    "g6e.12xlarge": 100,
    "g6e.48xlarge": 400,
    "g7e.48xlarge": 1600,
    "p4d.24xlarge": 400,
    "p5.48xlarge": 3200,
    "p5e.48xlarge": 3200,
    "p5en.48xlarge": 3200,
    "p6-b200.48xlarge": 3200,
}


def peak_flops(device: str, dtype: str) -> int | None:
    """The peak of a device by the name that PyTorch gives it; None for a device that is not known."""
    peak = _PEAKS.get(device)
    return None if peak is None else peak.of(dtype)


def wire_bytes_per_s(instance_type: str) -> int | None:
    """Bytes per second that a node can send; None for a type that is not in the table."""
    gigabits = _GIGABITS.get(instance_type)
    return None if gigabits is None else gigabits * _GIGABIT_BYTES
