"""The files of an image: its layers laid on each other, each hiding what it removes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from rdlc.core.contents.layer_facts import FileFact, LayerFacts

_LINK_HOPS = 40
_WHITEOUT = ".wh."
_OPAQUE = ".wh..wh..opq"


@dataclass(frozen=True, kw_only=True, slots=True)
class PlacedFile:
    """A wanted file of the image; `layer` is the position of the layer it comes from.

    `stored_path` is its path in that layer: another one where a parent is a link in the image.
    """

    path: str
    stored_path: str
    layer: int
    fact: FileFact


@dataclass(frozen=True, kw_only=True, slots=True)
class LayerStack:
    """The wanted files and the symbolic links that are left in an image, by path."""

    files: Mapping[str, PlacedFile] = field(repr=False)
    links: Mapping[str, str] = field(repr=False)

    def find(self, path: str) -> PlacedFile | None:
        """The file at a path, with symbolic links followed, also one in the last place."""
        return self.files.get(follow_links(path, self.links))


@dataclass(frozen=True, kw_only=True, slots=True)
class Whiteout:
    """What a whiteout entry hides of the layers below: one path, or all that a folder holds."""

    path: str
    is_opaque: bool


def read_whiteout(path: str) -> Whiteout | None:
    """The whiteout that an entry of this path is; None for an entry that is none."""
    folder, _, name = path.rpartition("/")
    if name == _OPAQUE:
        return Whiteout(path=folder, is_opaque=True)
    hidden = name.removeprefix(_WHITEOUT)
    # Other names of the kind `.wh..wh.` are bookkeeping of a file system, and hide nothing.
    if hidden == name or hidden.startswith(_WHITEOUT) or hidden in ("", ".", ".."):
        return None
    return Whiteout(path=f"{folder}/{hidden}" if folder else hidden, is_opaque=False)


def stack_layers(layers: Sequence[LayerFacts]) -> LayerStack:
    """The image that layers make, the lowest first."""
    files: dict[str, PlacedFile] = {}
    links: dict[str, str] = {}
    for position, layer in enumerate(layers):
        new_links = {_place(path, links): target for path, target in layer.links.items()}
        _hide(layer, set(new_links), files, links)
        for path in layer.folders:
            links.pop(_place(path, links), None)
        # Links before files: an archive may name a file before the link in its path.
        links.update(new_links)
        for stored, fact in layer.files.items():
            path = _place(stored, links)
            links.pop(path, None)
            files[path] = PlacedFile(path=path, stored_path=stored, layer=position, fact=fact)
    return LayerStack(files=files, links=links)


def follow_links(path: str, links: Mapping[str, str]) -> str:
    """The path with every symbolic link in it resolved inside the image; itself in a loop."""
    resolved = path
    for _ in range(_LINK_HOPS):
        link = next((part for part in _parts(resolved) if part in links), None)
        if link is None:
            return resolved
        below = resolved[len(link) :]
        target = links[link]
        base = "" if target.startswith("/") else link.rpartition("/")[0]
        resolved = clean_path(f"{base}/{target}{below}")
    return path


def clean_path(path: str) -> str:
    """The path relative to the root, without `.`, `..`, doubled slashes or one at either end."""
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


def _place(path: str, links: Mapping[str, str]) -> str:
    folder, _, name = path.rpartition("/")
    if not folder:
        return path
    resolved = follow_links(folder, links)
    return f"{resolved}/{name}" if resolved else name


def _hide(layer: LayerFacts, covered: set[str], files: dict[str, PlacedFile], links: dict[str, str]) -> None:
    """Takes away what whiteouts remove, and what lies where the layer has a link."""
    removed = covered | {_place(path, links) for path in layer.removed}
    emptied = {follow_links(path, links) for path in layer.emptied}
    if not removed and not emptied:
        return
    for paths in (files, links):
        for path in [path for path in paths if _is_hidden(path, removed, emptied)]:
            del paths[path]


def _is_hidden(path: str, removed: set[str], emptied: set[str]) -> bool:
    if path in removed or "" in emptied:
        return True
    return any(part in removed or part in emptied for part in _parts(path) if part != path)


def _parts(path: str) -> Iterator[str]:
    """`a`, `a/b`, `a/b/c` of `a/b/c`."""
    position = path.find("/")
    while position >= 0:
        yield path[:position]
        position = path.find("/", position + 1)
    yield path
