"""The edge of every command: its common options, its one answer, and how errors are shown."""

import functools
import json
import logging
import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from rdlc.cli import COMMANDS, ReaderLeft
from rdlc.cli.console import make_console, write_line
from rdlc.cli.streams import is_stdout_lost
from rdlc.core.canonical import Json
from rdlc.errors import InputError, Interrupted, RdlcError

ENVELOPE = 1
# The words that `status` can have for every verb, beside the verb's own.
ERROR_STATUSES = {
    "refused": "the answer is no, and `error` says why",
    "bad-input": "bad usage or unreadable input",
    "outside-unavailable": "an outside service did not answer",
    "interrupted": "stopped by the user",
    "internal-error": "a defect of rdlc",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What a command says: one word, its exit code, the JSON fields, and the text for people."""

    status: str
    exit_code: int = 0
    data: Mapping[str, Json | float] = field(default_factory=dict)
    show: Callable[[Console], None] = lambda _: None


class Session:
    """The two consoles of one command line, and how much it should say."""

    def __init__(self, *, as_json: bool, quiet: bool) -> None:
        self.as_json = as_json
        self.is_quiet = quiet
        self.out = make_console(stderr=False)
        self.err = make_console(stderr=True)

    def note(self, text: str) -> None:
        """Progress and remarks, on stderr; silent with `-q`."""
        if not self.is_quiet:
            write_line(self.err, text)

    def warn(self, text: str) -> None:
        """A warning, on stderr, also with `-q`."""
        write_line(self.err, f"warning: {text}", style="yellow")


class Command(click.Command):
    """A click command that also tells its closed list of status words."""

    statuses: Mapping[str, str] = {}


# The function of a command: a Session and its options in, one answer out.
Callback = Callable[..., Answer]


def verb(name: str, *, statuses: Mapping[str, str]) -> Callable[[Callback], Command]:
    """Makes a command of a function that takes a Session and its options and gives an Answer."""

    def wrap(function: Callback) -> Command:
        @functools.wraps(function)
        def call(*, as_json: bool, quiet: bool, verbose: bool, **options: Any) -> int:
            logging.basicConfig(level=logging.DEBUG if verbose else logging.ERROR, stream=sys.stderr)
            session = Session(as_json=as_json, quiet=quiet)
            _refuse_deleted_folder()
            answer = function(session, **options)
            assert answer.status in statuses, answer.status
            return _give(session, name, answer)

        decorated = click.command(name, cls=Command, epilog=_epilog(statuses))(call)
        for option in _COMMON_OPTIONS:
            decorated = option(decorated)
        assert isinstance(decorated, Command)
        decorated.statuses = {**statuses, **ERROR_STATUSES}
        return decorated

    return wrap


_COMMON_OPTIONS = (
    click.option("-v", "--verbose", is_flag=True, help="Say on stderr what is done inside."),
    click.option("-q", "--quiet", is_flag=True, help="No progress and remarks on stderr."),
    click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout."),
)


def show_error(error: RdlcError, arguments: list[str]) -> int:
    """Shows an error the one way there is, and gives its exit code."""
    if _wants_json(arguments) and not is_stdout_lost():
        problem = {
            "message": error.message,
            "hint": error.hint,
            "file": error.file,
            "field": error.field,
        }
        try:
            _write_json(_verb_of(arguments), error.status, error.exit_code, problem, {})
            return error.exit_code
        except InputError:
            assert is_stdout_lost()  # then a person should know on stderr
    console = make_console(stderr=True)
    place = ": ".join(part for part in (error.file, error.field) if part)
    # What the user stopped is no error.
    word = "" if isinstance(error, Interrupted) else "error: "
    write_line(console, f"{word}{place + ': ' if place else ''}{error.message}", style="bold red" if word else "yellow")
    if error.hint:
        write_line(console, f"hint: {error.hint}")
    return error.exit_code


def show_crash(error: Exception, arguments: list[str]) -> int:
    """Shows a defect of rdlc: what happened, and with `-v` where."""
    lines = traceback.format_exception(error)
    if "-v" in arguments or "--verbose" in arguments:
        write_line(make_console(stderr=True), "".join(lines))
    kind = type(error).__name__
    crash = RdlcError(f"this is a defect of rdlc: {kind}: {error}", hint="the same command with `-v`")
    crash.exit_code, crash.status = 2, "internal-error"
    return show_error(crash, arguments)


def _refuse_deleted_folder() -> None:
    try:
        Path.cwd()
    except FileNotFoundError as error:
        raise InputError("the current folder does not exist any more", hint="`cd` to one that does") from error


def _give(session: Session, name: str, answer: Answer) -> int:
    try:
        if session.as_json:
            _write_json(name, answer.status, answer.exit_code, None, answer.data)
        else:
            answer.show(session.out)
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit) as error:  # Rich exits where its reader went away
        raise ReaderLeft(answer.exit_code) from error
    return answer.exit_code


def _write_json(
    name: str,
    status: str,
    exit_code: int,
    error: Mapping[str, Json] | None,
    data: Mapping[str, Json | float],
) -> None:
    envelope = {"rdlc": ENVELOPE, "verb": name, "status": status, "exit_code": exit_code, "error": error}
    json.dump({**envelope, **data}, sys.stdout, indent=2, ensure_ascii=True)
    sys.stdout.write("\n")
    # A reader that went away is noticed here, not when the interpreter ends.
    sys.stdout.flush()


def _wants_json(arguments: list[str]) -> bool:
    before = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return "--json" in before


def _verb_of(arguments: list[str]) -> str:
    return next((word for word in arguments if word in COMMANDS), "")


def _epilog(statuses: Mapping[str, str]) -> str:
    width = max(len(word) for word in statuses)
    words = "\n".join(f"  {word:<{width}}  {meaning}" for word, meaning in statuses.items())
    return f"\b\nWords of `status` in --json:\n{words}\n\n\b\nExit codes: see `rdlc --help`."
