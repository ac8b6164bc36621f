"""The GPUs of this machine by name."""

from pathlib import Path

from rdlc.adapters.gpus import read_gpu_names


def test_the_driver_names_each_gpu(tmp_path: Path) -> None:
    for bus in ("0000:19:00.0", "0000:3b:00.0"):
        (tmp_path / bus).mkdir()
        (tmp_path / bus / "information").write_text("Model: \t\t NVIDIA H200\nIRQ:   \t\t 1\n")

    assert read_gpu_names(tmp_path) == ("NVIDIA H200", "NVIDIA H200")


def test_a_machine_without_the_driver_has_none(tmp_path: Path) -> None:
    assert read_gpu_names(tmp_path / "nowhere") == ()
