"""How a rank's GPU stands at one moment, as its driver says: clock, temperature, power, why it is slowed down.

Read through NVML, by one of the Python bindings that may be there. What cannot be read has a reason,
and never ends a run.
"""

import importlib
from typing import Any

import torch

# nvidia-ml-py, and the copy of it that Ray carries.
_BINDINGS = ("pynvml", "ray._private.thirdparty.pynvml")
# NVML's bits, from nvml.h (nvmlClocksEventReasons). Those that no one has to know (idle, clocks set by
# the user) are left out.
_REASONS = {
    0x0000000000000004: "software power cap",
    0x0000000000000008: "hardware slowdown",
    0x0000000000000010: "sync boost",
    0x0000000000000020: "software thermal slowdown",
    0x0000000000000040: "hardware thermal slowdown",
    0x0000000000000080: "hardware power brake",
}


def read_gpu_state(device: torch.device) -> tuple[dict[str, object] | None, str]:
    """The state of a CUDA device and "", or None and why it is not known."""
    if device.type != "cuda":
        return None, "the rank computes on no GPU"
    nvml, why = _load_binding()
    if nvml is None:
        return None, why
    try:
        nvml.nvmlInit()
        try:
            # By its unique name: CUDA and NVML may number the devices differently.
            handle = nvml.nvmlDeviceGetHandleByUUID(f"GPU-{torch.cuda.get_device_properties(device).uuid}")
            return read_handle(nvml, handle), ""
        finally:
            nvml.nvmlShutdown()
    except Exception as error:  # noqa: BLE001 - whatever a driver or its binding does must not end a run
        return None, f"NVML: {error}"


def _load_binding() -> tuple[Any, str]:
    for name in _BINDINGS:
        try:
            return importlib.import_module(name), ""
        except ImportError:
            continue
    return None, "no Python binding of NVML is installed (nvidia-ml-py)"


def read_handle(nvml: Any, handle: Any) -> dict[str, object]:
    """What the binding says of one of its devices."""
    return {
        "clock_mhz": nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM),
        "most_clock_mhz": nvml.nvmlDeviceGetMaxClockInfo(handle, nvml.NVML_CLOCK_SM),
        "temperature_c": nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU),
        "power_w": nvml.nvmlDeviceGetPowerUsage(handle) // 1000,
        "slowed_by": name_reasons(_reasons(nvml, handle)),
    }


def _reasons(nvml: Any, handle: Any) -> int:
    # The newer name of the same question.
    ask = getattr(nvml, "nvmlDeviceGetCurrentClocksEventReasons", None)
    ask = ask or nvml.nvmlDeviceGetCurrentClocksThrottleReasons
    return int(ask(handle))


def name_reasons(bits: int) -> list[str]:
    """What slows a GPU down, in words; nothing for one that is idle or runs as it is set to."""
    return [name for bit, name in _REASONS.items() if bits & bit]
