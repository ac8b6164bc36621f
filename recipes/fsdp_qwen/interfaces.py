"""The bytes that this node's network devices have moved: interfaces, and EFA where that can be seen."""

from pathlib import Path

_NET_DEV = Path("/proc/self/net/dev")
_INFINIBAND = Path("/sys/class/infiniband")

Counters = dict[str, tuple[int, int]]


def read_interfaces(path: Path = _NET_DEV) -> Counters:
    """Bytes sent and received by each interface of this network namespace; raises OSError."""
    counters = {}
    for line in path.read_text("ascii", errors="replace").splitlines()[2:]:
        name, _, rest = line.partition(":")
        columns = rest.split()
        counters[name.strip()] = (int(columns[8]), int(columns[0]))
    return counters


def read_efa(folder: Path = _INFINIBAND) -> Counters:
    """Bytes sent and received by each port of each RDMA device that counts; raises OSError if none can be read.

    In an ordinary pod the devices are there, but their counters are not.
    """
    counters = {}
    for port in sorted(folder.glob("*/ports/*/hw_counters")):
        if (port / "tx_bytes").exists():
            sent, received = (int((port / name).read_text("ascii")) for name in ("tx_bytes", "rx_bytes"))
            counters[f"{port.parts[-4]}/{port.parts[-2]}"] = (sent, received)
    if not counters:
        what = "no RDMA device shows its byte counters" if folder.exists() else "there is no RDMA device"
        raise FileNotFoundError(what)
    return counters
