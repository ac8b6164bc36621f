"""What moved between the images of two locks, in words and as JSON, with the evidence for it."""

from collections.abc import Iterator

from rdlc.cli.image_text import moves_data
from rdlc.core.canonical import Json
from rdlc.core.image.locked_moves import BASIS_WORDS, LockedMoves
from rdlc.core.image.moves import KIND_WORDS
from rdlc.core.text import one_line

_UNDECIDED = "`same-components`, `os-packages` or `components-changed`: which one cannot be told from here"


def rebuild_lines(image: LockedMoves) -> Iterator[str]:
    """The kind of rebuild, the evidence for it, and how to find out what is not known."""
    kind, is_read = image.moves.kind, image.basis == "layers"
    yield f"{kind}: {_UNDECIDED if kind == 'not-known' and not is_read else KIND_WORDS[kind]}"
    levels = " and ".join(dict.fromkeys(filter(None, image.evidence)))
    yield f"evidence: {BASIS_WORDS[image.basis]}{f' ({levels})' if levels else ''}"
    yield from (f"note: {one_line(note)}" for note in image.notes)
    if image.command:
        yield f"all that moved: `{image.command}`"
    elif image.basis not in ("digests", "layers"):
        yield "all that moved: no command tells it; the locks are for two platforms, or one names no registry"


def rebuild_data(image: LockedMoves) -> dict[str, Json]:
    """What moved in the image as JSON."""
    return {
        **moves_data(image.moves),
        "basis": image.basis,
        "evidence": list(image.evidence),
        "notes": list(image.notes),
        "command": image.command or None,
    }
