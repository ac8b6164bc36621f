"""Which rank runs where on a Ray that is there already, without starting one."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fsdp_qwen.config import Config, parse_config
from fsdp_qwen.failures import ConfigError
from fsdp_qwen.launch_cluster import place_ranks, read_files
from tests.recipes.conftest import make_config


@pytest.fixture
def config() -> Config:
    """Any config; what is asked of nodes is changed in each test."""
    return parse_config(make_config())


def _node(name: str, address: str, *, is_alive: bool = True, **resources: float) -> dict[str, Any]:
    head = {"node:__internal_head__": 1.0} if name == "head" else {}
    return {"NodeID": name, "Alive": is_alive, "NodeManagerAddress": address, "Resources": {**head, **resources}}


def _places(config: Config, *nodes: dict[str, Any], **changes: int) -> list[str]:
    return place_ranks(nodes, replace(config, **changes))  # type: ignore[arg-type]  # by name


def test_nodes_are_filled_in_the_order_of_their_addresses_without_the_head(config: Config) -> None:
    head = _node("head", "10.0.0.1", CPU=64, GPU=8)
    nodes = (head, _node("b", "10.0.0.10", CPU=64, GPU=2), _node("a", "10.0.0.9", CPU=64, GPU=2))

    assert _places(config, *nodes, num_workers=4, gpus_per_worker=1) == ["a", "a", "b", "b"]


def test_head_takes_ranks_where_it_is_alone(config: Config) -> None:
    assert _places(config, _node("head", "10.0.0.1", CPU=2), num_workers=2, gpus_per_worker=0) == ["head", "head"]


def test_cluster_that_is_too_small_is_refused(config: Config) -> None:
    dead = _node("b", "10.0.0.2", is_alive=False, CPU=8)

    with pytest.raises(ConfigError) as caught:
        _places(config, _node("a", "10.0.0.1", CPU=1), dead, num_workers=2, gpus_per_worker=0)

    assert str(caught.value) == "num_workers: 2 ranks need more than the cluster has: room for 1 on 1 nodes"


def test_small_files_of_the_ranks_are_read(tmp_path: Path) -> None:
    (tmp_path / "workers/1").mkdir(parents=True)
    (tmp_path / "workers/1/worker.json").write_bytes(b"{}")
    (tmp_path / "metrics.jsonl").write_bytes(b"x\n")
    (tmp_path / "driver.log").write_bytes(b"not this")

    assert read_files(str(tmp_path)) == {"metrics.jsonl": b"x\n", "workers/1/worker.json": b"{}"}
