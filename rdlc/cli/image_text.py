"""Images and their differences, as text and as JSON."""

from collections.abc import Iterator, Mapping, Sequence

from rich.console import Console

from rdlc.cli.console import write_line
from rdlc.core.canonical import Json
from rdlc.core.contents.inventory import Inventory
from rdlc.core.image.known_issues import KnownIssue
from rdlc.core.image.moves import GROUPS, KIND_WORDS, ImageMoves, Move
from rdlc.core.image.oci import ResolvedImage
from rdlc.operations.image import ImageView

TAG_WORDS = {
    "digest": "a digest: never moves",
    "fixed": "a fixed tag: should never move",
    "moving-minor": "a moving tag: security rebuilds come about weekly",
    "moving-major": "a moving tag: features and fixes come",
    "unversioned": "a moving tag: anything may come",
    "other": "a tag that promises nothing rdlc knows of",
}


def describe_view(console: Console, view: ImageView, *, show_all: bool, requires: Mapping[str, Sequence[str]]) -> None:
    """Writes an image for people."""
    inventory = view.contents.inventory
    for label, value in _identity(view.image).items():
        write_line(console, f"{label:<10}  {value}")
    write_line(console, f"evidence    {inventory.evidence}  ({view.contents.read_bytes:,} bytes of layers read)")
    write_line(console, "")
    for item in inventory.components:
        write_line(console, f"  {item.name:<20}  {item.version:<28}  {item.evidence:<13}  {item.source}")
    _describe_packages(console, inventory, show_all=show_all)
    if inventory.nccl_conf is not None:
        _write_block(console, "/etc/nccl.conf", inventory.nccl_conf.splitlines())
    for path, requirements in requires.items():
        _write_block(console, f"{path} requires", requirements)
    for note in inventory.notes:
        write_line(console, f"note: {note}")
    describe_issues(console, view.issues)


def _describe_packages(console: Console, inventory: Inventory, *, show_all: bool) -> None:
    if not inventory.complete:
        write_line(console, "  layers were not read: what is not listed is not known")
        return
    counts = f"{len(inventory.distributions)} Python packages, {len(inventory.os_packages)} OS packages"
    write_line(console, f"\n{counts}{'' if show_all else '; --all lists them'}")
    if show_all:
        for package in inventory.distributions:
            write_line(console, f"  {package.name:<32}  {package.version:<20}  {package.path}")
        for os_package in inventory.os_packages:
            name = f"{os_package.name}.{os_package.architecture}".removesuffix(".")
            write_line(console, f"  {name:<32}  {os_package.version:<20}  {os_package.kind}")


def _write_block(console: Console, title: str, lines: Sequence[str]) -> None:
    write_line(console, f"\n{title}")
    for line in lines:
        write_line(console, f"  {line}")


def describe_moves(console: Console, moves: ImageMoves, old: ImageView, new: ImageView) -> None:
    """Writes what moved, grouped, and the kind of rebuild."""
    write_line(console, f"\nrebuild  {moves.kind}: {KIND_WORDS[moves.kind]}")
    evidence = (old.contents.inventory.evidence, new.contents.inventory.evidence)
    write_line(console, f"evidence {' and '.join(dict.fromkeys(evidence))}")
    for line in move_lines(moves):
        write_line(console, line)
    inventories = (old.contents.inventory, new.contents.inventory)
    for note in dict.fromkeys(note for inventory in inventories for note in inventory.notes):
        write_line(console, f"\nnote: {note}")
    gone = {issue.id for issue in old.issues} - {issue.id for issue in new.issues}
    for issue in old.issues:
        if issue.id in gone:
            write_line(console, f"\nno longer there: {issue.title} ({issue.id})")
    describe_issues(console, new.issues)


def move_lines(moves: ImageMoves) -> Iterator[str]:
    """Every move on a line below its group, with an empty line before each group."""
    for group in GROUPS:
        members = [move for move in moves.moves if move.group == group]
        if members:
            yield from ("", group)
        yield from (f"  {move_words(move)}" for move in members)


def move_words(move: Move) -> str:
    """One move on one line."""
    if move.old is None:
        change = f"added {move.new}"
    elif move.new is None:
        change = f"removed (was {move.old})"
    else:
        change = f"{move.old} -> {move.new}"
    place = "" if move.place == "component" else f"  ({move.place})"
    risk = f"  risk: {move.risk}" if move.risk else ""
    return f"{move.name}  {change}{place}{risk}".replace("\n", "\\n")


def describe_issues(console: Console, issues: Sequence[KnownIssue]) -> None:
    """Writes known issues with effect, fix and source."""
    for issue in issues:
        write_line(console, f"\nknown issue: {issue.title} ({issue.id})", style="yellow")
        write_line(console, f"  effect  {issue.effect}")
        write_line(console, f"  fix     {issue.fix}")
        write_line(console, f"  source  {issue.source}")


def view_data(view: ImageView) -> dict[str, Json]:
    """An image as JSON."""
    image, inventory = view.image, view.contents.inventory
    return {
        "reference": str(image.requested),
        "tag_kind": image.kind,
        "pinned": str(image.pinned),
        "index_digest": image.index_digest,
        "index_media_type": image.index_media_type,
        "manifest_digest": image.manifest_digest,
        "manifest_media_type": image.manifest_media_type,
        "config_digest": image.config_digest,
        "content_id": image.content_id,
        "platform": str(image.platform),
        "created": image.created,
        "layers": [{"digest": layer.digest, "size": layer.size} for layer in image.layers],
        "diff_ids": list(image.diff_ids),
        "env": dict(image.env),
        "labels": dict(image.labels),
        "history": list(image.history),
        "evidence": inventory.evidence,
        "read_bytes": view.contents.read_bytes,
        "components": [
            {"name": c.name, "version": c.version, "source": c.source, "evidence": c.evidence}
            for c in inventory.components
        ],
        "python_packages": [
            {"name": d.name, "version": d.version, "path": d.path, "evidence": d.evidence}
            for d in inventory.distributions
        ],
        "os_packages": [
            {"name": p.name, "version": p.version, "architecture": p.architecture, "kind": p.kind}
            for p in inventory.os_packages
        ],
        "nccl_conf": inventory.nccl_conf,
        "notes": list(inventory.notes),
        "known_issues": [issue_data(issue) for issue in view.issues],
    }


def issue_data(issue: KnownIssue) -> dict[str, Json]:
    """A known issue as JSON."""
    return {
        "id": issue.id,
        "title": issue.title,
        "effect": issue.effect,
        "fix": issue.fix,
        "source": issue.source,
    }


def moves_data(moves: ImageMoves) -> dict[str, Json]:
    """What moved as JSON."""
    return {
        "rebuild": moves.kind,
        "moves": [
            {"group": m.group, "name": m.name, "place": m.place, "old": m.old, "new": m.new, "risk": m.risk}
            for m in moves.moves
        ],
    }


def _identity(image: ResolvedImage) -> dict[str, str]:
    size = sum(layer.size for layer in image.layers)
    return {
        "image": str(image.requested),
        "tag": TAG_WORDS[image.kind],
        "digest": image.digest,
        "platform": f"{image.platform}  {image.manifest_digest}",
        "config": image.config_digest,
        "content": image.content_id,
        "created": image.created or "not stated",
        "layers": f"{len(image.layers)}, {size:,} bytes compressed",
    }
