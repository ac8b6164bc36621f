"""The arms of a probe: the locked transport, and TCP beside it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fsdp_qwen import nccl_log
from fsdp_qwen.config import Config

# NCCL moves everything through its socket transport.
_TCP = {"NCCL_NET": "Socket"}
# On one node NCCL would not ask its network at all.
_TCP_ON_ONE_NODE = {**_TCP, "NCCL_P2P_DISABLE": "1", "NCCL_SHM_DISABLE": "1"}
_STAND_IN = (
    "sockets inside one node, with direct and shared-memory paths switched off: "
    "a stand-in for the network between nodes, whose own limits it does not have"
)
_GLOO = "gloo moves everything over TCP sockets, so the locked transport is TCP itself"
_LOCKED_TCP = "the locked variables already ask for TCP, so the locked transport is TCP itself"


@dataclass(frozen=True, kw_only=True, slots=True)
class Arm:
    """One transport to measure: what its workers start with beside the locked variables.

    `note` says what has to be known to read its figures; "" if nothing.
    """

    name: str
    variables: Mapping[str, str]
    note: str = ""


def choose_arms(config: Config, *, nodes: int) -> tuple[Arm, ...]:
    """The locked transport, and TCP where that is another one."""
    if not config.gpus_per_worker:
        return (Arm(name="locked", variables={}, note=_GLOO),)
    tcp = _TCP_ON_ONE_NODE if nodes == 1 else _TCP
    if tcp.items() <= config.determinism.environment.items():
        return (Arm(name="locked", variables={}, note=_LOCKED_TCP),)
    return (
        Arm(name="locked", variables={}),
        Arm(name="tcp", variables=tcp, note=_STAND_IN if nodes == 1 else ""),
    )


def arm_variables(config: Config, output: Path, arm: Arm) -> dict[str, str]:
    """What each worker of the arm starts with, so that its transport can be proven.

    With NCCL every process writes its own file below `arms/<arm>/`, where a folder for it is made.
    """
    folder, gpus = output / "arms" / arm.name, config.gpus_per_worker
    nccl_log.make_folder(folder, gpus_per_worker=gpus)
    return {**arm.variables, **nccl_log.environment(folder, gpus_per_worker=gpus)}
