"""One rank's part in a probe, whoever started it."""

import os
import traceback
from typing import Any

import torch
import torch.distributed as dist

from fsdp_qwen.config import Config
from fsdp_qwen.digest import code_digest, code_root
from fsdp_qwen.failures import failure_of
from fsdp_qwen.launch_processes import joined_group
from fsdp_qwen.layout import plan_layout
from fsdp_qwen.model import empty_model
from fsdp_qwen.place import Place
from fsdp_qwen.probe_arms import Arm
from fsdp_qwen.probe_measure import KINDS, measure_kind
from fsdp_qwen.records import Output, append_line, write_document
from fsdp_qwen.worker import check_code, describe, make_place, set_up_process

FORMAT = 1
LINES = "probe.jsonl"
_SHOWN = ("NCCL_", "FI_", "GLOO_")


def probe_ray_rank(arguments: dict[str, Any]) -> str | None:
    """The body of one Ray Train worker; rank 0 gives back the arm's name."""
    from ray import train

    context = train.get_context()
    config: Config = arguments["config"]
    place = make_place(
        config,
        rank=context.get_world_rank(),
        local_rank=context.get_local_rank(),
        node_rank=context.get_node_rank(),
        attempt=1,
    )
    return _probe(config, place, arguments["output"], arguments["arm"])


def probe_process(
    config: Config,
    output: Output,
    rank: int,
    attempt: int,
    rendezvous: str,
    sender: Any,
    *,
    arm: Arm,
    variables: dict[str, str],
) -> None:
    """The body of one plain process; rank 0 sends the arm's name."""
    # In a process of its own, before NCCL reads them.
    os.environ.update(variables)
    with joined_group(config, output, rank, attempt, rendezvous) as place:
        name = _probe(config, place, output, arm)
        if sender is not None:
            sender.send(name)


def _probe(config: Config, place: Place, output: Output, arm: Arm) -> str | None:
    try:
        set_up_process(config)
        received = code_digest(code_root())
        write_document(output.worker(place.rank) / "worker.json", describe(place, received, output))
        check_code(config, received)
        _measure(config, place, output, arm)
    except Exception as error:
        output.write_failure(failure_of(error, place.rank), place.attempt, traceback.format_exc())
        raise
    return arm.name if place.rank == 0 else None


def _measure(config: Config, place: Place, output: Output, arm: Arm) -> None:
    """Measures every kind; rank 0 writes the lines."""
    places = _places(place)
    lines = output.path / LINES
    if place.rank == 0:
        append_line(lines, _arm_line(config, arm, places))
    for kind in KINDS:
        if place.rank == 0:
            output.add_phase(f"measuring {kind} over {_WORDS[arm.name]}", 1)
        for measured in measure_kind(kind, place):
            if place.rank == 0:
                append_line(lines, {"line": "size", "arm": arm.name, **measured.to_json()})


_WORDS = {"locked": "the locked transport", "tcp": "TCP"}


def _places(place: Place) -> list[dict[str, object]]:
    """Where every rank is, by rank; NCCL's own gathering of objects needs the GPU, so this does too."""
    own = {
        "rank": place.rank,
        "local_rank": place.local_rank,
        "node_rank": place.node_rank,
        "host": os.uname().nodename,
        "pid": os.getpid(),
        "device": torch.cuda.get_device_name(place.device) if place.device.type == "cuda" else "cpu",
    }
    places: list[dict[str, object]] = [{}] * place.world_size
    dist.all_gather_object(places, own)
    return places


def _arm_line(config: Config, arm: Arm, places: list[dict[str, object]]) -> dict[str, object]:
    module = empty_model(config.recipe.model, config.model)
    layout = plan_layout(module, precision=config.recipe.precision, ranks=len(places), compute=config.recipe.compute)
    return {
        "line": "arm",
        "format": FORMAT,
        "arm": arm.name,
        "note": arm.note,
        "variables": dict(arm.variables),
        "backend": dist.get_backend(),
        "torch": torch.__version__,
        "nccl": ".".join(map(str, torch.cuda.nccl.version())) if dist.get_backend() == "nccl" else None,
        "seen": {name: os.environ[name] for name in sorted(os.environ) if name.startswith(_SHOWN)},
        "ranks": places,
        "layout": layout.to_json(),
    }
