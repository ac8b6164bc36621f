"""What holds for every verb: help, the JSON document, exit codes, and what reaches the terminal."""

import json
import re
import sys
from pathlib import Path

import click
import pytest

from rdlc import cli
from rdlc.cli import COMMANDS, group
from rdlc.cli.edge import Answer, Command, Session, verb
from rdlc.core.lockfile import write_lock
from rdlc.core.provenance import Provenance
from rdlc.errors import Interrupted, OutsideError
from tests.conftest import Rdlc
from tests.diff_samples import make_lock
from tests.projects import make_project

ROOT = Path(__file__).resolve().parents[2]
# Command lines that work, and such that do not, in a project with a lock; no verb knows `--surplus`.
FINE: dict[str, tuple[str, ...]] = {
    "init": ("new", "--target", "local"),
    "lock": ("run.yaml",),
    "verify": ("lock/toy.lock.yaml",),
    "diff": ("lock/toy.lock.yaml", "lock/toy.lock.yaml"),
    "runs": (),
    "outdated": ("lock/toy.lock.yaml",),
}
WRONG: dict[str, tuple[str, ...]] = {
    "init": (".", "--target", "moon"),
    "lock": ("absent.yaml",),
    "verify": ("absent.yaml",),
    "run": ("absent.yaml",),
    "replay": ("absent.yaml",),
    "probe": ("absent.yaml",),
    "diff": ("absent.yaml", "absent.yaml"),
    "image": ("No:Reference",),
    "outdated": ("absent.yaml",),
    "apply": ("absent.yaml", "--yes"),
    "destroy": ("absent", "--yes"),
}
ENVELOPE = ("rdlc", "verb", "status", "exit_code", "error")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rdlc: Rdlc) -> Path:
    folder = make_project(tmp_path / "project")
    monkeypatch.chdir(folder)
    assert rdlc("lock", "run.yaml").code == 0
    return folder


def command_of(name: str) -> Command:
    command = group.get_command(click.Context(group), name)
    assert isinstance(command, Command)
    return command


@pytest.mark.parametrize("name", COMMANDS)
def test_the_short_help_is_the_first_line_of_the_commands_help(name: str) -> None:
    assert (command_of(name).help or "").split("\n")[0] == COMMANDS[name]


@pytest.mark.parametrize("name", COMMANDS)
def test_help_lists_every_option_and_status_word(name: str, rdlc: Rdlc) -> None:
    command = command_of(name)

    said = rdlc(name, "--help")

    options = {text for parameter in command.params if isinstance(parameter, click.Option) for text in parameter.opts}
    own = set(command.statuses) - set(cli.edge.ERROR_STATUSES)
    assert (said.code, said.err) == (0, "")
    assert {option for option in options if not re.search(rf"(^|[\s,]){option}\b", said.out)} == set()
    assert {word for word in own if not re.search(rf"^ +{word}  +\S", said.out, re.MULTILINE)} == set()
    assert all(parameter.help for parameter in command.params if isinstance(parameter, click.Option))


def test_help_lists_the_commands_and_exit_codes(rdlc: Rdlc) -> None:
    said = rdlc("--help")

    listed = re.findall(r"^ +(\w+)  +(\S.*)$", said.out, re.MULTILINE)
    assert said.code == 0
    assert {name: text for name, text in listed if name in COMMANDS} == COMMANDS
    assert [name for name, _ in listed if name.isdigit()] == ["0", "1", "2", "3", "130"]


def test_no_command_at_all_shows_the_help_as_bad_usage(rdlc: Rdlc) -> None:
    said = rdlc()

    assert (said.code, said.out, said.err) == (2, "", rdlc("--help").out)


@pytest.mark.parametrize("name", FINE)
def test_json_is_one_document_with_the_envelope_on_success(project: Path, rdlc: Rdlc, name: str) -> None:
    said = rdlc(name, *FINE[name], "--json")

    document = said.document
    assert (said.code, tuple(document)[:5]) == (0, ENVELOPE)
    assert (document["rdlc"], document["verb"], document["exit_code"], document["error"]) == (1, name, 0, None)
    assert document["status"] in command_of(name).statuses
    assert said.out.isascii()


@pytest.mark.parametrize("name", COMMANDS)
def test_json_is_one_document_with_the_envelope_on_bad_input(project: Path, rdlc: Rdlc, name: str) -> None:
    said = rdlc(name, *WRONG.get(name, ("--surplus",)), "--json")

    document = said.document
    assert (said.code, said.err, tuple(document)) == (2, "", ENVELOPE)
    assert (document["rdlc"], document["verb"], document["exit_code"]) == (1, name, 2)
    assert (document["status"], set(document["error"])) == ("bad-input", {"message", "hint", "file", "field"})


@pytest.mark.parametrize("name", COMMANDS)
def test_without_json_an_error_is_on_stderr_only(project: Path, rdlc: Rdlc, name: str) -> None:
    said = rdlc(name, *WRONG.get(name, ("--surplus",)))

    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("error: ")


def test_an_unknown_command_names_the_nearest(rdlc: Rdlc) -> None:
    said = rdlc("lokc", "x")

    assert (said.code, said.out, said.err) == (
        2,
        "",
        "error: there is no command `lokc`\nhint: did you mean `rdlc lock`?\n",
    )


def test_an_unknown_option_names_the_help(rdlc: Rdlc) -> None:
    said = rdlc("runs", "--surplus")

    # The first line is click's own, and its quotes change with its version.
    assert (said.code, said.out, said.err.splitlines()[1:]) == (2, "", ["hint: `rdlc runs --help`"])
    assert re.fullmatch(r"error: no such option:? '?--surplus'?", said.err.splitlines()[0])


class Raising:
    """Stands for a command that ends in a certain way."""

    def __init__(self, error: BaseException) -> None:
        @verb("runs", statuses={"fine": "never"})
        def command(session: Session) -> Answer:
            """Raises."""
            raise error

        self.command = command


@pytest.mark.parametrize(
    ("error", "code", "status", "message"),
    [
        (OutsideError("the registry is down"), 3, "outside-unavailable", "the registry is down"),
        (Interrupted("interrupted by the user"), 130, "interrupted", "interrupted by the user"),
        (KeyboardInterrupt(), 130, "interrupted", "interrupted"),
        (ZeroDivisionError("x / 0"), 2, "internal-error", "this is a defect of rdlc: ZeroDivisionError: x / 0"),
    ],
)
def test_every_end_of_a_command_has_its_exit_code_and_status(
    rdlc: Rdlc, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, status: str, message: str
) -> None:
    monkeypatch.setitem(sys.modules, "rdlc.cli.runs", Raising(error))

    said = rdlc("runs", "--json")

    document = said.document
    assert (said.code, document["exit_code"], document["status"]) == (code, code, status)
    assert document["error"]["message"] == message
    assert status in command_of("runs").statuses


def test_a_defect_shows_its_place_only_when_asked(rdlc: Rdlc, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rdlc.cli.runs", Raising(ZeroDivisionError("x")))

    short, long = rdlc("runs"), rdlc("runs", "-v")

    assert short.err == "error: this is a defect of rdlc: ZeroDivisionError: x\nhint: the same command with `-v`\n"
    assert "Traceback" in long.err
    assert long.err.endswith(short.err)


def test_quiet_leaves_the_result_and_the_errors(tmp_path: Path, rdlc: Rdlc, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    loud, quiet = rdlc("init", "one", "--target", "local"), rdlc("init", "two", "--target", "local", "-q")

    assert loud.err == "next: `cd one && rdlc lock run.yaml`\n"
    assert quiet.err == ""
    assert quiet.out == loud.out.replace("one", "two")
    assert (
        rdlc("verify", "absent.yaml", "-q").err == "error: absent.yaml: the lock, record or baseline does not exist\n"
    )


def test_the_version_is_told(rdlc: Rdlc) -> None:
    from rdlc import __version__

    assert rdlc("--version").out == f"rdlc {__version__}\n"


def test_json_of_a_crash_in_provenance_is_plain(tmp_path: Path, rdlc: Rdlc) -> None:
    lock = make_lock()
    odd = type(lock)(sections=lock.sections, provenance=Provenance(created="\u00e4\U0001f600", tool="t", git=None))
    path = tmp_path / "x.lock.yaml"
    path.write_bytes(write_lock(odd))

    assert json.loads(rdlc("verify", path, "--json").out)["status"] == "intact"
