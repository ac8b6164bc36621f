"""`rdlc init`: a folder ready to lock."""

from collections.abc import Mapping
from pathlib import Path

import click
from rich.console import Console

from rdlc.adapters.package_data import recipes_folder
from rdlc.adapters.workspace.code import list_code
from rdlc.adapters.workspace.files import write_atomically
from rdlc.cli.console import write_line
from rdlc.cli.edge import Answer, Session, verb
from rdlc.cli.paths import shown
from rdlc.errors import InputError
from rdlc.operations.init import init_folder

_PACKAGE = "fsdp_qwen"
_SPECS = {"local": "specs/tiny.yaml", "docker": "specs/docker.yaml"}
_TARGETS = {"local": "an embedded Ray on this machine", "docker": "containers of a locked image"}


class Target(click.Choice[str]):
    """One of the targets; `--target` with nothing behind it lists them."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The target, as click does it; raises InputError for none."""
        if not value:
            listed = ", ".join(f"`{name}` ({meaning})" for name, meaning in _TARGETS.items())
            raise InputError(f"`--target` takes one of {listed}", hint="`rdlc init DIR --target local`")
        return super().convert(value, param, ctx)


class Template:
    """The files of the recipe that comes with rdlc."""

    def read_template(self, target: str) -> Mapping[str, bytes]:
        """The run spec of the target, the recipe's code and its configs."""
        root = recipes_folder()
        package = root / _PACKAGE
        files = {"run.yaml": (package / _SPECS[target]).read_bytes()}
        configs = (path.relative_to(root).as_posix() for path in package.glob("configs/*.yaml"))
        for name in sorted((*list_code(root, _PACKAGE), *configs)):
            files[f"recipes/{name}"] = (root / name).read_bytes()
        return files

    def write(self, path: Path, data: bytes) -> bool:
        """Replaces a file in one step; False if nothing changed."""
        return write_atomically(path, data)


@verb("init", statuses={"ready": "the folder can be locked"})
@click.argument("folder", metavar="[DIR]", default=".", type=click.Path(path_type=Path))
@click.option(
    "--target",
    type=Target(tuple(_SPECS)),
    is_flag=False,
    flag_value="",
    required=True,
    help="Where the run is to happen; alone it lists what there is.",
)
def command(session: Session, *, folder: Path, target: str) -> Answer:
    """Make a folder ready to lock: a commented run spec and its recipe.

    DIR is made if it is not there; the current folder if not given. Files that stand there with
    other contents are never overwritten.
    """
    written, kept = init_folder(folder, target=target, workspace=Template())

    def show(console: Console) -> None:
        write_line(console, f"ready  {shown(folder)}  ({len(written)} files written, {len(kept)} kept)")
        change = "" if folder == Path() else f"cd {shown(folder)} && "
        session.note(f"next: `{change}rdlc lock run.yaml`")

    return Answer(
        status="ready",
        data={"folder": str(folder), "written": list(written), "kept": list(kept)},
        show=show,
    )
