import os
from pathlib import Path

import pytest

from fsdp_qwen import nccl_log, train
from fsdp_qwen.config import Config, parse_config
from fsdp_qwen.records import Output
from tests.recipes.conftest import make_config

EXPECTED = {
    "NCCL_DEBUG": "INFO",
    "NCCL_DEBUG_SUBSYS": "INIT,BOOTSTRAP,ENV,NET",
    "NCCL_DEBUG_FILE": "/out/nccl/nccl.%h.%p.log",
}


def config(gpus_per_worker: int) -> Config:
    return parse_config(make_config(gpus_per_worker=gpus_per_worker))


def test_each_process_on_a_gpu_has_its_own_log_file() -> None:
    assert nccl_log.environment(Path("/out"), gpus_per_worker=1) == EXPECTED


def test_nothing_changes_where_nccl_is_not_used(tmp_path: Path) -> None:
    nccl_log.make_folder(tmp_path, gpus_per_worker=0)

    assert nccl_log.environment(tmp_path, gpus_per_worker=0) == {}
    assert list(tmp_path.iterdir()) == []


def test_the_folder_is_made_before(tmp_path: Path) -> None:
    nccl_log.make_folder(tmp_path / "out", gpus_per_worker=1)
    nccl_log.make_folder(tmp_path / "out", gpus_per_worker=1)

    assert (tmp_path / "out/nccl").is_dir()


def test_the_shells_own_values_give_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # `processes` and `torchrun`: what this process has is what its ranks start with.
    monkeypatch.setenv("NCCL_DEBUG", "WARN")
    monkeypatch.setenv("NCCL_DEBUG_SUBSYS", "COLL")
    monkeypatch.setenv("NCCL_DEBUG_FILE", "/elsewhere")
    monkeypatch.setenv("PYTHONPATH", os.environ.get("PYTHONPATH", ""))

    train.set_environment(config(1), Output(path=tmp_path))

    found = {name: os.environ[name] for name in EXPECTED}
    assert found == {**EXPECTED, "NCCL_DEBUG_FILE": f"{tmp_path}/nccl/nccl.%h.%p.log"}
    assert (tmp_path / "nccl").is_dir()


def test_ray_starts_its_workers_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from fsdp_qwen import launch_ray

    monkeypatch.setenv("PYTHONPATH", "/code")
    output = Output(path=Path("/out"))

    assert launch_ray._worker_environment(config(1), output).items() >= EXPECTED.items()
    assert not launch_ray._worker_environment(config(0), output).keys() & {"NCCL_DEBUG", "NCCL_DEBUG_FILE"}


def test_a_report_names_the_file_as_seen_from_the_output() -> None:
    assert nccl_log.describe(EXPECTED, Path("/out")) == "nccl/nccl.%h.%p.log"
    assert nccl_log.describe(EXPECTED, Path("/other")) == "/out/nccl/nccl.%h.%p.log"
    assert nccl_log.describe({}, Path("/out")) is None
