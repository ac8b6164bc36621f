"""`rdlc transport`: the words of its JSON, its exit codes, and what reaches the terminal."""

import gzip
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Rdlc
from tests.core.transport.nccl_lines import job, line, text_of

CORE = Path(__file__).parents[1] / "core/transport"
GOOD = text_of(job("Libfabric", provider="efa"))


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one file per rank, an empty folder, and a link that leads out."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "nccl"
    (folder / "empty").mkdir(parents=True)
    for rank in range(4):
        lines = [text for text in job("Libfabric", provider="efa") if f":{1200 + rank}:" in text]
        (folder / f"nccl.node.{rank}.log").write_text(text_of(lines))
    (tmp_path / "bad.log").write_text(text_of(job()))
    (folder / "link.log").symlink_to(tmp_path / "bad.log")
    return tmp_path


def test_files_of_a_folder_are_one_job_and_links_in_it_are_not_followed(logs: Path, rdlc: Rdlc) -> None:
    done = rdlc("transport", "nccl", "--json")

    document = done.document
    assert done.code == 0
    assert {key: document[key] for key in ("status", "verdict", "transport", "applicable")} == {
        "status": "ok", "verdict": "ok", "transport": "efa", "applicable": True,
    }  # fmt: skip
    assert [(comm["verdict"], comm["transport"]) for comm in document["communicators"]] == [("ok", "efa")]


def test_a_fallback_exits_with_1_and_names_line_cause_and_fix(logs: Path, rdlc: Rdlc) -> None:
    (logs / "bad.log").write_text(text_of([line(0, "NET/Plugin: Could not find: libnccl-net.so"), *job()]))

    done = rdlc("transport", "bad.log")

    assert done.code == 1
    assert done.out.splitlines()[0] == "fallback / socket: ranks on 2 nodes talk over TCP sockets"
    assert "likely cause: NCCL found no network plugin (libnccl-net.so)" in done.out
    assert "  bad.log:1: NET/Plugin: Could not find: libnccl-net.so" in done.out


def test_standard_input_is_read(logs: Path, rdlc: Rdlc, monkeypatch: pytest.MonkeyPatch) -> None:
    read, write = os.pipe()
    os.write(write, GOOD.encode())
    os.close(write)
    with os.fdopen(read) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        done = rdlc("transport", "-", "--json")

    assert (done.code, done.document["verdict"]) == (0, "ok")


@pytest.mark.parametrize(
    ("text", "code", "status"),
    [
        ("[Gloo] Rank 0 is connected to 1 peer ranks.\n", 0, "not-applicable"),
        (text_of(job("Libfabric", provider="efa", networks={1: "Socket"})), 1, "mixed"),
        ("loss 3.1\n", 1, "unknown"),
        ("", 1, "unknown"),
    ],
)
def test_each_verdict_has_its_exit_code(logs: Path, rdlc: Rdlc, text: str, code: int, status: str) -> None:
    (logs / "x.log").write_text(text)

    done = rdlc("transport", "x.log", "--json")

    assert (done.code, done.document["status"]) == (code, status)


@pytest.mark.parametrize("given", ["absent.log", "nccl/absent", "a\x00b"])
def test_what_cannot_be_read_is_bad_input(logs: Path, rdlc: Rdlc, given: str) -> None:
    done = rdlc("transport", given)

    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("error: ")


def test_nothing_of_a_log_steers_the_terminal(logs: Path, rdlc: Rdlc) -> None:
    evil = "NET/Plugin: Could not find: [bold red]x[/bold red]\x1b]0;title\x07\x1b[2J\u202elib.so"
    (logs / "x.log").write_text(text_of([line(0, evil), *job()]))

    done = rdlc("transport", "x.log")

    assert not any(sign in done.out for sign in ("\x1b", "\x07", "\u202e"))
    assert "[bold red]" in done.out


@pytest.mark.parametrize("path", sorted((CORE / "cases").glob("*.log")), ids=lambda path: path.stem[:2])
def test_each_collected_case_has_its_words_and_its_exit_code(path: Path, rdlc: Rdlc) -> None:
    told = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))

    done = rdlc("transport", path, "--json")

    document = done.document
    is_applicable = told.get("applicable", True)
    assert (document["verdict"], document["transport"], document["applicable"]) == (
        told["verdict"], told["transport"], is_applicable,
    )  # fmt: skip
    assert done.code == (0 if told["verdict"] == "ok" or not is_applicable else 1)


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_an_alarm_stays_one_where_its_reader_goes_away(logs: Path, options: tuple[str, ...]) -> None:
    read, write = os.pipe()
    os.close(read)
    command = (sys.executable, "-m", "rdlc", "transport", "bad.log", *options)

    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, timeout=300, check=False)
    os.close(write)

    assert (done.returncode, done.stderr) == (1, b"")


def test_packed_logs_are_judged_and_a_damaged_one_is_told(logs: Path, rdlc: Rdlc) -> None:
    packed = gzip.compress(GOOD.encode())
    (logs / "good.log.1.gz").write_bytes(packed)
    (logs / "damaged.gz").write_bytes(packed[:20] + b"\xff" * 20 + packed[40:])

    found, damaged = rdlc("transport", "good.log.1.gz", "--json"), rdlc("transport", "damaged.gz")

    assert (found.code, found.document["transport"]) == (0, "efa")
    assert (damaged.code, damaged.err) == (
        2, "error: damaged.gz: cannot be unpacked: what gzip packed is damaged\n",
    )  # fmt: skip


def test_stdin_that_is_no_file_is_told(logs: Path, rdlc: Rdlc, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("x"))

    assert rdlc("transport", "-").code == 2
