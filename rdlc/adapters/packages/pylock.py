"""What uv resolved, read from its `pylock.toml` (PEP 751), and earlier pins written as one."""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from packaging.utils import canonicalize_name

from rdlc.adapters.packages.index_page import is_file_name
from rdlc.adapters.packages.web import join_url
from rdlc.core.packages.resolution import IndexFile, Pin
from rdlc.core.text import one_line
from rdlc.errors import OutsideError

PYLOCK_LIMIT_BYTES = 16 << 20

_SHA256 = re.compile(r"[0-9a-f]{64}")


def read_pylock(data: bytes) -> tuple[Pin, ...]:
    """The packages by name, each with the files that may be installed; raises OutsideError for anything odd."""
    try:
        document = tomllib.loads(data.decode("utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise OutsideError("uv's answer is no TOML", hint="`uv --version`, and install a newer uv") from error
    packages = document.get("packages", [])
    if not isinstance(packages, list):
        raise _odd("has no list of packages")
    pins = [_read_package(package) for package in packages]
    return tuple(sorted(pins, key=lambda pin: pin.name))


def write_preferences(versions: Mapping[str, str]) -> str:
    """Earlier pins as a `pylock.toml`, which uv keeps to as far as it can."""
    lines = ['lock-version = "1.0"', 'created-by = "rdlc"']
    for name, version in sorted(versions.items()):
        # A JSON string of ASCII is a TOML string, too.
        lines += ["[[packages]]", f"name = {json.dumps(name)}", f"version = {json.dumps(version)}"]
    return "\n".join(lines) + "\n"


def _read_package(package: Any) -> Pin:
    name, version = (package.get(key) if isinstance(package, dict) else None for key in ("name", "version"))
    if not isinstance(name, str) or not isinstance(version, str):
        raise _odd("has a package without name or version")
    return Pin(name=canonicalize_name(name), version=version, files=tuple(_read_files(package, name)))


def _read_files(package: Mapping[str, Any], name: str) -> Iterator[IndexFile]:
    wheels, sdist = package.get("wheels", []), package.get("sdist")
    files = [*(wheels if isinstance(wheels, list) else []), *([sdist] if sdist is not None else [])]
    if not files:
        raise _odd(f"has no file for `{one_line(name)}`")
    for file in files:
        yield _read_file(file, name)


def _read_file(file: Any, package: str) -> IndexFile:
    fields = file if isinstance(file, dict) else {}
    given, hashes, size = fields.get("url"), fields.get("hashes"), fields.get("size")
    url = join_url("", given) if isinstance(given, str) else None
    sha256 = hashes.get("sha256") if isinstance(hashes, dict) else None
    if url is None:
        raise _odd(f"takes `{one_line(package)}` from elsewhere than an index")
    name = fields.get("name") or url.partition("?")[0].rpartition("/")[2].replace("%2B", "+").replace("%2b", "+")
    if not isinstance(name, str) or not is_file_name(name):
        raise _odd(f"has a file of `{one_line(package)}` without a proper name")
    return IndexFile(
        name=name,
        url=url,
        size=size if isinstance(size, int) and size > 0 else None,
        sha256=f"sha256:{sha256}" if isinstance(sha256, str) and _SHA256.fullmatch(sha256) else None,
        yanked=None,
    )


def _odd(what: str) -> OutsideError:
    return OutsideError(f"uv's answer {what}", hint="`uv --version`, and install a newer uv")
