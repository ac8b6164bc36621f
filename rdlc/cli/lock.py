"""`rdlc lock`: freeze a run spec."""

import difflib
from collections.abc import Mapping
from pathlib import Path

import click
from rich.console import Console

from rdlc import __version__
from rdlc.cli.console import shown_digest, write_line
from rdlc.cli.data_source import DataPlaces
from rdlc.cli.data_text import describe_data, locked_data
from rdlc.cli.edge import Answer, Session, verb
from rdlc.cli.estimate_text import PretrainedShapes, estimate_data, estimate_lock, show_estimate
from rdlc.cli.image_source import ROUTES, RegistryImages, route_named
from rdlc.cli.image_text import TAG_WORDS, describe_moves, move_words, moves_data
from rdlc.cli.infra_source import infra_tools
from rdlc.cli.locked_infra_text import describe_infra, infra_data
from rdlc.cli.package_source import IndexPackages
from rdlc.cli.package_text import describe_packages, packages_data
from rdlc.cli.paths import shown
from rdlc.cli.wiring import LocalWorkspace
from rdlc.core.canonical import Json
from rdlc.core.estimate.estimate import Estimate
from rdlc.core.packages.request import normalise_package_name, normalise_replacement
from rdlc.core.text import printable
from rdlc.errors import InputError
from rdlc.operations.lock import LockRequest, LockResult, lock_spec
from rdlc.operations.lock_image import LockedImage

UPGRADES = ("image", "packages", "packages:NAME", "infra", "data", "all")
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
@click.option(
    "--upgrade",
    "upgrades",
    metavar=f"[{'|'.join(UPGRADES)}]",
    multiple=True,
    help="Take what this part resolves to now, and show what moved.",
)
@click.option(
    "--allow-replace",
    "replacements",
    metavar="NAME=REASON",
    multiple=True,
    help="Let extra packages replace this distribution; the reason is locked. `packages.allow_replace` in the "
    "spec says so for good.",
)
@click.option(
    "--contents",
    type=click.Choice(ROUTES),
    default="config",
    show_default=True,
    help="How an image is looked into, as --route of `rdlc image`.",
)
@click.option(
    "--bind",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Values that place the run: zones, names, account, reservation. Kept beside the lock, and not in its id.",
)
@click.option(
    "--terraform-bin",
    metavar="PATH",
    type=click.Path(path_type=Path),
    help="The Terraform that fingerprints the plan; RDLC_TERRAFORM or the one on PATH if not given.",
)
@click.option("--plain-http", metavar="HOST:PORT", multiple=True, help="Ask this registry without TLS.")
def command(
    session: Session,
    *,
    spec: Path,
    output: Path | None,
    is_check: bool,
    settings: tuple[str, ...],
    like: Path | None,
    upgrades: tuple[str, ...],
    replacements: tuple[str, ...],
    contents: str,
    bind: Path | None,
    terraform_bin: Path | None,
    plain_http: tuple[str, ...],
) -> Answer:
    """Freeze a run spec into a run lock.

    The lock says what a run is: name, image or environment, workers, shipped code, data and merged
    config, each with its digest. Locking the same again changes no byte; an image is kept while its
    request is unchanged, also when its tag has moved. So are extra packages, while what they are added
    to is unchanged too.
    """
    request = LockRequest(
        spec=spec,
        output=output,
        settings=read_settings(settings),
        like=like,
        is_check=is_check,
        upgrades=_read_upgrades(upgrades),
        replacements=_read_replacements(replacements),
        bind=bind,
        tool=f"rdlc {__version__}",
    )
    images = RegistryImages(session, route=route_named(contents), plain_http=plain_http)
    infra = infra_tools(session, terraform_bin=terraform_bin)
    index, workspace, data = IndexPackages(session), LocalWorkspace(), DataPlaces(session)
    result = lock_spec(
        request, workspace=workspace, images=images, index=index, infra=infra, data=data, reporter=session
    )
    status = "unchanged" if result.is_unchanged else "locked"
    if is_check and not result.is_unchanged:
        status = "would-change"
    needs = estimate_lock(result.lock, PretrainedShapes(session=session, project=result.project, data=data))
    return Answer(
        status=status,
        exit_code=1 if status == "would-change" else 0,
        data={
            "lock": str(result.path),
            "id": result.lock.id,
            "sections": dict(result.lock.digests),
            "fates": dict(result.fates),
            "like": dict(result.like_fates),
            "image": _image_data(result),
            "packages": packages_data(result.packages) if result.packages else None,
            "infra": infra_data(result.infra) if result.infra else None,
            "data": locked_data(result.lock.sections.data),
            "estimate": estimate_data(needs),
        },
        show=lambda console: _show(session, console, result, status, needs),
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


def _read_upgrades(upgrades: tuple[str, ...]) -> frozenset[str]:
    """The parts to upgrade; one package as `packages:` and its normalised name."""
    read = set()
    for part in upgrades:
        section, colon, name = part.partition(":")
        if section == "packages" and name:
            read.add(f"packages:{normalise_package_name(name)}")
        elif part in UPGRADES and not colon:
            read.add(part)
        else:
            known = ", ".join(f"`{word}`" for word in UPGRADES)
            near = difflib.get_close_matches(part, UPGRADES, n=1)
            hint = f"did you mean `{near[0]}`?" if near else None
            raise InputError(f"`--upgrade {part}`: must be one of {known}", hint=hint)
    return frozenset(read)


def _read_replacements(options: tuple[str, ...]) -> Mapping[str, str]:
    """The `--allow-replace NAME=REASON` options as a mapping from normalised name to reason."""
    read = {}
    for option in options:
        name, _, reason = option.partition("=")
        if not reason.strip():
            raise InputError(
                f"`--allow-replace {option}` must have the form NAME=REASON",
                hint='`--allow-replace torchvision="a fix that the image lacks"`',
            )
        read[normalise_replacement(name)] = printable(reason.strip())
    return read


def _image_data(result: LockResult) -> Json:
    section = result.lock.sections.image
    if section is None or result.image is None:
        return None
    origin = result.image.origin
    moved = moves_data(result.image.comparison.moves) if result.image.comparison else {}
    base = {"from_base": moves_data(result.image.base_moves)} if result.image.base_moves else {}
    return {
        "reference": origin.reference,
        "digest": section.digest,
        "tag_kind": origin.tag_kind,
        "evidence": origin.evidence,
        "known_issues": list(origin.known_issues),
        **moved,
        **base,
    }


def _show(session: Session, console: Console, result: LockResult, status: str, needs: Estimate | None) -> None:
    words = {"locked": "locked", "unchanged": "unchanged", "would-change": "would change"}
    write_line(console, f"{words[status]}  {shown(result.path)}")
    write_line(console, f"id  {result.lock.id}")
    for name, digest in result.lock.digests.items():
        write_line(console, f"  {name:<11}  {shown_digest(console, digest)}  {result.fates[name]}")
    for name, fate in result.like_fates.items():
        write_line(console, f"  {name:<11}  {'as in' if fate == 'same' else 'differs from'} the lock given with --like")
    if result.image:
        _show_image(console, result.image)
    if result.packages:
        describe_packages(console, result.packages)
    if result.infra:
        describe_infra(console, result.infra)
    describe_data(console, result.lock.sections.data)
    show_estimate(session, console, needs)
    if status == "locked" and result.lock.sections.environment is not None:
        session.note(f"next: `rdlc run {shown(result.path)}`")


def _show_image(console: Console, image: LockedImage) -> None:
    write_line(console, f"image  {image.origin.reference}  {TAG_WORDS[image.origin.tag_kind]}")
    write_line(console, f"       {image.section.digest}")
    if image.comparison:
        write_line(console, "moved by --upgrade image")
        describe_moves(console, image.comparison.moves, image.comparison.old, image.comparison.new)
    for move in image.base_moves.moves if image.base_moves else ():
        write_line(console, f"  differs from its base: {move_words(move)}")
