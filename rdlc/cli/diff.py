"""`rdlc diff`: what differs?"""

import os
from pathlib import Path

import click
from rich.console import Console

from rdlc.adapters.workspace import files, records
from rdlc.cli.diff_image import rebuild_data
from rdlc.cli.diff_markdown import write_markdown
from rdlc.cli.diff_text import write_pair
from rdlc.cli.edge import Answer, Session, verb
from rdlc.core.canonical import Json
from rdlc.core.comparison import Comparison
from rdlc.core.contents.inventory import Inventory
from rdlc.core.diff import Change, Side
from rdlc.core.image.locked_moves import describe_locked
from rdlc.core.image.section import ImageSection
from rdlc.errors import InputError
from rdlc.operations.diff import Pair, diff_paths

STATUSES = {
    "same": "nothing differs in what could be compared",
    "different": "something differs",
}


@verb("diff", statuses=STATUSES)
@click.argument("given", nargs=-1, required=True, metavar="A B...")
@click.option("--exit-code", "is_exit_asked", is_flag=True, help="Exit with 1 if anything differs.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Tables for a comment on a change.")
def command(session: Session, *, given: tuple[str, ...], is_exit_asked: bool, as_markdown: bool) -> Answer:
    """Show what differs between locks, records and baselines.

    Each of A and B is a lock file, a baseline file, or a record: its folder or name. With more than
    two, the first is compared with each other one. Provenance is not compared.

    Of two images it also says what moved and what kind of rebuild that is, with the evidence: nobody
    is asked, so package lists are known only of images whose layers `rdlc image` read here before.
    """
    if as_markdown and session.as_json:
        raise InputError("`--markdown` and `--json` exclude each other", hint="`rdlc diff --help`")
    pairs = diff_paths([Path(path) for path in given], files=_LocalFiles(), layers=_CachedLayers())
    is_same = all(pair.difference.is_empty for pair in pairs)
    if is_same and not session.as_json:
        _note_sameness(session, pairs)

    def show(console: Console) -> None:
        write = write_markdown if as_markdown else write_pair
        for index, pair in enumerate(() if is_same else pairs):
            write(console, pair, is_first=index == 0)

    return Answer(
        status="same" if is_same else "different",
        exit_code=1 if is_exit_asked and not is_same else 0,
        data={"differences": [_pair_data(pair) for pair in pairs]},
        show=show,
    )


class _LocalFiles:
    """The files of this machine, and the records of the project around the current folder."""

    def is_file(self, path: Path) -> bool:
        """Whether a file stands there."""
        return os.path.isfile(path)  # noqa: PTH113 - a name too long is no file, and no error

    def is_folder(self, path: Path) -> bool:
        """Whether a folder stands there."""
        return os.path.isdir(path)  # noqa: PTH112 - as above

    def read(self, path: Path, *, limit_bytes: int, what: str) -> bytes:
        """The bytes of a regular file within a bound."""
        return files.read_bounded(path, limit_bytes=limit_bytes, what=what)

    def find_record(self, given: Path) -> Path:
        """The folder of a record."""
        here = Path.cwd()
        runs = (files.find_project(here) or here) / "runs"
        try:
            return records.find_record(given, runs)
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror}", file=str(given)) from error


class _CachedLayers:
    """The cache of layers of this user."""

    def read_cached(self, image: ImageSection) -> Inventory | None:
        """What is in a locked image; None if not all that it takes was read before."""
        from rdlc.adapters.image_contents.cache import LayerCache, default_cache_folder
        from rdlc.adapters.image_contents.reader import read_cached

        digests = [layer.digest for layer in image.layers]
        return read_cached(describe_locked(image), digests, LayerCache(default_cache_folder()))


def _note_sameness(session: Session, pairs: tuple[Pair, ...]) -> None:
    session.note("no differences")
    for note in dict.fromkeys(note for pair in pairs for note in pair.difference.notes):
        session.note(note)


def _pair_data(pair: Pair) -> dict[str, Json]:
    difference = pair.difference
    return {
        "first": _side_data(pair.first),
        "second": _side_data(pair.second),
        "same": difference.is_empty,
        "changes": [_change_data(change) for change in difference.changes],
        "image": rebuild_data(pair.image) if pair.image else None,
        "outcome": _outcome_data(difference.outcome) if difference.outcome else None,
        "suspects": [change.path for change in difference.suspects],
        "notes": list(difference.notes),
    }


def _side_data(side: Side) -> dict[str, Json]:
    return {
        "path": side.label,
        "kind": side.kind,
        "lock_id": side.lock_id,
        "sections": dict(side.digests),
        "accepted": dict(side.accepted),
    }


def _change_data(change: Change) -> dict[str, Json]:
    values = {"old": change.old, "new": change.new}
    absent = {"added": "old", "removed": "new"}.get(change.kind)
    return {
        "section": change.section,
        "address": change.address,
        "kind": change.kind,
        **{key: value for key, value in values.items() if key != absent},
    }


def _outcome_data(outcome: Comparison) -> dict[str, Json]:
    data: dict[str, Json] = {
        "equal": outcome.equal,
        "differs": outcome.differs,
        "steps_compared": outcome.steps_compared,
        "steps": [outcome.steps_expected, outcome.steps_found],
        "evidence": dict(outcome.evidence),
        "not_compared": list(outcome.not_compared),
        "divergence": None,
    }
    if divergence := outcome.divergence:
        data["divergence"] = {
            "step": divergence.step,
            "fields": [
                {"name": item.name, "first": item.expected, "second": item.found} for item in divergence.differences
            ],
            "tensor_step": divergence.tensor_step,
            "tensors": list(divergence.tensors),
            "tensors_total": divergence.tensors_total,
        }
    return data
