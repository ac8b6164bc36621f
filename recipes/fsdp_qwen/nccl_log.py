"""NCCL's own log: one file per process, because lines that pass through a collector get lost.

Ray prints lines that look alike once only, and to it a channel over a socket looks like one over
RDMA. A file that NCCL writes by itself holds every line, and no other process's.
"""

from collections.abc import Mapping
from pathlib import Path

FOLDER = "nccl"

# INIT: version, network chosen, ranks and nodes, channels. BOOTSTRAP: the interface. ENV: NCCL's
# variables, also those from its configuration files. NET: what the network plugin found, GPUDirect.
# Other subsystems write a line per collective, or hide BOOTSTRAP when given without it.
SUBSYSTEMS = "INIT,BOOTSTRAP,ENV,NET"


def environment(output: Path, *, gpus_per_worker: int) -> Mapping[str, str]:
    """The variables that every worker process must start with; none if NCCL will not be used.

    NCCL reads them when it is first used. %h and %p are the host and the process. It does not make
    the folder: `make_folder` does.
    """
    if not gpus_per_worker:
        return {}
    return {
        "NCCL_DEBUG": "INFO",
        "NCCL_DEBUG_SUBSYS": SUBSYSTEMS,
        "NCCL_DEBUG_FILE": str(output / FOLDER / "nccl.%h.%p.log"),
    }


def make_folder(output: Path, *, gpus_per_worker: int) -> None:
    """Makes the folder of the log files, if there will be any: without it NCCL writes to stdout."""
    if gpus_per_worker:
        (output / FOLDER).mkdir(parents=True, exist_ok=True)


def describe(environment: Mapping[str, str], output: Path) -> str | None:
    """Where this process's log goes, seen from the output folder if it is below; None if nowhere but stdout."""
    file = environment.get("NCCL_DEBUG_FILE")
    return None if file is None else file.removeprefix(f"{output}/")
