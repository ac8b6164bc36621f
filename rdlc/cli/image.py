"""`rdlc image`: what is in an image, and what moved between two."""

import click
from rich.console import Console

from rdlc.cli.console import write_line
from rdlc.cli.edge import Answer, Session, verb
from rdlc.cli.image_source import ROUTES, RegistryImages, route_named
from rdlc.cli.image_text import describe_moves, describe_view, moves_data, view_data
from rdlc.core.contents.python_distributions import normalised_name
from rdlc.core.image.oci_platform import parse_platform
from rdlc.core.image.reference import parse_reference
from rdlc.errors import InputError
from rdlc.operations.image import ImageComparison, ImageView, compare_references, inspect_image

STATUSES = {
    "described": "the image is described as far as the route tells",
    "same": "both names give the same digest",
    "moved": "something moved between the two",
}


@verb("image", statuses=STATUSES)
@click.argument("reference", metavar="REF")
@click.argument("other", metavar="[REF2]", required=False)
@click.option("--platform", default="linux/amd64", show_default=True, help="Which image of an index.")
@click.option(
    "--route",
    type=click.Choice(ROUTES),
    default="auto",
    show_default=True,
    help="config: the config alone. auto: tables of contents by ranged reads, else layers. stream: every layer.",
)
@click.option("--verify", "is_verified", is_flag=True, help="Read tables of contents whole and check their digests.")
@click.option("--no-cache", is_flag=True, help="Neither use nor fill the cache of layers.")
@click.option("--all", "show_all", is_flag=True, help="List every package, not only the components.")
@click.option("--requires", metavar="NAME", help="Also show what an installed Python package requires.")
@click.option("--plain-http", metavar="HOST:PORT", multiple=True, help="Ask this registry without TLS.")
@click.option("--exit-code", "is_exit_asked", is_flag=True, help="With REF2: exit 1 if something moved.")
def command(
    session: Session,
    *,
    reference: str,
    other: str | None,
    platform: str,
    route: str,
    is_verified: bool,
    no_cache: bool,
    show_all: bool,
    requires: str | None,
    plain_http: tuple[str, ...],
    is_exit_asked: bool,
) -> Answer:
    """Show what is in an image; with two, what moved between them.

    Nothing is pulled: digests, components, Python and OS packages come from the registry, each with
    the level of its evidence:

    \b
      config-only    what the image says of itself
      soci-toc       published tables of contents, as the registry sent them
      soci-verified  each table has its digest, and each piece that was read of a layer the digest
                     that its table gives; the rest of the layer was not read: that it holds what
                     the table lists rests on who published the table
      streamed       every byte of every layer was read, and has its digest
    """
    source = RegistryImages(
        session, route=route_named(route), is_verified=is_verified, use_cache=not no_cache, plain_http=plain_http
    )
    wanted = parse_platform(platform)
    if other is not None and (show_all or requires):
        raise InputError("`--all` and `--requires` are about one image", hint="leave the second one out")
    if other is None and is_exit_asked:
        raise InputError("`--exit-code` is about two images", hint="name the second one too")
    first = parse_reference(reference)
    if other is None:
        view = inspect_image(first, platform=wanted, source=source)
        requirements = _requirements(view, requires)
        return Answer(
            status="described",
            data={**view_data(view), "requires": requirements},
            show=lambda console: describe_view(console, view, show_all=show_all, requires=requirements),
        )
    comparison = compare_references(first, parse_reference(other), platform=wanted, source=source)
    return _describe(comparison, is_exit_asked=is_exit_asked)


def _describe(comparison: ImageComparison, *, is_exit_asked: bool) -> Answer:
    is_same = comparison.moves.kind == "same"

    def show(console: Console) -> None:
        write_line(console, f"A  {comparison.old.image.pinned}")
        write_line(console, f"B  {comparison.new.image.pinned}")
        describe_moves(console, comparison.moves, comparison.old, comparison.new)

    return Answer(
        status="same" if is_same else "moved",
        exit_code=int(is_exit_asked and not is_same),
        data={
            "a": view_data(comparison.old),
            "b": view_data(comparison.new),
            **moves_data(comparison.moves),
        },
        show=show,
    )


def _requirements(view: ImageView, name: str | None) -> dict[str, list[str]]:
    if name is None:
        return {}
    found = [item for item in view.contents.inventory.distributions if item.name == normalised_name(name)]
    if not found:
        raise InputError(f"the image holds no Python package `{name}`, as far as was read")
    return {item.path: list(view.contents.requirements(item)) for item in found}
