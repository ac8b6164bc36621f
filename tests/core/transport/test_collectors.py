"""What stands around NCCL's lines: prefixes, JSON and encodings of the programs that collect logs."""

import gzip
import json
import random
import tracemalloc

import pytest

from rdlc.core.transport.scan import Scanner
from rdlc.core.transport.verdict import judge_logs
from rdlc.errors import InputError
from tests.core.transport.nccl_lines import job, judge, line, text_of, verdict_of

# A name with a version that no list knows, so that a path which is not wholly read would be missed.
LINES = job("IBext_v10")
TCP = job("Libfabric", provider="tcp;ofi_rxm")


@pytest.mark.parametrize(
    "prefix",
    [
        "2026-11-30T12:00:00+0000 ip-192-0-2-1 python[77]: ",
        "2026-11-30T12:00:00.123456+00:00 ip-192-0-2-1.example.internal containerd[4]: ",
        "Nov  3 12:00:00 ip-192-0-2-1 kubelet[4]: ",
        "2026-11-30T12:00:00.123000+00:00 train/ray-worker/0a1b2c ",
        "[prterun-host-1@1,3]<stdout>: ",
        "[trainer3]:",
        "[2026-11-30T12:00:00.123Z] ",
        "[12/01/26 12:00:00] ",
        " 3: ",
        "1764504000.123456 ",
        "(RayTrainWorker(rank=3) pid=1201, ip=192.0.2.11) ",
        "\x1b[36m(Worker(name=a, index=2) pid=1201)\x1b[0m [rank3]: ",
        "[pod/head-0/ray-head] 2026-11-30T12:00:00.1Z (RayTrainWorker pid=1201, ip=192.0.2.11) ",
    ],
)
def test_a_prefix_of_a_collector_changes_nothing(prefix: str) -> None:
    assert verdict_of(text_of(prefix + text for text in LINES)) == ("ok", "ib")


@pytest.mark.parametrize(
    "prefix",
    ["look for ", "> ", "# ", "`", '"', "hint: ", "2026-11-30T12:00:00Z look for ", "2026-11-30T12:00:00Z hint: "],
)
def test_a_line_that_somebody_quotes_is_no_evidence(prefix: str) -> None:
    assert verdict_of(text_of(prefix + text for text in LINES)) == ("unknown", "unknown")


def docker(text: str) -> str:
    return json.dumps({"log": f"{text}\n", "stream": "stdout", "time": "2026-11-30T12:00:00.1Z"}, separators=(",", ":"))


def fluent(text: str) -> str:
    place = {"pod_name": "worker-0", "labels": {"app": "ray"}}
    return json.dumps({"kubernetes": place, "stream": "stdout", "log": f"2026-11-30T12:00:00.1Z stdout F {text}"})


def structured(text: str) -> str:
    said = f"\x1b[36m(RayTrainWorker pid=1201, ip=192.0.2.11)\x1b[0m {text}"
    return json.dumps({"asctime": "2026-11-30 12:00:00,123", "levelname": "INFO", "message": said, "lineno": 3})


def nested(text: str) -> str:
    return docker(structured(text))


@pytest.mark.parametrize("wrap", [docker, fluent, structured, nested])
def test_lines_in_json_are_read_as_those_that_they_hold(wrap: object) -> None:
    assert callable(wrap)

    assert verdict_of(text_of(map(wrap, LINES))) == ("ok", "ib")
    assert verdict_of(text_of(map(wrap, TCP))) == ("fallback", "ofi-tcp")


@pytest.mark.parametrize(
    ("before", "behind"), [("\r 50%|##  | 5/10\r", ""), ("", "\r 60%|### | 6/10"), ("\0" * 5000, "")]
)
def test_a_progress_bar_and_zeros_of_an_emptied_file_hide_no_line(before: str, behind: str) -> None:
    assert verdict_of(text_of(f"{before}{text}{behind}" for text in LINES)) == ("ok", "ib")


def test_every_line_of_one_json_text_is_read() -> None:
    message = "".join(f"{text}\n" for text in LINES[:8])
    rest = text_of(LINES[8:])

    assert verdict_of(json.dumps({"message": message}) + "\n" + rest) == ("ok", "ib")


def test_json_that_is_cut_says_what_it_holds_up_to_there() -> None:
    whole = text_of(map(docker, LINES))
    cut = docker(line(0, "Channel 01/0 : 0[0] -> 3[1] [send] via NET/Socket/0"))

    assert verdict_of(whole + cut[: cut.index("stream")]) == ("mixed", "ib+socket")
    assert verdict_of(whole + cut[: cut.index("NET/Socket")]) == ("ok", "ib")


def test_what_json_quotes_is_no_evidence() -> None:
    quoted = [json.dumps({"message": f"look for {text}"}) for text in LINES]

    assert verdict_of(text_of(quoted)) == ("unknown", "unknown")


def test_gpu_direct_is_counted_in_json_as_without_it() -> None:
    lines = [f"{text}/GDRDMA" if "via NET/" in text else text for text in LINES]

    assert judge(text_of(map(docker, lines))).gpu_direct == judge(text_of(lines)).gpu_direct == 8


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig"])
def test_a_log_that_a_windows_shell_wrote_is_read(encoding: str) -> None:
    mark = "\ufeff" if encoding.startswith("utf-16-") else ""
    log = (mark + text_of(LINES).replace("\n", "\r\n")).encode(encoding)

    found = judge(log)

    assert (found.verdict, found.transport) == ("ok", "ib")
    assert (found.facts[0].num_bytes, found.facts[0].num_lines) == (len(log), len(LINES))


def test_packed_logs_are_read_in_any_pieces_and_one_behind_the_other() -> None:
    half = len(LINES) // 2
    packed = gzip.compress(text_of(LINES[:half]).encode()) + gzip.compress(text_of(LINES[half:]).encode())

    assert verdict_of(packed) == ("ok", "ib")
    scanner = Scanner("0.log")
    for byte in packed:
        scanner.feed(bytes([byte]))
    assert judge_logs([scanner.finish()]).facts == judge(packed).facts


def test_a_packed_log_that_is_cut_says_what_it_still_holds() -> None:
    packed = gzip.compress(text_of(job()).encode() + random.Random(1).randbytes(3000))

    assert verdict_of(packed[:-2000]) == ("fallback", "socket")


def test_a_packed_log_costs_no_more_memory_than_another() -> None:
    packed = gzip.compress(text_of(job()).encode() + b"step 1 loss 2.5\n" * 4_000_000)
    tracemalloc.start()
    found = judge(packed)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert (found.verdict, found.transport) == ("fallback", "socket")
    assert peak < 16 << 20


def test_a_packed_log_that_is_damaged_is_refused() -> None:
    packed = gzip.compress(text_of(LINES).encode())

    with pytest.raises(InputError) as caught:
        judge(packed[:20] + b"\xff" * 20 + packed[40:])

    assert (caught.value.message, caught.value.file) == ("cannot be unpacked: what gzip packed is damaged", "0.log")
