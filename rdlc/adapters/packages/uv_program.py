"""Starting uv so that nothing but what it is given moves its answer.

Of the environment it sees no variable of uv, pip or Python that could: no other index, cut-off,
constraint or way to choose. Where its cache is, how patient it is, `~/.netrc`, proxies and
certificates stay as they are.
"""

import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rdlc.adapters.packages.default_index import index_address
from rdlc.errors import OutsideError, RdlcError

INDEX_NAME = "rdlc"

_LOG = logging.getLogger(__name__)
_TIMEOUT_S = 600.0
_KEPT = frozenset(
    {
        "UV_CACHE_DIR", "UV_HTTP_TIMEOUT", "UV_HTTP_CONNECT_TIMEOUT", "UV_HTTP_RETRIES", "UV_CONCURRENT_DOWNLOADS",
        "UV_SYSTEM_CERTS", "UV_NATIVE_TLS",
    }
)  # fmt: skip
_DROPPED = ("UV_", "PIP_", "PYTHON")
# Dates are UTC, sentences English, and no index is asked more often than helps.
_FORCED = {"TZ": "UTC", "LC_ALL": "C.UTF-8", "NO_COLOR": "1"}
_DEFAULTS = {"UV_HTTP_RETRIES": "2"}
_INSTALL = "`pip install 'rdlc[packages]'`"


@dataclass(frozen=True, kw_only=True, slots=True)
class Done:
    """How uv ended, and what it said."""

    code: int
    out: bytes
    err: str


class UvProgram:
    """uv as a program; `login` is for the index that it is given."""

    def __init__(self, path: Path, *, login: tuple[str, str] | None = None) -> None:
        self._path = path
        self._environment = uv_environment(os.environ, login=login)

    def run(self, *arguments: str, folder: Path) -> Done:
        """What uv gives when started in the folder; raises RdlcError if it cannot be, or takes too long."""
        command = (str(self._path), *arguments, "--no-config", "--no-progress", "--color", "never")
        _LOG.debug("starting %s", " ".join(command))
        try:
            done = subprocess.run(
                command,
                cwd=folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_TIMEOUT_S,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise OutsideError(f"uv did not end within {_TIMEOUT_S:.0f} s") from error
        except OSError as error:
            raise RdlcError(f"uv cannot be started: {error.strerror}", file=str(self._path), hint=_INSTALL) from error
        said = done.stderr.decode("utf-8", "replace")
        _LOG.debug("uv ended with %s: %s", done.returncode, said)
        return Done(code=done.returncode, out=done.stdout, err=said)


def find_uv() -> Path:
    """The uv that is installed beside rdlc, or the first on PATH; raises RdlcError if there is none."""
    try:
        import uv

        return Path(uv.find_uv_bin())
    except (ImportError, FileNotFoundError):
        pass
    found = shutil.which("uv")
    if found is None:
        raise RdlcError("extra packages are resolved by uv, which is not installed", hint=_INSTALL)
    return Path(found)


def uv_environment(given: Mapping[str, str], *, login: tuple[str, str] | None) -> dict[str, str]:
    """The environment that uv is started with; the login of the index is only in it, in no argument or file."""
    kept = {name: text for name, text in given.items() if name in _KEPT or not name.startswith(_DROPPED)}
    environment = {**_DEFAULTS, **kept, **_FORCED}
    if "SSL_CERT_FILE" not in environment and (bundle := given.get("PIP_CERT")):
        environment["SSL_CERT_FILE"] = bundle
    if login is not None:
        prefix = f"UV_INDEX_{INDEX_NAME.upper()}"
        environment.update({f"{prefix}_USERNAME": login[0], f"{prefix}_PASSWORD": login[1]})
    return environment


def index_arguments(url: str) -> Sequence[str]:
    """How uv is told its one index; by name, so that a login can be given for it; none for uv's own default."""
    return ("--default-index", f"{INDEX_NAME}={url}") if url else ()


def own_index(uv: UvProgram) -> str:
    """The index that uv asks when none is named, as uv tells it."""
    with tempfile.TemporaryDirectory(prefix="rdlc-uv.") as name:
        folder = Path(name)
        (folder / "nothing.in").touch()
        options = ("--emit-index-url", "--no-header", "--offline", "--python", sys.executable)
        done = uv.run("pip", "compile", "nothing.in", *options, folder=folder)
    found = re.search(r"^--index-url (\S+)$", done.out.decode("utf-8", "replace"), re.MULTILINE)
    if done.code or not found:
        raise RdlcError(
            "uv does not tell which index it asks by default",
            hint="name one in the spec: `packages: {requires: [...], index: https://...}`",
        )
    return index_address(found[1], source="uv").url
