"""Stub wheels: a distribution of the base as a resolver can see it, without its files."""

import io
import re
import zipfile

from packaging.requirements import InvalidRequirement, Requirement

from rdlc.core.packages.base import BaseDistribution

_FIRST_DATE = (1980, 1, 1, 0, 0, 0)
_EXTRA = re.compile(r"""\bextra\s*==\s*["']([^"']+)["']""")
_WHEEL = "Wheel-Version: 1.0\nGenerator: rdlc\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def stub_wheel(distribution: BaseDistribution) -> tuple[str, bytes]:
    """The file name and the bytes of a wheel that has nothing but metadata; the same for the same distribution."""
    stem = f"{distribution.name.replace('-', '_')}-{distribution.version.replace('-', '_')}"
    folder = f"{stem}.dist-info"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, text in (("METADATA", _metadata(distribution)), ("WHEEL", _WHEEL), ("RECORD", _record(folder))):
            entry = zipfile.ZipInfo(f"{folder}/{name}", _FIRST_DATE)
            entry.create_system = 3
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, text.encode("utf-8"))
    return f"{stem}-py3-none-any.whl", buffer.getvalue()


def _metadata(distribution: BaseDistribution) -> str:
    requires = [text for line in distribution.requires if (text := _resolvable(line))]
    extras = sorted({extra for line in requires for extra in _EXTRA.findall(line)})
    lines = [
        "Metadata-Version: 2.1",
        f"Name: {distribution.name}",
        f"Version: {distribution.version}",
        *(f"Provides-Extra: {extra}" for extra in extras),
        *(f"Requires-Dist: {line}" for line in requires),
    ]
    return "\n".join(lines) + "\n"


def _resolvable(line: str) -> str:
    """The requirement with its address, if any, left out: the base has what it names; "" if it is none."""
    try:
        requirement = Requirement(line)
    except InvalidRequirement:
        return ""
    requirement.url = None
    return str(requirement)


def _record(folder: str) -> str:
    return "".join(f"{folder}/{name},,\n" for name in ("METADATA", "WHEEL", "RECORD"))
