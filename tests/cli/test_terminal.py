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


def run_with(project: Path, redirection: str, *arguments: str, **environment: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of rdlc in a process of its own, started by a shell with the redirection."""
    done = subprocess.run(
        ("/bin/sh", "-c", f'exec "$@" {redirection}', "sh", sys.executable, "-m", "rdlc", *arguments),
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


FULL = "error: the answer cannot be written to stdout: No space left on device\n"
CLOSED = "error: the answer cannot be written to stdout: Bad file descriptor\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ("verify", "lock/toy.lock.yaml"),
        ("verify", "lock/toy.lock.yaml", "--json"),
        ("--help",),
        ("--version",),
        ("runs", "--json", "-q"),
    ],
)
@pytest.mark.parametrize(("redirection", "message"), [(">/dev/full", FULL), (">&-", CLOSED)])
def test_an_answer_that_cannot_be_written_is_an_error(
    project: Path, arguments: tuple[str, ...], redirection: str, message: str
) -> None:
    assert run_with(project, redirection, *arguments) == (2, "", message)


@pytest.mark.parametrize("redirection", [">/dev/full", ">&-"])
def test_an_error_that_cannot_be_written_as_json_is_told_on_stderr(project: Path, redirection: str) -> None:
    assert run_with(project, redirection, "lock", "absent.yaml", "--json") == (
        2,
        "",
        "error: absent.yaml: the run spec does not exist\n",
    )


@pytest.mark.parametrize("redirection", ["2>/dev/full", "2>&-"])
@pytest.mark.parametrize(("arguments", "code"), [(("lock", "nope.yaml"), 2), (("lock", "run.yaml"), 0), ((), 2)])
def test_messages_that_cannot_be_written_leave_the_exit_code(
    project: Path, redirection: str, arguments: tuple[str, ...], code: int
) -> None:
    said = run_with(project, redirection, *arguments)

    assert said[0] == code
    assert said[1].startswith("unchanged  ") is (code == 0)


@pytest.mark.parametrize("redirection", [">/dev/full 2>/dev/full", ">&- 2>&-", ">&- 2>&- <&-"])
def test_where_nothing_can_be_written_the_exit_code_tells(project: Path, redirection: str) -> None:
    assert run_with(project, redirection, "verify", "lock/toy.lock.yaml") == (2, "", "")


def test_a_character_that_the_terminal_lacks_is_escaped(project: Path) -> None:
    name = "\u00e9.lock.yaml"

    code, out, err = run_with(project, "", "lock", "run.yaml", "-o", name, PYTHONIOENCODING="ascii", PYTHONUTF8="1")

    assert (code, out.splitlines()[0], err) == (
        0,
        "locked  \\xe9.lock.yaml",
        "next: `rdlc run \\xe9.lock.yaml`\n",
    )


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("rdlc ver", ["plain,verify"]),
        ("rdlc lock --ch", ["plain,--check"]),
        ("rdlc nosuch --", ["plain,--version", "plain,--help"]),
        ("rdlc init --target ", ["plain,local", "plain,docker", "plain,eks"]),
    ],
)
def test_the_shell_completes_commands_and_options(project: Path, words: str, offered: list[str]) -> None:
    said = run_with(project, "", _RDLC_COMPLETE="bash_complete", COMP_WORDS=words, COMP_CWORD=str(words.count(" ")))

    assert said == (0, "".join(f"{line}\n" for line in offered), "")
