"""The parts of the README that are generated from the commands themselves."""

import click

from rdlc.cli import COMMANDS, group
from rdlc.cli.edge import ERROR_STATUSES, Command


def command_pages() -> str:
    """Every help page, as the command line prints it, in one code block each."""
    pages = [_page(group, "rdlc")]
    pages += [_page(command, f"rdlc {name}") for name, command in _commands().items()]
    return "\n\n".join(pages)


def status_table() -> str:
    """A table of the words that each verb can answer with."""
    rows = ["| verb | `status` | meaning |", "|---|---|---|"]
    for name, command in _commands().items():
        own = {w: m for w, m in command.statuses.items() if w not in ERROR_STATUSES}
        rows += [f"| `{name}` | `{word}` | {meaning} |" for word, meaning in own.items()]
    rows += [f"| every | `{word}` | {meaning} |" for word, meaning in ERROR_STATUSES.items()]
    return "\n".join(rows)


def _commands() -> dict[str, Command]:
    context = click.Context(group, info_name="rdlc")
    commands = {name: group.get_command(context, name) for name in COMMANDS}
    return {name: command for name, command in commands.items() if isinstance(command, Command)}


def _page(command: click.Command, name: str) -> str:
    words = name.split()
    parent = click.Context(group, info_name="rdlc") if len(words) > 1 else None
    context = click.Context(
        command,
        info_name=words[-1],
        parent=parent,
        max_content_width=100,
        terminal_width=100,
        help_option_names=["-h", "--help"],
    )
    return f"### `{name}`\n\n```\n{command.get_help(context)}\n```"
