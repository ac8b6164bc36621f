"""The image example of the README, run against a registry of the tests."""

import contextlib
import io
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from rdlc.cli import run_command_line
from tests.registry.dlc_pair import FIXED, MOVING, REPOSITORY, push_first, push_next, with_names
from tests.registry.registries import plain_registry


def image_example() -> str:
    """What `rdlc image A B` prints for a small image and its rebuild, in one code block.

    The registry stands as `registry.example`; words stand for the digests, which another zlib changes.
    """
    if shutil.which("docker-registry") is None:
        raise RuntimeError("the example is made with `docker-registry`, which is not installed")
    references = [f"registry.example/{REPOSITORY}:{tag}" for tag in (FIXED, MOVING)]
    with tempfile.TemporaryDirectory() as folder, _plain_environment(folder), plain_registry(Path(folder)) as address:
        push_first(address)
        push_next(address)
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            code = run_command_line(["image", *(name.replace("registry.example", address) for name in references)])
        text = with_names(said.getvalue(), address)
    if code != 0:
        raise RuntimeError(f"`rdlc image` of the example ended with exit code {code}")
    text = text.replace("sha256:FIRST", "sha256:(first build)").replace("sha256:NEXT", "sha256:(rebuild)")
    return f"```\n$ rdlc image {references[0]} \\\n    {references[1]}\n{text}```"


@contextlib.contextmanager
def _plain_environment(home: str) -> Iterator[None]:
    """No colour, and no cache or login of whoever makes the page."""
    before = dict(os.environ)
    for name in ("XDG_CACHE_HOME", "DOCKER_CONFIG", "FORCE_COLOR", "COLUMNS"):
        os.environ.pop(name, None)
    os.environ.update(HOME=home, NO_COLOR="1")
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
