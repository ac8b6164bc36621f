"""One rank's life, whoever started it: check what it got, say what it is, train, say how it ended."""

import importlib.metadata
import os
import platform
import resource
import socket
import sys
import traceback

import torch
import torch.distributed as dist

from fsdp_qwen import exact, nccl_log
from fsdp_qwen.config import Config
from fsdp_qwen.digest import code_digest, code_root
from fsdp_qwen.distributions import read_distributions
from fsdp_qwen.failures import TrainingFailed, failure_of
from fsdp_qwen.held_out import check_folders
from fsdp_qwen.loop import Publish, Restore, train
from fsdp_qwen.outcome import Outcome
from fsdp_qwen.packages import read_own_report
from fsdp_qwen.place import Place
from fsdp_qwen.records import Output, write_document
from fsdp_qwen.speed import choose_attention


def make_place(config: Config, *, rank: int, local_rank: int, node_rank: int, attempt: int) -> Place:
    """The place of a rank, on its own GPU if the run uses GPUs."""
    device = torch.device("cuda", local_rank) if config.gpus_per_worker else torch.device("cpu")
    if device.type == "cuda":
        torch.cuda.set_device(device)
    return Place(
        rank=rank,
        local_rank=local_rank,
        node_rank=node_rank,
        world_size=config.num_workers,
        attempt=attempt,
        device=device,
    )


def run_rank(config: Config, place: Place, output: Output, *, publish: Publish, restore: Restore) -> Outcome:
    """Trains as one rank of a process group that already exists."""
    try:
        return _run(config, place, output, publish=publish, restore=restore)
    except Exception as error:
        # The launcher may see no more than a dead process, so the reason is left where it can find
        # it.
        output.write_failure(failure_of(error, place.rank), place.attempt, traceback.format_exc())
        raise


def _run(config: Config, place: Place, output: Output, *, publish: Publish, restore: Restore) -> Outcome:
    set_up_process(config)
    received = code_digest(code_root())
    document = describe(place, received, output)
    if config.packages is not None:
        document["distributions"] = read_distributions()
        document["installed"] = read_own_report()
    write_document(output.worker(place.rank) / "worker.json", document)
    check_code(config, received)
    check_folders(config, place)
    outcome = train(config, place, output, publish=publish, restore=restore)
    # ru_maxrss is in KiB on Linux.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    write_document(output.worker(place.rank) / "worker.json", {**document, "peak_rss_bytes": peak})
    return outcome


def set_up_process(config: Config) -> None:
    """Sets torch's switches as the config has them; refuses a process that did not start for exact mode."""
    if config.determinism.is_exact:
        exact.check_process(
            os.environ,
            config.determinism.environment,
            cpus_per_worker=config.cpus_per_worker,
            allow_unset=False,
        )
        exact.check_interpreter()
        exact.set_switches(threads=config.cpus_per_worker, seed=config.seed)
    choose_attention(config.recipe.compute.attention)


def check_code(config: Config, received: str) -> None:
    """Refuses code that is not what the config names."""
    if config.code_digest is not None and received != config.code_digest:
        raise TrainingFailed(
            f"code_digest: the config says {config.code_digest}, but the worker received {received}",
            field="code_digest",
        )


def describe(place: Place, received: str, output: Output) -> dict[str, object]:
    """What this process is and what it sees, for `worker.json`."""
    return {
        "format": 1,
        "rank": place.rank,
        "local_rank": place.local_rank,
        "node_rank": place.node_rank,
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "attempt": place.attempt,
        "environment": exact.recorded_environment(os.environ),
        "switches": exact.read_switches(),
        # As installed packages are told by name; torch itself adds what it was built for.
        "torch": importlib.metadata.version("torch"),
        "torch_build": torch.__version__,
        # Only what is loaded counts: under plain processes there is no Ray, installed or not.
        "ray": importlib.metadata.version("ray") if "ray" in sys.modules else None,
        "transformers": importlib.metadata.version("transformers"),
        "python": platform.python_version(),
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
        "cpu_threads": torch.get_num_threads(),
        "device": _device_name(place.device),
        "code_digest": received,
        "peak_rss_bytes": None,
        "network_used": dist.get_backend(),
        "nccl_log": nccl_log.describe(os.environ, output.path) if place.device.type == "cuda" else None,
    }


def _device_name(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else str(device)
