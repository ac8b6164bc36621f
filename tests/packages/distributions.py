"""Wheels and sdists of a few hundred bytes, the same bytes every time."""

import gzip
import hashlib
import io
import tarfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_DATE = (2026, 1, 1, 0, 0, 0)


@dataclass(frozen=True, kw_only=True, slots=True)
class BuiltFile:
    """A distribution file that could be uploaded to an index."""

    project: str
    version: str
    name: str
    data: bytes
    metadata: bytes

    @property
    def sha256(self) -> str:
        """The digest of its bytes, in hexadecimal."""
        return hashlib.sha256(self.data).hexdigest()


def build_wheel(
    project: str, version: str, *requires: str,
    tag: str = "py3-none-any", python: str = "", files: Mapping[str, bytes] | None = None,
) -> BuiltFile:  # fmt: skip
    """A wheel with one module of the project's name, or with these files instead."""
    stem = f"{project.replace('-', '_')}-{version}"
    metadata = metadata_of(project, version, requires, python=python)
    module = {f"{project.replace('-', '_')}.py": f'version = "{version}"\n'.encode()}
    members = {
        **(module if files is None else files),
        f"{stem}.dist-info/METADATA": metadata,
        f"{stem}.dist-info/WHEEL": f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n".encode(),
    }
    record = "".join(f"{name},,\n" for name in (*members, f"{stem}.dist-info/RECORD"))
    data = zipped({**members, f"{stem}.dist-info/RECORD": record.encode()})
    return BuiltFile(project=project, version=version, name=f"{stem}-{tag}.whl", data=data, metadata=metadata)


def build_sdist(project: str, version: str, *requires: str) -> BuiltFile:
    """An sdist whose metadata can be read without building it."""
    stem = f"{project.replace('-', '_')}-{version}"
    metadata = metadata_of(project, version, requires)
    quoted = ", ".join(f'"{requirement}"' for requirement in requires)
    toml = f'[project]\nname = "{project}"\nversion = "{version}"\ndependencies = [{quoted}]\n'
    members = {
        "PKG-INFO": metadata,
        "pyproject.toml": f'{toml}[build-system]\nrequires = ["setuptools"]\n'.encode(),
        f"{project.replace('-', '_')}.py": b"",
    }
    data = _tarred({f"{stem}/{name}": content for name, content in members.items()})
    return BuiltFile(project=project, version=version, name=f"{stem}.tar.gz", data=data, metadata=metadata)


def metadata_of(project: str, version: str, requires: Sequence[str], *, python: str = "") -> bytes:
    """A `METADATA` file."""
    lines = ["Metadata-Version: 2.2", f"Name: {project}", f"Version: {version}"]
    lines += [f"Requires-Python: {python}"] if python else []
    lines += [f"Requires-Dist: {requirement}" for requirement in requires]
    return ("\n".join(lines) + "\n").encode()


def zipped(members: Mapping[str, bytes]) -> bytes:
    """A zip archive of these files, with a date that never changes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name, _DATE), content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def _tarred(members: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with gzip.GzipFile(fileobj=buffer, mode="wb", mtime=0) as packed, tarfile.open(fileobj=packed, mode="w") as archive:
        for name, content in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()
