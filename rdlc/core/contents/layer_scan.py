"""Picking out of all entries of a layer what an inventory needs."""

from rdlc.core.contents.inventory import Evidence
from rdlc.core.contents.layer_facts import FileFact, LayerFacts
from rdlc.core.contents.layer_stack import clean_path, read_whiteout
from rdlc.core.contents.tar_stream import TarEntry
from rdlc.core.contents.wanted_files import FileKind, file_kind
from rdlc.errors import InputError

# Characters that are kept of one layer; real ones have some hundred thousand.
KEPT_LIMIT = 64 << 20
_ITEM_CHARACTERS = 64
_PATH_LIMIT = 4096
_FOLDER_DEPTH = 3


class LayerScan:
    """Collects the facts of one layer, entry by entry."""

    def __init__(self, digest: str) -> None:
        self._digest = digest
        self._files: dict[str, FileFact] = {}
        self._links: dict[str, str] = {}
        self._folders: dict[str, None] = {}
        self._removed: dict[str, None] = {}
        self._emptied: dict[str, None] = {}
        self._notes: list[str] = []
        self._kept = 0

    def add(self, entry: TarEntry) -> FileKind | None:
        """Takes in an entry; gives back what is wanted of its bytes, None when it has no such."""
        path = entry.path
        if len(path) > _PATH_LIMIT or len(entry.target) > _PATH_LIMIT:
            return None
        self._files.pop(path, None)
        if entry.kind == "symlink":
            self._links[path] = entry.target
            self._keep(path, entry.target)
            return None
        if entry.kind == "folder":
            self._add_folder(path)
            return None
        if "/.wh." in path or path.startswith(".wh."):
            self._add_whiteout(path)
            return None
        return self._add_file(entry)

    def fill(self, path: str, fact: FileFact) -> None:
        """Says more of a file that was taken in."""
        self._files[path] = fact
        self._keep(fact.content or "", *(item.name + item.version for item in fact.packages or ()))

    def file(self, path: str) -> FileFact | None:
        """What is known of a file by now."""
        return self._files.get(path)

    def note(self, text: str) -> None:
        """Keeps what could not be read as it should."""
        self._notes.append(text)

    def facts(self, evidence: Evidence) -> LayerFacts:
        """All that was collected."""
        return LayerFacts(
            digest=self._digest,
            evidence=evidence,
            files=self._files,
            links=self._links,
            folders=tuple(self._folders),
            removed=tuple(self._removed),
            emptied=tuple(self._emptied),
            notes=tuple(self._notes),
        )

    def _add_file(self, entry: TarEntry) -> FileKind | None:
        kind = file_kind(entry.path)
        if kind is None or entry.kind == "other":
            return None
        self._links.pop(entry.path, None)
        if entry.kind == "hardlink":
            target = clean_path(entry.target)
            self._files[entry.path] = FileFact(size=0, hardlink=target)
            self._keep(entry.path, target)
            return None
        self._files[entry.path] = FileFact(size=entry.size, offset=entry.offset)
        self._keep(entry.path)
        return kind

    def _add_folder(self, path: str) -> None:
        if path and path.count("/") < _FOLDER_DEPTH:
            self._links.pop(path, None)
            self._folders[path] = None
            self._keep(path)

    def _add_whiteout(self, path: str) -> None:
        whiteout = read_whiteout(path)
        if whiteout:
            kept = self._emptied if whiteout.is_opaque else self._removed
            kept[whiteout.path] = None
            self._keep(whiteout.path)

    def _keep(self, *texts: str) -> None:
        self._kept += sum(len(text) + _ITEM_CHARACTERS for text in texts)
        if self._kept > KEPT_LIMIT:
            raise InputError("the layer has more links, whiteouts and packages than any image needs")
