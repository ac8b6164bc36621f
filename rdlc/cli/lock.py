"""`rdlc lock`: freeze a run spec."""

from collections.abc import Mapping
from pathlib import Path

import click
from rich.console import Console

from rdlc import __version__
from rdlc.cli.console import write_line
from rdlc.cli.edge import Answer, Session, verb
from rdlc.cli.paths import shown
from rdlc.cli.wiring import LocalWorkspace
from rdlc.errors import InputError
from rdlc.operations.lock import LockRequest, LockResult, lock_spec

STATUSES = {
    "locked": "the lock was written",
    "unchanged": "the lock already said the same",
    "would-change": "with --check: the lock would be written anew",
}


@verb("lock", statuses=STATUSES)
@click.argument("spec", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    metavar="LOCK",
    type=click.Path(path_type=Path),
    help="Where to write; lock/NAME.lock.yaml of the project if not given.",
)
@click.option("--check", "is_check", is_flag=True, help="Write nothing; exit 1 if the lock would change.")
@click.option(
    "--set",
    "settings",
    metavar="PATH=V",
    multiple=True,
    help="Change one value of the spec, as in recipe.learning_rate=1e-3.",
)
@click.option(
    "--like",
    metavar="LOCK",
    type=click.Path(path_type=Path),
    help="Take what equal requests resolved to from another lock.",
)
def command(
    session: Session,
    *,
    spec: Path,
    output: Path | None,
    is_check: bool,
    settings: tuple[str, ...],
    like: Path | None,
) -> Answer:
    """Freeze a run spec into a run lock.

    The lock says what a run is: name, environment, workers, shipped code, data and merged config,
    each with its digest. Locking the same again changes no byte.
    """
    request = LockRequest(
        spec=spec,
        output=output,
        settings=read_settings(settings),
        like=like,
        is_check=is_check,
        tool=f"rdlc {__version__}",
    )
    result = lock_spec(request, workspace=LocalWorkspace(), reporter=session)
    status = "unchanged" if result.is_unchanged else "locked"
    if is_check and not result.is_unchanged:
        status = "would-change"
    return Answer(
        status=status,
        exit_code=1 if status == "would-change" else 0,
        data={
            "lock": str(result.path),
            "id": result.lock.id,
            "sections": dict(result.lock.digests),
            "fates": dict(result.fates),
            "like": dict(result.like_fates),
        },
        show=lambda console: _show(console, result, status),
    )


def read_settings(settings: tuple[str, ...]) -> Mapping[str, str]:
    """The `--set PATH=V` options as a mapping from address to text."""
    read = {}
    for setting in settings:
        address, equals, value = setting.partition("=")
        if not equals or not address:
            raise InputError(f"`--set {setting}` must have the form PATH=VALUE", hint="`--set recipe.seed=1`")
        read[address] = value
    return read


def _show(console: Console, result: LockResult, status: str) -> None:
    words = {"locked": "locked", "unchanged": "unchanged", "would-change": "would change"}
    write_line(console, f"{words[status]}  {shown(result.path)}")
    write_line(console, f"id  {result.lock.id}")
    for name, digest in result.lock.digests.items():
        write_line(console, f"  {name:<11}  {digest}  {result.fates[name]}")
    for name, fate in result.like_fates.items():
        write_line(console, f"  {name:<11}  {'as in' if fate == 'same' else 'differs from'} the lock given with --like")
