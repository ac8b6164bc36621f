"""Runs in Ray Train's controller: writes down why an attempt failed, while it can be seen."""

import os
import socket
from pathlib import Path
from typing import Any

from ray.train import UserCallback

from fsdp_qwen.failures import Failure, failure_of, root_cause
from fsdp_qwen.records import Output


class FailureRecorder(UserCallback):
    """Adds a line to `failures.jsonl` for each failed attempt; says when a new one begins."""

    def __init__(self, *, output: Output, num_workers: int, max_failures: int) -> None:
        self._output = output
        self._num_workers = num_workers
        self._max_failures = max_failures

    def after_exception(
        self,
        run_context: Any,  # noqa: ARG002 - Ray passes it
        worker_exceptions: dict[int, Exception],
    ) -> None:
        """Called by Ray when one or more ranks have failed, before it stops the others."""
        attempt = 1 + self._output.attempts_failed()
        failures = [_failure(error, rank, self._output) for rank, error in worker_exceptions.items()]
        # A peer may report the lost connection before Ray has noticed the death.
        ranks = range(self._num_workers)
        failures += [failure for rank in ranks if (failure := _death(rank, self._output, attempt))]
        self._output.add_failure(attempt, root_cause(failures))
        if attempt <= self._max_failures:
            self._output.add_phase("restarting", attempt + 1)


def _failure(error: Exception, rank: int, output: Output) -> Failure:
    from ray.exceptions import RayActorError

    inner = getattr(error, "health_check_failure", error)
    if not isinstance(inner, RayActorError):
        return failure_of(error, rank)
    worker = output.read_worker(rank)
    pid = f" (pid {worker['pid']})" if worker else ""
    return Failure(
        rank=rank,
        kind="killed",
        message=f"rank {rank}{pid} died: its process was killed or crashed",
    )


def _death(rank: int, output: Output, attempt: int) -> Failure | None:
    """A failure if this attempt's process of a rank ran on this machine and is gone."""
    worker = output.read_worker(rank)
    if worker is None or worker["attempt"] != attempt or worker["host"] != socket.gethostname():
        return None
    pid = int(str(worker["pid"]))
    if is_alive(pid):
        return None
    return Failure(
        rank=rank,
        kind="killed",
        message=f"rank {rank} (pid {pid}) died: its process was killed or crashed",
    )


def is_alive(pid: int) -> bool:
    """Whether a process of this machine runs; one that ended but was not collected yet does not."""
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()[0]
    except (ProcessLookupError, FileNotFoundError):
        return False
    except PermissionError:
        return True
    return state not in "ZX"
