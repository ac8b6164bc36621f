"""How fast NCCL logs are judged, beside `grep -c NCCL` over the same file.

It prints and never fails. Four logs of about 100 MB: a real one repeated, one with Ray's prefixes and
colours repeated, channel lines of 64 ranks, and training output with a few lines of NCCL in it. The aim is
150 MB/s a core; both figures are CPU time of the same call.
"""

import os
import random
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from rdlc.core.transport.scan import Scanner
from rdlc.core.transport.verdict import judge_logs

DATA = Path(__file__).resolve().parents[1] / "core/transport"
SIZE = 100_000_000


def repeated(path: Path) -> bytes:
    """A log, again and again."""
    data = path.read_bytes()
    return data * (SIZE // len(data))


def channels() -> Iterator[bytes]:
    """The start of 64 ranks, then their channels."""
    for rank in range(64):
        envelope = f"ip-192-0-2-{rank // 8}:{1200 + rank}:{1900 + rank} [{rank % 8}] NCCL INFO"
        start = f"ncclCommInitRank comm 0x{4096 + rank:x} rank {rank} nranks 64 cudaDev {rank % 8} nvmlDev 0 busId 1"
        yield f"{envelope} Using network Libfabric\n{envelope} {start} commId 0xabc - Init START\n".encode()
    block = "".join(
        f"ip-192-0-2-{rank // 8}:{1200 + rank}:{1900 + rank} [{rank % 8}] NCCL INFO Channel {channel:02d}/0 : "
        f"{rank}[{rank % 8}] -> {peer}[{peer % 8}] [send] via NET/Libfabric/{channel % 16}/GDRDMA\n"
        for channel in range(32)
        for rank in range(64)
        for peer in (rank + 8, rank + 16)
    ).encode()
    for _ in range(SIZE // len(block)):
        yield block


def training() -> Iterator[bytes]:
    """Lines of a training, with one of NCCL every now and then."""
    numbers = random.Random(2)
    for step in range(SIZE // 110):
        loss, norm = numbers.random(), numbers.random()
        yield b"2026-11-30 19:27:43 step %d loss %.5f grad_norm %.4f tokens/s %d memory 71234 MiB\n" % (
            step, loss, norm, step * 7,
        )  # fmt: skip
        if step % 200 == 0:
            yield b"vm:608:608 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\n"


def judged(path: Path) -> tuple[float, str]:
    """CPU seconds, and the verdict."""
    started = time.process_time()
    scanner = Scanner(path.name)
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            scanner.feed(chunk)
    verdict = judge_logs([scanner.finish()])
    return time.process_time() - started, f"{verdict.verdict} / {verdict.transport}"


def counted(path: Path) -> float:
    """CPU seconds of `grep -c`."""
    before = os.times()
    subprocess.run(("grep", "-c", "NCCL", str(path)), stdout=subprocess.PIPE, check=False, timeout=300)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def main() -> None:
    """Measure and print each log."""
    with tempfile.TemporaryDirectory() as folder:
        logs = {
            "a real log, repeated": [repeated(DATA / "logs/p2p.log")],
            "Ray's prefixes, repeated": [repeated(next((DATA / "cases").glob("36-*.log")))],
            "channels of 64 ranks": channels(),
            "training output": training(),
        }
        for name, pieces in logs.items():
            path = Path(folder) / "x.log"
            with path.open("wb") as file:
                file.writelines(pieces)
            size = path.stat().st_size / 1e6
            seconds, verdict = min(judged(path) for _ in range(3))
            grep = min(counted(path) for _ in range(3))
            print(
                f"{name:26} {size:4.0f} MB  {size / seconds:4.0f} MB/s (aim 150)  "
                f"{seconds / max(grep, 0.01):5.1f} times the CPU of grep -c  {verdict}"
            )


if __name__ == "__main__":
    main()
