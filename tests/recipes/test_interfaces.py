from pathlib import Path

import pytest

from fsdp_qwen.interfaces import read_efa, read_interfaces

_NET_DEV = """\
Inter-|   Receive                      |  Transmit
 face |bytes packets errs drop fifo ...|bytes packets errs drop fifo ...
    lo: 2137505    1234    0    0    0     0   0   0  2137505    1234    0    0    0     0       0          0
  eth0:4928891086 999 0 0 0 0 0 0 9868270 888 0 0 0 0 0 0
"""


def test_interfaces_have_bytes_sent_and_received(tmp_path: Path) -> None:
    path = tmp_path / "dev"
    path.write_text(_NET_DEV)

    assert read_interfaces(path) == {"lo": (2_137_505, 2_137_505), "eth0": (9_868_270, 4_928_891_086)}


def test_this_machine_has_a_loopback() -> None:
    assert "lo" in read_interfaces()


def test_efa_counts_by_device_and_port(tmp_path: Path) -> None:
    for device, sent in (("rdmap0s31", 500), ("rdmap0s30", 400)):
        counters = tmp_path / device / "ports/1/hw_counters"
        counters.mkdir(parents=True)
        (counters / "tx_bytes").write_text(f"{sent}\n")
        (counters / "rx_bytes").write_text("7\n")

    assert read_efa(tmp_path) == {"rdmap0s30/1": (400, 7), "rdmap0s31/1": (500, 7)}


def test_devices_without_counters_are_not_measured(tmp_path: Path) -> None:
    # As in an ordinary pod: the device is there, its ports are not.
    (tmp_path / "rdmap0s31").mkdir()

    with pytest.raises(OSError, match=r"^no RDMA device shows its byte counters$"):
        read_efa(tmp_path)


def test_no_device_is_not_measured(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"^there is no RDMA device$"):
        read_efa(tmp_path / "infiniband")
