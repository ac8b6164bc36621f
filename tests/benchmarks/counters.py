"""What reading the network's counters in a rank costs: sockets of this process, and interfaces.

It prints and never fails. A run reads them three times, each time twice in a row (before and after
telling the other ranks), and twice around each checkpoint; never within a step. The aim is less
than 0.1 % of the steps' time.
"""

import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "recipes"))

from fsdp_qwen.interfaces import read_interfaces
from fsdp_qwen.sockets import read_sockets

ROUNDS = 200
SNAPSHOTS = 6
STEPS, STEP_S = 100, 0.31


def least_s(read: Callable[[], object]) -> float:
    """The least seconds of all rounds."""
    least = float("inf")
    for _ in range(ROUNDS):
        started = time.perf_counter()
        read()
        least = min(least, time.perf_counter() - started)
    return least


def main() -> None:
    """Measure and print each figure, and the share of a short run with fast steps."""
    ends: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        for count in (0, 20, 200):
            while len(ends) < count:
                ends += [socket.create_connection(server.getsockname()), server.accept()[0]]
            found, seconds = len(read_sockets()), least_s(read_sockets)
            share = SNAPSHOTS * seconds / (STEPS * STEP_S)
            print(
                f"sockets of this process: {found:3}  {seconds * 1000:6.2f} ms, least of {ROUNDS}; "
                f"{share:.4%} of {STEPS} steps of {STEP_S} s (aim: under 0.1 %)"
            )
    print(f"interfaces                     {least_s(read_interfaces) * 1000:6.2f} ms, least of {ROUNDS}")
    for end in ends:
        end.close()


if __name__ == "__main__":
    main()
