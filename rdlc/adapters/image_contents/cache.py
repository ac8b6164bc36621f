"""What was read of layers, kept by digest: a layer never changes, so neither do its facts.

One file for each layer, replaced in one step, so that any number of processes may share a folder.
"""

import logging
import os
import tempfile
from pathlib import Path

from rdlc.core.contents.inventory import evidence_rank
from rdlc.core.contents.layer_facts import FACTS_FORMAT, LayerFacts, read_facts, write_facts
from rdlc.errors import InputError

_LOG = logging.getLogger(__name__)


def default_cache_folder() -> Path:
    """`rdlc` below `XDG_CACHE_HOME`, which is `~/.cache` if it is not set or not absolute."""
    given = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (given if given.is_absolute() else Path.home() / ".cache") / "rdlc"


class LayerCache:
    """The facts of layers in a folder. A folder that cannot be used costs time, and nothing else."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "layers" / f"v{FACTS_FORMAT}"

    def load(self, digest: str) -> LayerFacts | None:
        """What is known of a layer; None also when the entry is damaged."""
        path = self._path(digest)
        try:
            facts = read_facts(path.read_bytes(), name=str(path))
        except FileNotFoundError:
            return None
        except (OSError, InputError) as error:
            _LOG.warning("cache entry %s is not used: %s", path, error)
            return None
        return facts if facts.digest == digest else None

    def store(self, facts: LayerFacts) -> None:
        """Keeps the facts, unless better ones stand there."""
        known = self.load(facts.digest)
        if known == facts:
            return
        if known and evidence_rank(known.evidence) > evidence_rank(facts.evidence):
            return
        try:
            self._replace(self._path(facts.digest), write_facts(facts))
        except OSError as error:
            _LOG.warning("cannot write the cache below %s: %s", self._folder, error)

    def _path(self, digest: str) -> Path:
        hexadecimal = digest.removeprefix("sha256:")
        return self._folder / hexadecimal[:2] / f"{hexadecimal}.json"

    def _replace(self, path: Path, data: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
