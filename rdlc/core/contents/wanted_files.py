"""Which files of an image an inventory looks at, and how much of each."""

import re
from typing import Literal

from rdlc.core.contents.python_distributions import metadata_folder

# `name`: that it exists says enough. `text`: a small text. `metadata`: as text, but only read when
# asked for or at hand. `rpm`, `rpm-wal`, `dpkg`: a package database.
FileKind = Literal["name", "text", "metadata", "rpm", "rpm-wal", "dpkg"]

RPM_DATABASES = ("usr/lib/sysimage/rpm/rpmdb.sqlite", "var/lib/rpm/rpmdb.sqlite")
OTHER_RPM_DATABASES = (
    "usr/lib/sysimage/rpm/Packages.db",
    "var/lib/rpm/Packages",
    "var/lib/rpm/Packages.db",
)
DPKG_STATUS = "var/lib/dpkg/status"
NCCL_CONF = "etc/nccl.conf"
EFA_PACKAGES = "opt/amazon/efa_installed_packages"
OS_RELEASES = ("etc/os-release", "usr/lib/os-release")

_TEXTS = {NCCL_CONF, EFA_PACKAGES, *OS_RELEASES}
_DPKG = re.compile(r"var/lib/dpkg/(status|status\.d/[^/]+(?<!\.md5sums))")
_TEXT = re.compile(r"usr/local/cuda(-[0-9.]+)?/version\.json|(?:[^/]+/)*include/python3\.[0-9]+/patchlevel\.h")
_NAME = re.compile(r"(?:[^/]+/)*(?:libnccl\.so\.[0-9]+\.[0-9]+\.[0-9]+|libgdrapi\.so\.[0-9]+(\.[0-9]+)+)")

_LIMITS: dict[FileKind, int] = {
    "name": 0,
    "text": 64 << 10,
    "metadata": 1 << 20,
    "rpm": 512 << 20,
    "rpm-wal": 512 << 20,
    "dpkg": 32 << 20,
}


def file_kind(path: str) -> FileKind | None:
    """What an inventory reads of this file; None when it passes it by."""
    if path in _TEXTS:
        return "text"
    if path.endswith(("/METADATA", "/PKG-INFO", ".egg-info")):
        return "metadata" if metadata_folder(path) else None
    if path in RPM_DATABASES:
        return "rpm"
    if path.endswith("-wal"):
        return "rpm-wal" if path.removesuffix("-wal") in RPM_DATABASES else None
    return _pattern_kind(path)


def _pattern_kind(path: str) -> FileKind | None:
    if path in OTHER_RPM_DATABASES or _NAME.fullmatch(path):
        return "name"
    if _DPKG.fullmatch(path):
        return "dpkg"
    return "text" if _TEXT.fullmatch(path) else None


def size_limit(kind: FileKind) -> int:
    """The most bytes that are read of a file of this kind."""
    return _LIMITS[kind]
