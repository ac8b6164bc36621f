"""Runs the ranks as workers of Ray Train, on a Ray of its own that starts and ends with the run.

This module is imported by the driver, the Train controller and the workers; torch is imported only
in workers.
"""

import logging
import os
import secrets
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, redirect_stdout
from functools import partial
from pathlib import Path
from typing import Any

from fsdp_qwen import nccl_log
from fsdp_qwen.config import Config
from fsdp_qwen.failures import Failure, Interrupted, failure_of
from fsdp_qwen.outcome import Outcome
from fsdp_qwen.packages import install, light_environment, runtime_environment
from fsdp_qwen.records import Output

# Ray's smallest sensible store: nothing of ours goes through it.
_OBJECT_STORE_BYTES = 80 * 1024 * 1024

# Read by Ray when it is imported or when a process of it starts, so they are set before either.
RAY_ENVIRONMENT = {
    # How often the controller looks at the workers; it also bounds how long a checkpoint's report
    # waits (2 s).
    "RAY_TRAIN_HEALTH_CHECK_INTERVAL_S": "0.2",
    # A busy machine may need longer than Ray's default of 60 s.
    "RAY_TRAIN_WORKER_GROUP_START_TIMEOUT_S": "600",
    # After a rank was killed, the others hang in a collective; Ray waits this long for them (30 s).
    "TORCH_PROCESS_GROUP_SHUTDOWN_TIMEOUT_S": "1",
    # Paths of the config are absolute, and the workers' folder should be the same on every start.
    "RAY_CHDIR_TO_TRIAL_DIR": "0",
    "RAY_TRAIN_V2_ENABLED": "1",
    "RAY_TRAIN_METRICS_ENABLED": "0",
    # There is no node that could be reclaimed; the watcher costs a process.
    "RAY_TRAIN_ENABLE_PREEMPTION_WATCHER": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
    # Don't rebuild the environment of `uv run` in the workers: they have the driver's.
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
    # Ray replaces a loopback address by the machine's own, except where this switch is off; the
    # name of the switch tells its origin, not its effect. Nothing outside of this machine has to
    # reach this Ray.
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    # Workers started ahead lack the run's environment, so they would only cost start-up time.
    "RAY_enable_worker_prestart": "0",
    "RAY_prestart_worker_first_driver": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}


def launch(config: Config, output: Output) -> Outcome | Failure:
    """Starts Ray, trains, stops Ray; gives back the outcome or the last failure."""
    with running_ray(config, output) as node:
        if isinstance(node, Failure):
            return node
        output.add_phase("starting-workers", 1)
        trainer = partial(
            make_trainer,
            config,
            output,
            node,
            body=train_rank,
            arguments={"config": config, "output": output},
            name=config.run_name,
        )
        ended: Outcome | Failure = fit(trainer, output)
        return ended


@contextmanager
def running_ray(config: Config, output: Output) -> Iterator[str | Failure]:
    """A Ray of its own that has the extra packages: the id of its node, or why they can't be had."""
    with _scratch(config) as scratch:
        _prepare_environment(scratch)
        output.add_phase("starting-ray", 1)
        # Ray prints what it thinks of dead workers; the driver says it once, in one line.
        log = (output.path / "ray.log").open("a")
        light = nullcontext() if config.packages is None else light_environment(scratch)
        with log, redirect_stdout(log), light, _ray(config, scratch) as node:
            failure = None
            if config.packages is not None:
                failure = install(config.packages, output, variables=_worker_environment(config, output))
            yield failure or node


@contextmanager
def _scratch(config: Config) -> Iterator[Path]:
    """A fresh folder for Ray's sockets, logs and token, removed at the end."""
    if config.scratch is not None:
        config.scratch.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="r", dir=config.scratch))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _prepare_environment(scratch: Path) -> None:
    os.environ.update(RAY_ENVIRONMENT)
    # Never an existing cluster, whatever the user's shell says.
    os.environ.pop("RAY_ADDRESS", None)
    # A token that only this run knows: no other user of the machine can submit work to this Ray,
    # and the token that Ray would make by itself in the home folder is neither used nor written.
    token = scratch / "token"
    token.touch(mode=0o600)
    token.write_text(secrets.token_hex(32))
    os.environ.pop("RAY_AUTH_TOKEN", None)
    os.environ.update({"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token)})


@contextmanager
def _ray(config: Config, scratch: Path) -> Iterator[str]:
    """A running Ray; gives back the id of its only node."""
    import signal

    import ray

    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        try:
            context: Any = ray.init(
                address="local",
                num_cpus=config.num_workers * config.cpus_per_worker + 1,
                num_gpus=config.num_workers * config.gpus_per_worker,
                include_dashboard=False,
                log_to_driver=False,
                logging_level=logging.ERROR,
                object_store_memory=_OBJECT_STORE_BYTES,
                _node_ip_address="127.0.0.1",
                _temp_dir=str(scratch),
            )
        except SystemExit as error:
            # Ray's own handler, in place while it starts, turns SIGTERM into this.
            raise Interrupted(signal.SIGTERM) from error
        for number, handler in handlers.items():
            signal.signal(number, handler)
        yield context.address_info["node_id"]
    finally:
        ray.shutdown()


def fit(make: Callable[[], Any], output: Output) -> Any:
    """What rank 0 of the trainer gives back, or the failure.

    In a second thread, because Ray Train takes over SIGINT when it runs in the first.
    """
    ended: list[Any] = []

    def call() -> None:
        try:
            ended.append(make().fit().return_value)
        except Exception as error:  # noqa: BLE001 - turned into the run's failure here
            ended.append(output.last_failure() or failure_of(error, None))

    thread = threading.Thread(target=call, name="fit", daemon=True)
    thread.start()
    while thread.is_alive():
        # With a timeout, so that signals get their turn.
        thread.join(0.2)
    return ended[0]


def make_trainer(
    config: Config,
    output: Output,
    nodes: str | Sequence[str],
    *,
    body: Callable[[dict[str, Any]], Any],
    arguments: dict[str, Any],
    name: str,
    variables: Mapping[str, str] | None = None,
) -> Any:
    """A trainer whose workers run `body` with the arguments, each started with the variables too.

    `nodes` is the id of the node that all ranks run on, or one for each rank.
    """
    import ray.train
    import ray.train.torch

    from fsdp_qwen.ray_callback import FailureRecorder

    # Typed as Any: to a type checker, these names are still the classes of Ray Train V1.
    train: Any = ray.train
    by_rank = [nodes] * config.num_workers if isinstance(nodes, str) else list(nodes)
    resources = {"CPU": config.cpus_per_worker}
    if config.gpus_per_worker:
        resources["GPU"] = config.gpus_per_worker
    return train.torch.TorchTrainer(
        body,
        train_loop_config=arguments,
        torch_config=train.torch.TorchConfig(backend="nccl" if config.gpus_per_worker else "gloo"),
        scaling_config=train.ScalingConfig(
            num_workers=config.num_workers,
            use_gpu=bool(config.gpus_per_worker),
            resources_per_worker=resources,
            # One selector per rank: Ray doesn't promise an order of nodes, and the order decides
            # the bits.
            label_selector=[{"ray.io/node-id": node} for node in by_rank],
        ),
        run_config=train.RunConfig(
            name=name,
            storage_path=str(output.checkpoints(config.run_name).parent),
            failure_config=train.FailureConfig(
                max_failures=config.max_failures,
                # Also counts worker groups that can't start, which Ray would try again for ever.
                controller_failure_limit=config.max_failures,
            ),
            callbacks=[
                FailureRecorder(output=output, num_workers=config.num_workers, max_failures=config.max_failures)
            ],
            worker_runtime_env={
                "env_vars": {**_worker_environment(config, output), **(variables or {})},
                **runtime_environment(config.packages),
            },
        ),
    )


def _worker_environment(config: Config, output: Output) -> dict[str, str]:
    """What each worker process starts with, so that it is there before it imports torch."""
    return {
        **config.determinism.environment,
        **nccl_log.environment(output.path, gpus_per_worker=config.gpus_per_worker),
        "PYTHONPATH": os.environ["PYTHONPATH"],
    }


def train_rank(arguments: dict[str, Any]) -> Outcome | None:
    """The body of one Ray Train worker; rank 0 gives back the outcome."""
    import torch.distributed as dist
    from ray import train

    from fsdp_qwen.storage import opened_storage
    from fsdp_qwen.worker import make_place, run_rank

    config: Config = arguments["config"]
    output: Output = arguments["output"]
    context = train.get_context()
    # Rank 0 counts, so that all agree.
    attempt = [1 + output.attempts_failed()]
    dist.broadcast_object_list(attempt, src=0)
    place = make_place(
        config,
        rank=context.get_world_rank(),
        local_rank=context.get_local_rank(),
        node_rank=context.get_node_rank(),
        attempt=attempt[0],
    )
    if config.storage is None:
        outcome = run_rank(config, place, output, publish=_publish, restore=_restore)
    else:
        # Ray's own storage has no digests, and merges what a killed worker left with what another one wrote.
        with opened_storage(config, place, output) as storage:
            outcome = run_rank(config, place, output, publish=storage.publish, restore=storage.restore)
    return outcome if place.rank == 0 else None


def _publish(part: Path, step: int) -> None:
    """Hands a checkpoint's part to Ray, which merges the parts; never called for metrics alone."""
    from ray import train

    from fsdp_qwen.checkpoint_index import checkpoint_name

    train.report(
        {"step": step},
        checkpoint=train.Checkpoint.from_directory(part),
        checkpoint_dir_name=checkpoint_name(step),
        delete_local_checkpoint_after_upload=True,
    )


def _restore() -> Path | None:
    from ray import train

    newest = train.get_checkpoint()
    return None if newest is None else Path(newest.path)
