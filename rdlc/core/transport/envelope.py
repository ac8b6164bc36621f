"""The outside of a log line: what collectors put before it, and NCCL's own `host:pid:tid [dev]`.

A message counts only where NCCL's envelope starts the line, or stands right behind prefixes that a
collector writes: scripts and hints quote NCCL lines, and a quotation is no evidence.
"""

import json
import re
from collections.abc import Collection
from dataclasses import dataclass

LINE_LIMIT_BYTES = 4096


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
class Process:
    """One GPU of one process, as its lines name it; `address` is the node's where Ray says it."""

    host: str
    pid: int
    device: int
    address: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Message:
    """What one process said: `process` is None for the bare version line.

    `repeats` counts the lines of other processes that Ray held back for this one.
    """

    process: Process | None
    level: str
    text: str
    repeats: int = 0


_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])")
_REPEATS = re.compile(r" ?\[repeated (\d{1,7})x across cluster\].*$")
# An actor that names itself may do so with brackets: `(RayTrainWorker(rank=3) pid=12, ip=192.0.2.1)`.
_RAY = re.compile(r"\([^()]{0,200}(?:\([^()]{0,200}\)[^()]{0,50})?\bpid=\d{1,10}(?:, ip=([0-9A-Fa-f.:]{2,45}))?\) ?")
_DAY = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?"
_FROM = r"[\w.-]{1,253} [\w./-]{1,64}(?:\[\d{1,10}\])?: "
_PREFIXES = (
    rf"(?:[A-Z][a-z]{{2}} [ \d]\d \d\d:\d\d:\d\d|{_DAY}) {_FROM}",  # syslog, journalctl
    # aws logs tail: a time and the stream's name
    rf"{_DAY} [\w./@$-]{{1,512}} (?=[\w.-]{{1,253}}:\d{{1,10}}:\d{{1,10}} \[|\([^()]{{0,200}}\bpid=|NCCL version)",
    # kubectl --timestamps, CRI files, docker --timestamps, NCCL_DEBUG_TIMESTAMP_FORMAT
    rf"\[?{_DAY}\]?:? (?:std(?:out|err) [FP] )?",
    r"\[?\d\d:\d\d:\d\d(?:[.,]\d{1,9})?\]? ",
    r"\d{10}(?:\.\d{1,9})? ",  # seconds since 1970
    # mpirun --tag-output, torchrun, a time of another form: a number in brackets, whatever else is in them
    r"\[(?=[^\[\]]{0,96}\d)[\w:.,/+@= -]{1,96}\](?:<std(?:out|err)>)?:? ?",
    r"\[[\w.-]{1,253}(?:/[\w.-]{1,253}){1,3}\]:? ",  # kubectl --prefix
    r"(?:pod/)?[a-z0-9.]*[-/][a-z0-9./-]{1,253} [a-z0-9.-]{1,64} ",  # stern: pod container
    r"[\w.-]{1,128} {1,64}\| ",  # docker compose
    r" {0,5}\d{1,6}: {0,3}",  # srun --label
    r"[\w.-]{0,128}\d[\w.-]{0,128}: ",  # pdsh
)
_PREFIX = re.compile("|".join(f"(?:{pattern})" for pattern in _PREFIXES))
_TIME = re.compile(rf"\[?{_DAY}\]?:? ")
# The text in a line of JSON: of docker's json-file, fluent-bit, journalctl, structured logs. It may be cut.
_FIELD = re.compile(r'"(?:log|message|msg|MESSAGE|text|textPayload|line)" ?: ?"((?:[^"\\]|\\.)*)')
_ENVELOPE = re.compile(
    r"(?P<host>[A-Za-z0-9_][\w.-]{0,252}):(?P<pid>\d{1,10}):(?P<tid>\d{1,10}) \[(?P<device>-?\d{1,9})\] "
    r"(?:[^\s\[\]\"'`]{1,200} )?(?:\([^\s()]{1,200}\) )?NCCL (?P<level>INFO|WARN|DIAG|ABORT) (?P<text>.*)",
    re.DOTALL,
)
# PyTorch's own word on an error of NCCL's names the version, too.
_BARE = re.compile(
    r"NCCL version \d+\.\d+(?:\.\d+)?\S*\s*$|.{0,200}\bNCCL error in: .{1,2000}, NCCL version \d+\.\d+\.\d+\s*$"
)
# Inside a line: another process's line that was written into this one.
_INNER = re.compile(
    r"([A-Za-z0-9_][\w.-]{0,252}):(\d{1,10}):\d{1,10} \[-?\d{1,9}\] (?:[^\s\[\]\"'`]{1,200} )?NCCL (?:INFO|WARN) "
)
_PREFIX_LIMIT = 6
# A line of JSON that a structured log wrote, in the JSON of who collected it.
_JSON_DEPTH = 2


def read_messages(line: bytes, *, hosts: Collection[str]) -> tuple[Message, ...]:
    """What NCCL said in a line: mostly one message or none, more where processes wrote into one line.

    `hosts` are the hosts that are known: only of those is a message believed that starts within a line.
    """
    # Where a file was emptied while it was written there are zeros in the place of what was there.
    text = line.lstrip(b"\0")[:LINE_LIMIT_BYTES].decode("utf-8", "replace").removeprefix("\ufeff")
    return _read(text, hosts, depth=_JSON_DEPTH)


def _read(text: str, hosts: Collection[str], *, depth: int) -> tuple[Message, ...]:
    if depth and "{" in text and text.startswith("{", _skip_prefixes(text)[1]):
        inner = _unwrap(text).split("\n")
        return tuple(message for part in inner if "NCCL" in part for message in _read(part, hosts, depth=depth - 1))
    # Behind a carriage return a progress bar was written over what is before it, or the other way round.
    parts = text.rstrip("\r\n").split("\r") if "\r" in text else (text,)
    return tuple(message for part in parts if "NCCL" in part for message in _read_text(part, hosts))


def _unwrap(text: str) -> str:
    """The text that a line of JSON holds and that speaks of NCCL; empty if there is none."""
    found = next((match[1] for match in _FIELD.finditer(text) if "NCCL" in match[1]), "")
    try:
        held = json.loads(f'"{found}"', strict=False)
    except ValueError:  # a wrong or a cut escape
        return found
    return held if isinstance(held, str) else found


def _read_text(text: str, hosts: Collection[str]) -> tuple[Message, ...]:
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    repeats = 0
    if "[repeated " in text and (match := _REPEATS.search(text)):
        repeats, text = int(match[1]), text[: match.start()]
    text = text.rstrip("\r\n \x1b")
    address, start = _skip_prefixes(text)
    parts = _split(text, start, hosts)
    found = tuple(filter(None, (_message(part, address) for part in parts)))
    return (*found[:-1], _repeated(found[-1], repeats)) if found and repeats else found


def _skip_prefixes(text: str) -> tuple[str, int]:
    """The node's address where a prefix says it, and where the line itself starts."""
    address, start = "", 0
    for _ in range(_PREFIX_LIMIT):
        if match := _RAY.match(text, start):
            address = match[1] or address or "driver"
        elif _ENVELOPE.match(text, start) or not (match := _PREFIX.match(text, start)):
            break
        start = match.end()
    return address, start


def _split(text: str, start: int, hosts: Collection[str]) -> list[str]:
    """The line itself, cut where another process's line starts within it."""
    is_nccl = bool(_ENVELOPE.match(text, start))
    if is_nccl and text.count(" NCCL ") == 1:
        return [text[start:]]
    cuts = [start]
    for match in _INNER.finditer(text, start):
        word = match[1]
        # The longest known host at the end of the word: by suffix, since there can be thousands of hosts.
        host = next((word[begin:] for begin in range(len(word)) if word[begin:] in hosts), "")
        place = match.end(1) - len(host)
        if not host or place == start:
            continue
        # Right behind a space or a quotation mark it is quoted, unless the line is NCCL's own.
        if is_nccl or text[place - 1].isalnum() or text[place - 1] in "|%.)]":
            cuts.append(place)
    return [text[here:there] for here, there in zip(cuts, [*cuts[1:], len(text)], strict=True)]


def _message(text: str, address: str) -> Message | None:
    match = _ENVELOPE.match(text) or _ENVELOPE.match(text, _after_time(text))
    if match is None:
        return Message(process=None, level="INFO", text=text) if _BARE.match(text) else None
    process = Process(
        host=match["host"].partition(".")[0],
        pid=int(match["pid"]),
        device=int(match["device"]),
        address=address,
    )
    return Message(process=process, level=match["level"], text=match["text"].strip())


def _after_time(text: str) -> int:
    match = _TIME.match(text)
    return match.end() if match else 0


def _repeated(message: Message, repeats: int) -> Message:
    return Message(process=message.process, level=message.level, text=message.text, repeats=repeats)
