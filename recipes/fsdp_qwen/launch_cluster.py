"""Runs the ranks as workers of Ray Train on a Ray that is there already, such as KubeRay's.

The driver runs on the head. Which rank runs where is decided here: nodes in the order of their addresses, each
filled before the next; the head takes ranks only if it is the only node. The code must lie in the same folder on
every node, and no storage need be shared: what the ranks wrote is brought to the driver in the end.
"""

import ipaddress
import logging
import os
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path
from typing import Any

from fsdp_qwen.config import Config
from fsdp_qwen.failures import ConfigError, Failure
from fsdp_qwen.launch_ray import RAY_ENVIRONMENT, fit, make_trainer, train_rank
from fsdp_qwen.outcome import Outcome
from fsdp_qwen.records import Output

_FILE_LIMIT_BYTES = 64 << 20
# Needed on the driver's node for the result; NCCL's logs stay where they are, and are collected from there.
_BROUGHT = ("metrics.jsonl", "fingerprints.jsonl", "workers/*/*.json", "failures.jsonl")
# About a Ray of our own only; the cluster decides these for itself.
_OWN_RAY = ("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "RAY_enable_worker_prestart", "RAY_prestart_worker_first_driver")


def launch(config: Config, output: Output) -> Outcome | Failure:
    """Joins the running Ray, trains, leaves it; gives back the outcome or the last failure."""
    import ray

    if config.packages is not None:
        raise ConfigError("packages: `--launcher ray-cluster` does not install them")
    settings = {name: value for name, value in RAY_ENVIRONMENT.items() if name not in _OWN_RAY}
    os.environ.update(settings)
    output.add_phase("starting-ray", 1)
    with (output.path / "ray.log").open("a") as log, redirect_stdout(log):
        ray.init(
            address=os.environ.get("RAY_ADDRESS") or "auto",
            log_to_driver=False,
            logging_level=logging.ERROR,
            runtime_env={"env_vars": {**settings, "PYTHONPATH": os.environ["PYTHONPATH"]}},
        )
        try:
            nodes = place_ranks(ray.nodes(), config)
            output.add_phase("starting-workers", 1)
            trainer = partial(
                make_trainer,
                config,
                output,
                nodes,
                body=train_rank,
                arguments={"config": config, "output": output},
                name=config.run_name,
            )
            ended: Outcome | Failure = fit(trainer, output)
            bring_files(sorted(set(nodes)), output)
            return ended
        finally:
            ray.shutdown()


def place_ranks(nodes: Sequence[Mapping[str, Any]], config: Config) -> list[str]:
    """The id of the node of each rank; raises ConfigError if the cluster is too small for all of them."""
    alive = [node for node in nodes if node["Alive"]]
    workers = [node for node in alive if "node:__internal_head__" not in node["Resources"]] or alive
    ordered = sorted(workers, key=lambda node: ipaddress.ip_address(node["NodeManagerAddress"]))
    places = [str(node["NodeID"]) for node in ordered for _ in range(_slots(node["Resources"], config))]
    if len(places) < config.num_workers:
        raise ConfigError(
            f"num_workers: {config.num_workers} ranks need more than the cluster has: room for {len(places)} on "
            f"{len(ordered)} nodes"
        )
    return places[: config.num_workers]


def _slots(resources: Mapping[str, float], config: Config) -> int:
    """How many ranks a node has room for."""
    of_cpus = int(resources.get("CPU", 0) // config.cpus_per_worker)
    return min(of_cpus, int(resources.get("GPU", 0) // config.gpus_per_worker)) if config.gpus_per_worker else of_cpus


def bring_files(nodes: Sequence[str], output: Output) -> None:
    """Puts what the ranks wrote on other nodes into the driver's folder; what lies there already stays."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    own = ray.get_runtime_context().get_node_id()
    read: Any = ray.remote(num_cpus=0)(read_files)
    for node in nodes:
        if node == own:
            continue
        strategy = NodeAffinitySchedulingStrategy(node_id=node, soft=False)
        found = ray.get(read.options(scheduling_strategy=strategy).remote(str(output.path)))
        for name, data in found.items():
            target = output.path / name
            if not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(data)


def read_files(folder: str) -> dict[str, bytes]:
    """The ranks' small files of this node, by their names below the folder."""
    top = Path(folder)
    paths = sorted(path for pattern in _BROUGHT for path in top.glob(pattern))
    return {str(path.relative_to(top)): path.read_bytes() for path in paths if path.stat().st_size < _FILE_LIMIT_BYTES}
