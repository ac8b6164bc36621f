"""Why extra packages could not be installed, in one line made of what Ray and pip said of it."""

import re

from fsdp_qwen.config import Packages
from fsdp_qwen.failures import one_line

_CHANGED = re.compile(
    r"^\s*(?P<name>[A-Za-z0-9._-]+)==\S+ from (?P<url>\S+)[^\n]*\n"
    r"\s*Expected sha256 (?P<expected>[0-9a-f]{64})\s+Got\s+(?P<found>[0-9a-f]{64})",
    re.MULTILINE,
)
_MISSING = re.compile(r"No matching distribution found for (?P<name>[A-Za-z0-9._-]+)==(?P<version>\S+)")
_VERSIONS = re.compile(r"\(from versions: (?P<versions>[^)]*)\)")
_BROKEN = re.compile(r"after connection broken by '(?P<why>[^\n]*)': /")
_NO_PIP = re.compile(r"No module named '?pip\b")
_TOO_LATE = "Failed to install runtime_env within the timeout"
_USER_INFO = re.compile(r"://[^/\s@]*@")


def describe_failure(text: str, packages: Packages) -> str:
    """One line: the package, and the expected and the found digest where those differ."""
    text = _USER_INFO.sub("://", text)
    known = _changed(text, packages) or _missing(text, packages) or _machine(text, packages)
    return known or f"packages: {_last_words(text)}"


def _changed(text: str, packages: Packages) -> str:
    found = _CHANGED.search(text)
    if found is None:
        return ""
    file = found["url"].partition("#")[0].rpartition("/")[2]
    return (
        f"package `{found['name']}`: the lock has sha256:{found['expected']} for `{file}`, "
        f"and {_source(packages)} gave sha256:{found['found']}: it was changed after it was locked"
    )


def _missing(text: str, packages: Packages) -> str:
    found = _MISSING.search(text)
    if found is None:
        return ""
    package = f"package `{found['name']}` {found['version']}"
    if broken := _BROKEN.search(text):
        return f"{package}: the index cannot be reached: {one_line(broken['why'], limit=300)}"
    versions = _VERSIONS.search(text)
    there = f" (there: {one_line(versions['versions'], limit=200)})" if versions else ""
    return f"{package}: {_source(packages)} does not have it for this Python and platform{there}"


def _machine(text: str, packages: Packages) -> str:
    if _TOO_LATE in text:
        return f"packages: not installed within {packages.setup_timeout_s} s, the limit for them"
    if _NO_PIP.search(text):
        return "packages: the Python that Ray runs in has no pip to install them with"
    if "No space left on device" in text:
        return "packages: no space is left on the disk of the node"
    return ""


def _last_words(text: str) -> str:
    """The last error line of pip, else the last line of all."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line.partition("ERROR:")[2].strip() for line in lines if line.startswith("ERROR:")]
    return one_line((errors or lines or ["no reason was given"])[-1])


def _source(packages: Packages) -> str:
    return "the index" if packages.wheels is None else "the wheelhouse"
