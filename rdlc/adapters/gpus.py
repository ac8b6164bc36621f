"""The GPUs of this machine by name, as the kernel's driver tells; no program is started for it."""

from pathlib import Path

_FOLDER = Path("/proc/driver/nvidia/gpus")
_LIMIT_BYTES = 4096


def read_gpu_names(folder: Path = _FOLDER) -> tuple[str, ...]:
    """The name of each GPU that this process can see, in no order; none without NVIDIA's driver."""
    names = []
    try:
        for path in sorted(folder.glob("*/information")):
            with path.open("rb") as file:
                text = file.read(_LIMIT_BYTES).decode("utf-8", "replace")
            names += [line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("Model:")]
    except OSError:
        return ()
    return tuple(names)
