"""Runs the ranks as plain processes of this machine: no cluster, no network beyond the loopback.

The processes are forked from a server that has already imported torch, so that a small run takes
about two seconds.
"""

import multiprocessing
import os
import tempfile
import threading
import time
from contextlib import contextmanager
from datetime import timedelta
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import TYPE_CHECKING

from fsdp_qwen.config import Config
from fsdp_qwen.failures import Failure, root_cause
from fsdp_qwen.outcome import Outcome
from fsdp_qwen.records import Output

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from multiprocessing.context import ForkServerProcess

    from fsdp_qwen.place import Place

# How long the other ranks may take to fail by themselves after the first one did, so that their
# reasons are known.
_GRACE_S = 3.0


def launch(config: Config, output: Output) -> Outcome | Failure:
    """Runs attempts until one finishes or too many have failed; gives back how the last ended."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["fsdp_qwen.launch_processes", "fsdp_qwen.worker"])
    output.add_phase("starting-workers", 1)
    attempt = 1
    while True:
        ended = run_attempt(config, output, attempt)
        if not isinstance(ended, Failure):
            return ended
        output.add_failure(attempt, ended)
        # A refusal would come again: the same code would look at the same values.
        if attempt > config.max_failures or ended.kind == "refused":
            return ended
        attempt += 1
        output.add_phase("restarting", attempt)


def run_attempt(config: Config, output: Output, attempt: int) -> Outcome | Failure:
    """Trains once, with all ranks."""
    ended = run_ranks(config, output, attempt, body=_run_rank)
    assert isinstance(ended, Outcome | Failure)
    return ended


def run_ranks(config: Config, output: Output, attempt: int, *, body: "Callable[..., None]") -> object:
    """Starts all ranks once and waits for them; no process outlives the call.

    `body` takes the arguments of `joined_group` and a connection, None but for rank 0, which sends
    what is given back here; a failure is given back in its place.
    """
    context = multiprocessing.get_context("forkserver")
    receiver, sender = context.Pipe(duplex=False)
    with tempfile.TemporaryDirectory(prefix="rendezvous-", dir=output.parts) as rendezvous, _stopped() as processes:
        for rank in range(config.num_workers):
            processes.append(
                context.Process(
                    target=body,
                    args=(
                        config,
                        output,
                        rank,
                        attempt,
                        f"file://{rendezvous}/store",
                        sender if rank == 0 else None,
                    ),
                )
            )
            processes[-1].start()
        sender.close()
        failure = _await(processes, output, attempt)
        if failure is not None:
            return failure
        return receiver.recv()


def _await(processes: "list[ForkServerProcess]", output: Output, attempt: int) -> Failure | None:
    """Waits until all have finished or one has failed; gives back the cause of the failure."""
    running = list(processes)
    while running and all(process.exitcode in (None, 0) for process in processes):
        wait([process.sentinel for process in running])
        running = [process for process in running if process.exitcode is None]
    if all(process.exitcode == 0 for process in processes):
        return None
    deadline = time.monotonic() + _GRACE_S
    for process in running:
        process.join(max(0.0, deadline - time.monotonic()))
    return root_cause(
        failure for rank, process in enumerate(processes) if (failure := _failure(process, output, rank, attempt))
    )


def _failure(process: "ForkServerProcess", output: Output, rank: int, attempt: int) -> Failure | None:
    if not process.exitcode:
        return None
    if process.exitcode < 0:
        message = f"rank {rank} (pid {process.pid}) was killed by signal {-process.exitcode}"
        return Failure(rank=rank, kind="killed", message=message)
    message = f"rank {rank} (pid {process.pid}) ended with exit code {process.exitcode}"
    return output.read_failure(rank, attempt) or Failure(rank=rank, kind="error", message=message)


@contextmanager
def _stopped() -> "Iterator[list[ForkServerProcess]]":
    """A list of processes, none of which outlives the block."""
    processes: list[ForkServerProcess] = []
    try:
        yield processes
    finally:
        for process in processes:
            process.kill()
            process.join()


def _run_rank(
    config: Config,
    output: Output,
    rank: int,
    attempt: int,
    rendezvous: str,
    sender: Connection | None,
) -> None:
    """The body of one child process that trains."""
    from fsdp_qwen.storage import opened_storage
    from fsdp_qwen.worker import run_rank

    with (
        joined_group(config, output, rank, attempt, rendezvous) as place,
        opened_storage(config, place, output) as storage,
    ):
        outcome = run_rank(config, place, output, publish=storage.publish, restore=storage.restore)
        if sender is not None:
            sender.send(outcome)


@contextmanager
def joined_group(config: Config, output: Output, rank: int, attempt: int, rendezvous: str) -> "Iterator[Place]":
    """The place of this process among the ranks, inside their process group."""
    import torch.distributed as dist

    from fsdp_qwen.worker import make_place

    _log_to(output.worker(rank) / "output.log")
    threading.Thread(target=_end_with_driver, daemon=True).start()
    place = make_place(config, rank=rank, local_rank=rank, node_rank=0, attempt=attempt)
    dist.init_process_group(
        "nccl" if config.gpus_per_worker else "gloo",
        init_method=rendezvous,
        rank=rank,
        world_size=config.num_workers,
        timeout=timedelta(minutes=30),
    )
    yield place
    dist.destroy_process_group()


def _end_with_driver() -> None:
    """Ends this process when the driver is gone, however it went."""
    driver = multiprocessing.parent_process()
    assert driver is not None
    driver.join()
    os._exit(1)


def _log_to(path: Path) -> None:
    """Sends what this process prints to a file: the driver says it once, in one line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    for stream in (1, 2):
        os.dup2(descriptor, stream)
    os.close(descriptor)
