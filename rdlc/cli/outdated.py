"""`rdlc outdated`: has upstream moved?"""

import datetime
from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console

from rdlc.adapters.aws.offers import AwsOffers
from rdlc.cli.console import write_line
from rdlc.cli.data_source import DataPlaces
from rdlc.cli.data_text import data_rows, show_data
from rdlc.cli.edge import Answer, Session, verb
from rdlc.cli.image_source import ROUTES, RegistryImages, route_named
from rdlc.cli.image_text import TAG_WORDS, move_words, moves_data
from rdlc.cli.package_source import IndexPackages
from rdlc.cli.paths import shown
from rdlc.cli.wiring import LocalWorkspace
from rdlc.core.canonical import Json
from rdlc.core.image.moves import KIND_WORDS
from rdlc.operations.outdated import ImageState, LockState, look_upstream
from rdlc.operations.upstream_infra import InfraState
from rdlc.operations.upstream_packages import PackageState

STATUSES = {
    "current": "every locked image is still what its tag names, and packages, AMI releases and add-ons the newest",
    "outdated": "a tag has moved or is gone, a locked digest was deleted, or a version is newer, yanked or gone",
    "not-checked": "an outside service did not answer, or could not be asked, for at least one lock",
}
_WORDS = {
    "current": "current: the tag still names the locked digest",
    "moved": "moved: the tag names another digest now",
    "gone": "gone: the tag is no longer there",
    "deleted": "deleted: the registry no longer has the locked digest",
    "pinned": "pinned: the lock asked for a digest",
    "not-checked": "not checked",
}
_VERSION_WORDS = {
    "current": "the one that AWS names now",
    "newer": "still offered; AWS names another one now",
    "gone": "AWS does not offer it any more",
    "not-checked": "not checked: AWS lists nothing like it",
}
_PACKAGE_WORDS = {
    "current": "the newest",
    "newer": "newer",
    "yanked": "yanked from the index",
    "gone": "the index no longer has the locked file",
    "changed": "the index has other bytes under the locked file's name",
    "not-checked": "not checked",
}


@verb("outdated", statuses=STATUSES)
@click.argument("locks", metavar="LOCK...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--route",
    type=click.Choice(ROUTES),
    default="config",
    show_default=True,
    help="How deep to look into a moved image, as --route of `rdlc image`.",
)
@click.option("--plain-http", metavar="HOST:PORT", multiple=True, help="Ask this registry without TLS.")
@click.option("--exit-code", "is_exit_asked", is_flag=True, help="Exit 1 if something is outdated.")
def command(
    session: Session, *, locks: tuple[Path, ...], route: str, plain_http: tuple[str, ...], is_exit_asked: bool
) -> Answer:
    """Say whether upstream has moved since a lock was made.

    Also what kind of move it is, how old the locked build is, and which newer versions the repository
    has; and which extra packages, AMI releases and add-ons are newer or were taken back. Nothing is
    changed; `rdlc lock SPEC --upgrade image` takes what the tag names now, `--upgrade packages` and
    `--upgrade infra` the newest of those.
    """
    upstream = RegistryImages(session, route=route_named(route), plain_http=plain_http)
    now = datetime.datetime.now(tz=datetime.UTC)
    index, workspace, offers, source = IndexPackages(session), LocalWorkspace(), AwsOffers(), DataPlaces(session)
    states = [
        look_upstream(path, workspace=workspace, upstream=upstream, index=index, offers=offers, now=now, source=source)
        for path in locks
    ]
    status = _status(states)
    codes = {"current": 0, "outdated": int(is_exit_asked), "not-checked": 3}
    return Answer(
        status=status,
        exit_code=codes[status],
        data={"locks": [_row(state) for state in states]},
        show=lambda console: _show(console, states),
    )


def _status(states: Sequence[LockState]) -> str:
    found = {word for state in states for word in state.states}
    if "not-checked" in found:
        return "not-checked"
    return "outdated" if found - {"current", "pinned"} else "current"


def _row(state: LockState) -> Json:
    packages: list[Json] = [_package_row(package) for package in state.packages]
    row: dict[str, Json] = {
        "lock": str(state.path),
        "id": state.lock.id,
        "packages": packages,
        "infra": _infra_row(state.infra),
        "data": data_rows(state.data),
    }
    image = state.image
    if image is None:
        return {**row, "image": None}
    moves = moves_data(image.moves) if image.moves else {"rebuild": None, "moves": []}
    return {
        **row,
        "image": {
            "state": image.state,
            "reference": image.reference,
            "tag_kind": image.tag_kind,
            "locked": image.locked,
            "now": image.now,
            "age_days": image.age_days,
            "newer_tags": list(image.newer),
            "trouble": image.trouble,
            **moves,
        },
    }


def _infra_row(infra: InfraState | None) -> Json:
    if infra is None:
        return None
    versions: list[Json] = [
        {"address": item.address, "state": item.state, "locked": item.locked, "now": item.now}
        for item in infra.versions
    ]
    return {"trouble": infra.trouble, "versions": versions}


def _package_row(package: PackageState) -> Json:
    return {
        "name": package.name,
        "state": package.state,
        "locked": package.locked,
        "file": package.file,
        "newest": package.newest,
        "reason": package.reason,
    }


def _show(console: Console, states: Sequence[LockState]) -> None:
    for state in states:
        write_line(console, shown(state.path))
        if state.image is None and state.lock.sections.packages is None and state.infra is None and not state.data:
            write_line(console, "  nothing in it comes from upstream")
        if state.image is not None:
            _show_image(console, state.image)
        if state.lock.sections.packages is not None:
            _show_packages(console, state.packages)
        if state.infra is not None:
            _show_infra(console, state.infra)
        show_data(console, state.data)


def _show_image(console: Console, image: ImageState) -> None:
    write_line(console, f"  image   {image.reference}  ({TAG_WORDS.get(image.tag_kind, image.tag_kind)})")
    write_line(console, f"  state   {_WORDS[image.state]}")
    write_line(console, f"  locked  {image.locked}")
    if image.now and image.now != image.locked:
        write_line(console, f"  now     {image.now}")
    age = "not stated" if image.age_days is None else f"{image.age_days} days"
    write_line(console, f"  age     {age}")
    if image.trouble:
        write_line(console, f"  note    {image.trouble}")
    if image.newer:
        write_line(console, f"  newer   {', '.join(image.newer)}")
    if image.moves:
        write_line(console, f"  rebuild {image.moves.kind}: {KIND_WORDS[image.moves.kind]}")
        for move in image.moves.moves:
            write_line(console, f"    {move_words(move)}")


def _show_infra(console: Console, infra: InfraState) -> None:
    if infra.trouble:
        write_line(console, f"  infra   not checked: {infra.trouble}")
    elif not infra.versions:
        write_line(console, "  infra   no version in it is AWS's to take back")
    for item in infra.versions:
        version = f"{item.locked} -> {item.now}" if item.state == "newer" else item.locked
        nearest = f"; the nearest that is offered is {item.now}" if item.state == "gone" else ""
        write_line(console, f"  {item.address}  {version}  {_VERSION_WORDS[item.state]}{nearest}")


def _show_packages(console: Console, packages: Sequence[PackageState]) -> None:
    if not packages:
        write_line(console, "  packages  none: the base has all that was asked for")
    for package in packages:
        reason = f": {package.reason}" if package.reason else ""
        is_newer = package.newest not in {"", package.locked}
        newest = f", {package.newest} is the newest" if is_newer and package.state != "newer" else ""
        version = f"{package.locked} -> {package.newest}" if package.state == "newer" else package.locked
        write_line(console, f"  {package.name}  {version}  {_PACKAGE_WORDS[package.state]}{reason}{newest}")
