"""What reaches the terminal: nothing that steers it, no cut digests, no colour that was declined."""

import io
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from rdlc.cli.console import write_line
from rdlc.cli.edge import Session
from rdlc.core.lockfile import write_lock
from rdlc.core.record import RunRecord
from tests.conftest import Rdlc
from tests.diff_samples import make_lock, make_outcome, make_record, write_record_folder
from tests.projects import make_project

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rdlc: Rdlc) -> Path:
    folder = make_project(tmp_path / "project")
    monkeypatch.chdir(folder)
    assert rdlc("lock", "run.yaml").code == 0
    return folder


EVIL = "a\x1b]0;title\x07\x1b[31mred\x9b2J\u202e"


def evil_record() -> RunRecord:
    return replace(make_record(make_lock()), status="failed", reason=EVIL, observed={"torch": EVIL})


def test_no_control_character_of_a_record_reaches_the_terminal(
    tmp_path: Path, rdlc: Rdlc, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = Path("runs/tiny/20261130T120000Z-1a2b")
    Path("recipes").mkdir()
    write_record_folder(folder, make_lock(), make_outcome(), evil_record())
    write_record_folder(Path("runs/tiny/other"), make_lock(), make_outcome())

    texts = [rdlc(*line) for line in (("runs",), ("verify", folder), ("diff", folder, "runs/tiny/other"))]
    documents = [rdlc("runs", "--json"), rdlc("verify", folder, "--json"), rdlc("diff", folder, "other", "--json")]

    shown = "".join(said.out + said.err for said in texts)
    assert set(re.findall(r"[^\n\x20-\x7e]", shown)) == set()
    assert "a\\x1b]0;title\\x07\\x1b[31mred\\x9b2J\\u202e" in shown
    assert all(said.out.isascii() and "\x1b" not in said.out for said in documents)
    assert documents[0].document["runs"][1]["why"] == EVIL


def test_no_control_character_of_a_lock_reaches_the_terminal(tmp_path: Path, rdlc: Rdlc) -> None:
    lock = write_lock(make_lock()).replace(b'name: "tiny"', b'name: "\\u001b[31m"')
    (tmp_path / "a\x1b[1m.yaml").write_bytes(lock)

    said = rdlc("verify", tmp_path / "a\x1b[1m.yaml")

    assert (said.code, said.out) == (2, "")
    assert said.err == (
        f"error: {tmp_path}/a\\x1b[1m.yaml:13: run.requested.name: the text holds a control character\n"
    )


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("no_color", "is_coloured"), [(None, True), ("1", False)])
def test_no_color_is_obeyed_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, no_color: str | None, is_coloured: bool
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm-256color")
    if no_color:
        monkeypatch.setenv("NO_COLOR", no_color)

    Session(as_json=False, quiet=False).warn("careful")

    assert ("\x1b[33m" in terminal.getvalue()) is is_coloured
    assert "warning: careful" in terminal.getvalue()


def test_a_long_digest_is_never_wrapped_on_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "20")

    write_line(Session(as_json=False, quiet=False).out, "id  sha256:" + "a" * 64)

    assert terminal.getvalue() == "id  sha256:" + "a" * 64 + "\n"


@pytest.mark.parametrize(
    "arguments", [("--help",), ("verify", "{lock}"), ("verify", "{lock}", "--json"), ("absent", "--json")]
)
def test_a_reader_that_went_away_is_no_error(project: Path, arguments: tuple[str, ...]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            (sys.executable, "-m", "rdlc", *(word.format(lock="lock/toy.lock.yaml") for word in arguments)),
            stdout=writer,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            timeout=120,
            check=False,
        )
    finally:
        os.close(writer)

    assert (done.returncode, done.stderr) == (0, b"")
