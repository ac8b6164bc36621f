"""Logs are read as streams: whatever is in them, and in whatever pieces they come."""

from hypothesis import given, settings
from hypothesis import strategies as st

from rdlc.core.transport.causes import find_causes
from rdlc.core.transport.facts import FileFacts
from rdlc.core.transport.scan import BLOCK_BYTES, Scanner
from rdlc.core.transport.verdict import judge_logs
from tests.core.transport.nccl_lines import job, judge, text_of, verdict_of

GOOD = text_of(job("Libfabric", provider="efa")).encode()
LINES = st.sampled_from(
    [*GOOD.splitlines(keepends=True), b"\xff\x00\x1b[2J\n", b"\r", b"\n", b"NCCL INFO ", b"x" * 5000]
)


def scan(data: bytes, size: int) -> FileFacts:
    scanner = Scanner("x.log")
    for start in range(0, len(data), size):
        scanner.feed(data[start : start + size])
    return scanner.finish()


@settings(max_examples=60)
@given(st.lists(LINES | st.binary(max_size=40), max_size=40).map(b"".join), st.integers(1, 997))
def test_any_bytes_in_any_pieces_give_the_facts_of_the_whole(data: bytes, size: int) -> None:
    facts = scan(data, size)

    assert facts == scan(data, len(data) or 1)
    find_causes(judge_logs([facts]))


@settings(max_examples=60)
@given(st.permutations(GOOD.splitlines(keepends=True)), st.integers(0, len(GOOD)))
def test_lines_in_another_order_and_cut_anywhere_never_prove_another_transport(lines: list[bytes], end: int) -> None:
    found = verdict_of(b"".join(lines)[:end])

    assert found in {("ok", "efa"), ("unknown", "unknown"), ("unknown", "efa"), ("unknown", "none")}


@settings(max_examples=150)
@given(
    st.sampled_from(["Socket", "Libfabric", "both"]), st.integers(min_value=0), st.integers(min_value=1, max_value=400)
)
def test_a_log_over_tcp_never_gets_ok_by_what_is_lost_of_it(network: str, start: int, length: int) -> None:
    provider = "tcp;ofi_rxm" if network == "Libfabric" else "efa"
    networks = {3: "Libfabric"} if network == "both" else {}
    lines = job("Socket" if network == "both" else network, provider=provider, networks=networks)
    log = text_of(lines).encode()
    start %= len(log)

    assert verdict_of(log[:start] + log[start + length :])[0] in {"fallback", "mixed"}


def test_a_line_without_an_end_is_passed_over_and_the_rest_is_read() -> None:
    long = b"z" * (3 * BLOCK_BYTES)

    facts = scan(GOOD[:1000] + b"\n" + long + b"\n" + GOOD, 1 << 16)

    assert judge_logs([facts]).verdict == "ok"
    assert facts.num_bytes == 1000 + 1 + len(long) + 1 + len(GOOD)


def test_garbage_around_a_log_changes_nothing() -> None:
    garbage = bytes(range(256)) * 2000

    assert verdict_of(garbage + b"\n" + GOOD + garbage) == ("ok", "efa")


def test_what_a_log_names_is_bounded() -> None:
    many = "".join(
        f"node-{number}:{number}:1 [0] NCCL INFO Using network Net{number}\n" for number in range(60_000)
    ).encode()

    assert judge(many).verdict != "ok"
