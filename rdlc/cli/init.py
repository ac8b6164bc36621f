"""`rdlc init`: a folder ready to lock."""

from collections.abc import Mapping
from pathlib import Path

import click
from rich.console import Console

from rdlc.adapters.package_data import recipes_folder, terraform_folder
from rdlc.adapters.terraform_tree import read_tree
from rdlc.adapters.workspace.code import list_code
from rdlc.adapters.workspace.files import write_atomically
from rdlc.cli.console import write_line
from rdlc.cli.edge import Answer, Session, verb
from rdlc.cli.paths import shown
from rdlc.errors import InputError
from rdlc.operations.init import init_folder

_PACKAGE = "fsdp_qwen"
_SPECS = {"local": "specs/tiny.yaml", "docker": "specs/docker.yaml", "eks": "specs/eks.yaml"}
_TARGETS = {
    "local": "an embedded Ray on this machine",
    "docker": "containers of a locked image",
    "eks": "a cluster made by Terraform",
}


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
        if target == "eks":
            files["bind.yaml"] = (package / "specs" / "eks.bind.yaml").read_bytes()
            files |= _read_terraform()
        return files

    def write(self, path: Path, data: bytes) -> bool:
        """Replaces a file in one step; False if nothing changed."""
        return write_atomically(path, data)


def _read_terraform() -> dict[str, bytes]:
    """The Terraform root with its profiles, as it comes with rdlc."""
    root = terraform_folder()
    beside = ("README.md", "placeholders.json")
    more = [*root.glob("profiles/*.tfvars.json"), *(root / name for name in beside if (root / name).is_file())]
    files = {**read_tree(root), **{path.relative_to(root).as_posix(): path.read_bytes() for path in more}}
    return {f"terraform/{name}": data for name, data in sorted(files.items())}


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
        bind = " --bind bind.yaml" if target == "eks" else ""
        session.note(f"next: `{change}rdlc lock run.yaml{bind}`")

    return Answer(
        status="ready",
        data={"folder": str(folder), "written": list(written), "kept": list(kept)},
        show=show,
    )
