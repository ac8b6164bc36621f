"""Runs one rank in a process that `torchrun -m fsdp_qwen.train --launcher torchrun` started."""

import os

import torch.distributed as dist

from fsdp_qwen.config import Config
from fsdp_qwen.failures import ConfigError, Failure, failure_of, root_cause
from fsdp_qwen.outcome import Outcome
from fsdp_qwen.records import Output
from fsdp_qwen.storage import opened_storage
from fsdp_qwen.worker import make_place, run_rank


def launch(config: Config, output: Output) -> Outcome | Failure:
    """Trains as the rank that torchrun's environment names; its restart count is the attempt.

    Gives back the outcome, or the likeliest cause among the failures that the ranks have left so
    far.
    """
    world_size = int(os.environ["WORLD_SIZE"])
    if world_size != config.num_workers:
        raise ConfigError(f"num_workers: is {config.num_workers}, but torchrun started {world_size} processes")
    attempt = 1 + int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"))
    place = make_place(
        config,
        rank=int(os.environ["RANK"]),
        local_rank=int(os.environ["LOCAL_RANK"]),
        node_rank=int(os.environ["GROUP_RANK"]),
        attempt=attempt,
    )
    if place.rank == 0:
        output.add_phase("starting-workers" if attempt == 1 else "restarting", attempt)
    dist.init_process_group("nccl" if config.gpus_per_worker else "gloo")
    try:
        with opened_storage(config, place, output) as storage:
            return run_rank(config, place, output, publish=storage.publish, restore=storage.restore)
    except Exception as error:  # noqa: BLE001 - turned into the run's failure here
        others = (output.read_failure(rank, attempt) for rank in range(world_size))
        return root_cause([failure_of(error, place.rank), *filter(None, others)])
    finally:
        dist.destroy_process_group()
