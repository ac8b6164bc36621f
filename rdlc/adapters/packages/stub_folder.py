"""The base as a folder of stub wheels, where a resolver finds its distributions.

Kept in the cache by content: uv remembers what it read from a wheel by the wheel's path, so that a new
folder each time would make it read all anew, and its own cache grow.
"""

import contextlib
import hashlib
import logging
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from rdlc.core.canonical import digest
from rdlc.core.packages.base import BaseDistribution
from rdlc.core.packages.stubs import stub_wheel

_LOG = logging.getLogger(__name__)


@contextlib.contextmanager
def stub_folder(distributions: Iterable[BaseDistribution], *, cache: Path) -> Iterator[Path]:
    """A folder with a stub wheel for each; a temporary one if the cache cannot be written."""
    held = sorted(distributions, key=lambda item: item.name)
    try:
        kept = _kept_folder(held, cache / "stubs" / "v1")
    except OSError as error:
        _LOG.warning("cannot write the cache below %s: %s", cache, error)
        with tempfile.TemporaryDirectory(prefix="rdlc-stubs.") as folder:
            _write(held, Path(folder))
            yield Path(folder)
        return
    yield kept


def _kept_folder(held: list[BaseDistribution], cache: Path) -> Path:
    folder = cache / _key(held)
    if folder.is_dir():
        return folder
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache, prefix=".new.") as temporary:
        new = Path(temporary, "stubs")
        new.mkdir()
        _write(held, new)
        # Somebody else may have made the same folder meanwhile: then theirs is as good.
        with contextlib.suppress(OSError):
            new.rename(folder)
    if not folder.is_dir():
        raise OSError(f"{folder} cannot be made")
    return folder


def _key(held: list[BaseDistribution]) -> str:
    """The name of the folder; with the first stub's bytes in it, so that another way to make them counts."""
    first = hashlib.sha256(stub_wheel(held[0])[1]).hexdigest() if held else ""
    content = digest([first, [[item.name, item.version, list(item.requires)] for item in held]])
    return content.removeprefix("sha256:")[:32]


def _write(held: list[BaseDistribution], folder: Path) -> None:
    for distribution in held:
        name, data = stub_wheel(distribution)
        (folder / name).write_bytes(data)
