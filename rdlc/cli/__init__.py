"""The command `rdlc`: commands are imported when they are called, `--help` imports click only."""

import importlib
import sys
from collections.abc import Sequence
from typing import NoReturn

import click

from rdlc import __version__
from rdlc.cli.streams import guard_streams
from rdlc.errors import InputError, Interrupted, RdlcError

# The first line of each command's help, kept here so that `rdlc --help` imports none of them; a test
# compares.
COMMANDS = {
    "init": "Make a folder ready to lock: a commented run spec and its recipe.",
    "lock": "Freeze a run spec into a run lock.",
    "verify": "Say whether a lock, record or baseline is intact, offline.",
    "apply": "Make a stack what its lock says.",
    "run": "Run a lock and record it.",
    "replay": "Run a lock again, refuse on drift, and prove that it is the same.",
    "probe": "Measure the locked transport and TCP: what a fallback would cost.",
    "diff": "Show what differs between locks, records and baselines.",
    "collect": "Make a record of a run that rdlc did not start.",
    "image": "Show what is in an image; with two, what moved between them.",
    "outdated": "Say whether upstream has moved since a lock was made.",
    "transport": "Say which transport NCCL's logs prove, for each communicator.",
    "runs": "List the records here, newest first.",
    "destroy": "Take a stack away.",
}

EPILOG = """\b
Exit codes, the same for every command:
  0    yes, fine
  1    the answer is no: drifted, invalid, refused, not reproduced, failed;
       with --exit-code also: differs, moved, outdated
  2    bad usage or unreadable input
  3    an outside service is down, throttled, or lacks valid credentials
  130  interrupted or detached
"""


class Commands(click.Group):
    """A group that knows its commands by name, and imports one when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names in the order of the work."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, imported now."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"rdlc.cli.{cmd_name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, with the nearest command named when there is none of that name."""
        if args and args[0] not in COMMANDS and not (args[0].startswith("-") or ctx.resilient_parsing):
            import difflib

            near = difflib.get_close_matches(args[0], COMMANDS, n=1)
            hint = f"did you mean `rdlc {near[0]}`?" if near else "`rdlc --help` lists the commands"
            raise InputError(f"there is no command `{args[0]}`", hint=hint)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands with their first line of help."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(
    cls=Commands,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="rdlc", message="%(prog)s %(version)s")
def group() -> None:
    """Make a distributed training run repeatable, and prove afterwards that what ran was locked."""


class ReaderLeft(BrokenPipeError):
    """Whoever read the answer went away before its end; the answer stays what it is."""

    def __init__(self, exit_code: int) -> None:
        super().__init__()
        self.exit_code = exit_code


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Runs the command line and exits with its code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    guard_streams()
    sys.exit(run_command_line(given))


def run_command_line(arguments: list[str]) -> int:
    """The exit code of one command line; every error becomes one message here and nowhere else."""
    try:
        return _run(arguments)
    except BrokenPipeError as error:
        # The reader went away (`rdlc runs | head`): nothing is left to say, and to nobody.
        sys.stdout = None  # keeps the interpreter from flushing it
        return error.exit_code if isinstance(error, ReaderLeft) else 0


def _run(arguments: list[str]) -> int:
    try:
        code = group.main(args=arguments, prog_name="rdlc", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.ctx.get_help(), err=True)
        return 2
    except (KeyboardInterrupt, click.Abort):
        return _fail(Interrupted("interrupted"), arguments)
    except SystemExit as error:
        # Without its standalone mode click exits by itself only when the reader went away.
        raise BrokenPipeError from error
    except BrokenPipeError:
        raise
    except Exception as error:  # noqa: BLE001 - the one place that turns whatever it is into a message
        told = _as_told(error)
        return _fail(told, arguments) if told else _crash(error, arguments)


def _as_told(error: Exception) -> RdlcError | None:
    """The error as people are told it; None for a defect of rdlc."""
    if isinstance(error, RdlcError):
        return error
    if isinstance(error, click.ClickException):
        # click's own usage errors name the option; the help command is the way on.
        context = getattr(error, "ctx", None)
        path = context.command_path if context else "rdlc"
        return InputError(_lowered(error.format_message().rstrip(".")), hint=f"`{path} --help`")
    if isinstance(error, OSError) and error.filename is not None:
        # About a file or folder that someone named.
        return InputError(f"cannot be used: {error.strerror}", file=str(error.filename))
    return None


def _fail(error: RdlcError, arguments: list[str]) -> int:
    from rdlc.cli.edge import show_error

    return show_error(error, arguments)


def _crash(error: Exception, arguments: list[str]) -> int:
    from rdlc.cli.edge import show_crash

    return show_crash(error, arguments)


def _lowered(message: str) -> str:
    return message[:1].lower() + message[1:]
