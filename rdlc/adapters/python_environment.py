"""The Python that target `local` runs in: version, distributions, CPU."""

import email.parser
import importlib.metadata
import importlib.util
import json
import platform
import re
from pathlib import Path

from rdlc.core.sections import EnvironmentSection

# The extensions by which torch, MKL and oneDNN choose kernels; the rest of the flags does not move bits.
_VECTOR = re.compile(r"(sse4_1|sse4_2|avx|avx2|fma|f16c|avx512\w+|avx_\w+|amx_\w+|asimd\w*|sve\w*|i8mm|bf16)")
_OURSELVES = "rdlc"


def read_environment(*, threads_per_worker: int) -> EnvironmentSection:
    """What this interpreter would run a recipe with."""
    vendor, extensions = _read_cpu()
    libc = " ".join(part for part in platform.libc_ver() if part)
    return EnvironmentSection(
        python=platform.python_version(),
        implementation=platform.python_implementation(),
        system=platform.system(),
        machine=platform.machine(),
        libc=libc or "unknown",
        cpu_vendor=vendor,
        instruction_set=extensions,
        threads_per_worker=threads_per_worker,
        distributions=_read_distributions(),
    )


def editable_distributions() -> tuple[str, ...]:
    """The distributions that are installed as links to a folder: a version does not pin their files."""
    names = []
    for distribution in importlib.metadata.distributions():
        origin = distribution.read_text("direct_url.json")
        if not origin:
            continue
        name, _ = _name_and_version(distribution)
        if name != _OURSELVES and json.loads(origin).get("dir_info", {}).get("editable"):
            names.append(name)
    return tuple(sorted(names))


def missing_modules(*names: str) -> tuple[str, ...]:
    """Which of the top-level modules this interpreter does not find; imports nothing."""
    return tuple(name for name in names if importlib.util.find_spec(name) is None)


def describe_host() -> dict[str, str]:
    """The kernel and the CPU model of this machine, for people."""
    return {"kernel": platform.release(), "cpu model": _cpu_values().get("model name") or "not known"}


def _read_distributions() -> dict[str, str]:
    found: dict[str, str] = {}
    for distribution in importlib.metadata.distributions():
        name, version = _name_and_version(distribution)
        # The first one on the path is the one that is imported.
        if name and name != _OURSELVES and version:
            found.setdefault(name, version)
    return found


def _name_and_version(distribution: importlib.metadata.Distribution) -> tuple[str, str]:
    """The normalised name and the version; empty where the metadata does not tell."""
    # `distribution.metadata` parses the long description too, again at each use: seconds over a whole environment.
    text = distribution.read_text("METADATA") or distribution.read_text("PKG-INFO") or distribution.read_text("") or ""
    headers = email.parser.HeaderParser().parsestr(text.partition("\n\n")[0])
    name = headers.get("Name", "")
    return re.sub(r"[-_.]+", "-", name).lower(), headers.get("Version", "")


def _read_cpu() -> tuple[str, tuple[str, ...]]:
    """Vendor and vector extensions; `unknown` and none where the kernel does not tell."""
    values = _cpu_values()
    flags = (values.get("flags") or values.get("Features") or "").split()
    vendor = values.get("vendor_id") or values.get("CPU implementer") or "unknown"
    return vendor, tuple(sorted(flag for flag in set(flags) if _VECTOR.fullmatch(flag)))


def _cpu_values() -> dict[str, str]:
    """What the kernel says of the first CPU, by its own names; nothing where it does not tell."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    values: dict[str, str] = {}
    for line in text.split("\n\n", 1)[0].splitlines():
        key, _, value = line.partition(":")
        values.setdefault(key.strip(), value.strip())
    return values
