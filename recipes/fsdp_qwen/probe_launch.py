"""Starts the workers of a probe, as the training's launchers start theirs, once for each arm."""

import multiprocessing
from collections.abc import Sequence
from functools import partial
from typing import Any

from fsdp_qwen.config import Config
from fsdp_qwen.failures import Failure
from fsdp_qwen.probe_arms import Arm, arm_variables, choose_arms
from fsdp_qwen.records import Output

# Both launchers start their workers on this machine.
_NODES = 1


def launch(config: Config, output: Output, launcher: str) -> Failure | None:
    """Measures every arm; gives back why one failed, which ends it."""
    arms = choose_arms(config, nodes=_NODES)
    if launcher == "ray":
        return _launch_ray(config, output, arms)
    return _launch_processes(config, output, arms)


def _launch_ray(config: Config, output: Output, arms: Sequence[Arm]) -> Failure | None:
    from fsdp_qwen import launch_ray

    with launch_ray.running_ray(config, output) as node:
        if isinstance(node, Failure):
            return node
        for arm in arms:
            output.add_phase("starting-workers", 1)
            trainer = partial(
                launch_ray.make_trainer,
                config,
                output,
                node,
                body=_probe_ray_rank,
                arguments={"config": config, "output": output, "arm": arm},
                name=f"{config.run_name}-{arm.name}",
                # Other variables, so other processes: NCCL reads its own once.
                variables=arm_variables(config, output.path, arm),
            )
            ended = launch_ray.fit(trainer, output)
            if isinstance(ended, Failure):
                return ended
    return None


def _probe_ray_rank(arguments: dict[str, Any]) -> str | None:
    # Imported in the worker only: it brings torch, which the driver does without.
    from fsdp_qwen.probe_worker import probe_ray_rank

    return probe_ray_rank(arguments)


def _launch_processes(config: Config, output: Output, arms: Sequence[Arm]) -> Failure | None:
    from fsdp_qwen import launch_processes

    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["fsdp_qwen.launch_processes", "fsdp_qwen.probe_worker"])
    for arm in arms:
        output.add_phase("starting-workers", 1)
        body = partial(_probe_process, arm=arm, variables=arm_variables(config, output.path, arm))
        ended = launch_processes.run_ranks(config, output, 1, body=body)
        if isinstance(ended, Failure):
            return ended
    return None


def _probe_process(*arguments: Any, arm: Arm, variables: dict[str, str]) -> None:
    from fsdp_qwen.probe_worker import probe_process

    probe_process(*arguments, arm=arm, variables=variables)
