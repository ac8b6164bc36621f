"""The two Rich consoles: results go to stdout, everything else to stderr."""

import sys
from typing import NoReturn

from rich.console import Console
from rich.text import Text

from rdlc.core.text import printable

_PLAIN_WIDTH = 10_000


class _SafeConsole(Console):
    def on_broken_pipe(self) -> NoReturn:
        """Left to the one place that handles it for every command."""
        raise BrokenPipeError


def make_console(*, stderr: bool) -> Console:
    """A console that neither interprets markup nor breaks a digest."""
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else _PLAIN_WIDTH
    return _SafeConsole(file=stream, markup=False, highlight=False, emoji=False, soft_wrap=True, width=width)


def write_line(console: Console, text: str, *, style: str = "") -> None:
    """One text, made safe for the terminal, never wrapped or cut."""
    console.print(Text(printable(text), style=style), soft_wrap=True)


def shown_digest(console: Console, digest: str) -> str:
    """A digest in full, or its first 12 hex digits on a terminal, where a table has to fit."""
    return digest.partition(":")[2][:12] if console.is_terminal else digest
