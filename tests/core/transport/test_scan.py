"""A log read as a stream: any bytes, in any pieces, in constant memory."""

import itertools
import resource
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdlc.core.transport import scan
from rdlc.core.transport.causes import find_causes
from rdlc.core.transport.facts import FileFacts
from rdlc.core.transport.scan import Scanner
from rdlc.core.transport.verdict import judge_logs
from tests.core.transport.nccl_lines import job, line, text_of

_PIECES = (
    b"node-0:1200:1900 [0] NCCL INFO ",
    b"node-1:1201:1901 [1] NCCL WARN ",
    b"NCCL version 2.29.7+cuda13.0",
    b"Using network Socket",
    b"Using network Libfabric",
    b"NET/OFI Selected provider is efa, fabric is efa (found 1 nics)",
    b"ncclCommInitRank comm 0xa rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 1 commId 0xb - Init START",
    b"comm 0xa rank 0 nRanks 2 nNodes 2 localRanks 1 localRank 0 MNNVL 0",
    b"Channel 00/0 : 0[0] -> 1[0] [send] via NET/Socket/0",
    b"Channel 00/0 : 1[0] -> 0[0] [receive] via NET/Libfabric/0/GDRDMA(PCI)/Shared",
    b"Channel 00 : 0[0] -> 1[1] via SHM/direct/direct",
    b" [repeated 7x across cluster]",
    b"(RayTrainWorker pid=12, ip=192.0.2.1) ",
    b"\x1b[36m",
    b"\x1b[0m",
    b"{braces} {0} %s [bold red]",
    b"NCCL_IB_DISABLE set by environment to 1",
    b"init.cc:1 -> 2",
    b"\r",
    b"\n",
    b"\n",
    b"\n",
)
_LOGS = st.lists(st.one_of(st.sampled_from(_PIECES), st.binary(max_size=12)), max_size=40).map(b"".join)


def read(*chunks: bytes) -> FileFacts:
    scanner = Scanner("x.log")
    for chunk in chunks:
        scanner.feed(chunk)
    return scanner.finish()


def cut(data: bytes, places: list[int]) -> Iterator[bytes]:
    edges = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    for start, end in itertools.pairwise(edges):
        yield data[start:end]


@given(data=_LOGS, places=st.lists(st.integers(min_value=0, max_value=5000), max_size=8))
def test_any_bytes_in_any_pieces_give_the_same_facts_and_no_error(data: bytes, places: list[int]) -> None:
    facts = read(data)

    assert read(*cut(data, places)) == facts
    verdict = judge_logs([facts])
    find_causes(verdict)
    assert verdict.verdict in {"ok", "fallback", "mixed", "unknown"}


@settings(max_examples=40)
@given(data=_LOGS, places=st.lists(st.integers(min_value=0, max_value=5000), max_size=8))
def test_pieces_do_not_matter_where_blocks_are_shorter_than_lines(data: bytes, places: list[int]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scan, "BLOCK_BYTES", 64)
        patch.setattr(scan, "LINE_LIMIT_BYTES", 48)

        assert read(*cut(data, places)) == read(data)


def test_byte_by_byte_a_job_gives_the_same_facts() -> None:
    data = text_of(job("Libfabric", provider="efa")).encode()

    assert read(*(data[place : place + 1] for place in range(len(data)))) == read(data)


def test_line_of_100_megabytes_costs_a_block_and_hides_no_line_behind_it() -> None:
    tracemalloc.start()
    scanner = Scanner("x.log")
    scanner.feed(b"node-0:1200:1900 [0] NCCL INFO ")
    for _ in range(100):
        scanner.feed(b"x" * 1_000_000)
    scanner.feed(b"\n" + text_of(job()).encode())
    facts = scanner.finish()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert judge_logs([facts]).verdict == "fallback"
    assert facts.versions["2.29.7"].line == 2
    assert peak < 16 << 20


def test_line_numbers_are_those_of_the_file_in_every_block() -> None:
    filler = b"step 1 loss 2.5 tokens/s 100\n" * 100_000
    data = filler + text_of(job()).encode() + filler

    facts = read(data)

    assert facts.versions["2.29.7"].line == 100_001
    assert facts.num_lines == data.count(b"\n")
    assert facts.num_bytes == len(data)


def test_sockets_of_one_rank_are_found_behind_a_million_channel_lines_of_another_network() -> None:
    start = text_of(job("Libfabric", provider="efa"))
    bulk = (line(0, "Channel 00/0 : 0[0] -> 3[1] [send] via NET/Libfabric/0") + "\n") * 100_000
    late = line(0, "Channel 00/0 : 0[0] -> 3[1] [send] via NET/Socket/0") + "\n"

    facts = read((start + bulk + late).encode())
    found = judge_logs([facts])

    assert (found.verdict, found.transport) == ("mixed", "efa+socket")
    assert facts.num_unread > 90_000
    assert "not-all-counted" in found.warning_words


def test_channels_of_a_communicator_made_late_are_read_although_their_form_was_counted_only() -> None:
    first = text_of(job("Libfabric", provider="efa", comm_id="0x1"))
    bulk = (line(0, "Channel 00/0 : 0[0] -> 3[1] [send] via NET/Libfabric/0") + "\n") * 20_000
    late = text_of(job("Libfabric", provider="efa", comm_id="0x2"))

    found = judge_logs([read((first + bulk + late).encode())])

    assert [(comm.comm_id, comm.verdict) for comm in found.communicators] == [("0x1", "ok"), ("0x2", "ok")]


def test_binary_garbage_says_nothing() -> None:
    garbage = bytes(range(256)) * 20_000

    found = judge_logs([read(garbage)])

    assert (found.verdict, found.transport, found.is_applicable) == ("unknown", "unknown", True)


def test_secrets_among_variables_are_not_kept() -> None:
    texts = ("AWS_SECRET_ACCESS_KEY set by environment to abc", "NCCL_IB_DISABLE set by environment to 1.")

    found = judge_logs([read(text_of(line(0, text) for text in texts).encode())])

    assert found.variables == {"NCCL_IB_DISABLE": ("1",)}


@pytest.mark.parametrize(
    ("name", "expected"),
    [("p2p", ("ok", "intra-node")), ("shm", ("ok", "intra-node")), ("socket", ("fallback", "socket"))],
)
def test_logs_of_two_real_gpus_are_judged_right(name: str, expected: tuple[str, str]) -> None:
    found = judge_logs([read((Path(__file__).parent / "logs" / f"{name}.log").read_bytes())])

    assert (found.verdict, found.transport) == expected


@pytest.mark.late
def test_two_gibibytes_are_read_in_constant_memory() -> None:
    start = text_of(job("Libfabric", provider="efa")).encode()
    bulk = text_of(
        line(rank, f"Channel {channel:02d}/0 : {rank}[0] -> {peer}[1] [send] via NET/Libfabric/0/GDRDMA")
        for rank in range(4)
        for peer in range(64)
        for channel in range(16)
    ).encode()
    scanner = Scanner("x.log")
    scanner.feed(start)
    for _ in range(64):
        scanner.feed(bulk)
    # What the process holds: to trace each allocation would take ten times as long.
    before = most = held_bytes()
    num_rounds = (2 << 30) // len(bulk)
    for _ in range(num_rounds):
        scanner.feed(bulk)
        most = max(most, held_bytes())
    facts = scanner.finish()

    assert facts.num_bytes > 2 << 30
    assert most - before < 24 << 20


def held_bytes() -> int:
    """The memory of this process that is in use."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * resource.getpagesize()
