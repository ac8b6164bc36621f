"""The Python that target `local` runs in: version, distributions, CPU.

A recipe is run by this interpreter, but with a search path of its own: nothing of the current folder,
`PYTHONPATH` or the user's own packages is on it. So what is installed is asked of such a process.
"""

import csv
import email.parser
import importlib.metadata
import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterator
from email.message import Message
from pathlib import Path

from rdlc.core.packages.base import Base, BaseDistribution
from rdlc.core.sections import EnvironmentSection
from rdlc.errors import InputError, RdlcError

# The extensions by which torch, MKL and oneDNN choose kernels; the rest of the flags does not move bits.
_VECTOR = re.compile(r"(sse4_1|sse4_2|avx|avx2|fma|f16c|avx512\w+|avx_\w+|amx_\w+|asimd\w*|sve\w*|i8mm|bf16)")
_OURSELVES = "rdlc"
_TIMEOUT_S = 60.0
_SEARCH_PATH = "import json, sys; print(json.dumps(sys.path))"
_MISSING = """
import json, sys
from importlib.util import find_spec
print(json.dumps([name for name in sys.argv[1:] if find_spec(name) is None]))
"""


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


def read_base() -> Base:
    """This interpreter and what a recipe sees installed in it, as what extra packages are added to."""
    library, version = platform.libc_ver()
    found = re.fullmatch(r"([0-9]{1,3})\.([0-9]{1,3})(\..*)?", version) if library == "glibc" else None
    held: dict[str, BaseDistribution] = {}
    for distribution in _installed():
        headers = _headers(distribution)
        name, version = _name_and_version(distribution, headers)
        if name and name != _OURSELVES and version:
            requires = _requires(distribution, headers)
            held.setdefault(name, BaseDistribution(name=name, version=version, requires=requires))
    return Base(
        python=platform.python_version(),
        implementation=platform.python_implementation(),
        machine=platform.machine(),
        glibc=(int(found[1]), int(found[2])) if found else None,
        distributions=tuple(held[name] for name in sorted(held)),
        evidence="environment",
    )


def read_base_files() -> dict[str, str]:
    """Each file of the installed distributions, from the folder that they are in, to the name of its owner."""
    owners: dict[str, str] = {}
    for distribution in _installed():
        name = _name_and_version(distribution, _headers(distribution))[0]
        for path in _recorded(distribution) if name and name != _OURSELVES else ():
            if not path.startswith(("../", "/")) and "__pycache__/" not in path:
                owners.setdefault(path, name)
    return owners


def editable_distributions() -> tuple[str, ...]:
    """The distributions that are installed as links to a folder: a version does not pin their files."""
    editable = [distribution for distribution in _installed() if _is_editable(distribution)]
    names = {_name_and_version(distribution, _headers(distribution))[0] for distribution in editable}
    return tuple(sorted(names - {_OURSELVES}))


def missing_modules(*names: str) -> tuple[str, ...]:
    """Which of the top-level modules a recipe would not find; imports none of them."""
    return _ask(_MISSING, *names)


def describe_host() -> dict[str, str]:
    """The kernel and the CPU model of this machine, for people."""
    return {"kernel": platform.release(), "cpu model": _cpu_values().get("model name") or "not known"}


def _read_distributions() -> dict[str, str]:
    found: dict[str, str] = {}
    for distribution in _installed():
        name, version = _name_and_version(distribution, _headers(distribution))
        # The first one on the path is the one that is imported.
        if name and name != _OURSELVES and version:
            found.setdefault(name, version)
    return found


def _installed() -> Iterator[importlib.metadata.Distribution]:
    return iter(importlib.metadata.distributions(path=list(_ask(_SEARCH_PATH))))


def _ask(script: str, *arguments: str) -> tuple[str, ...]:
    """What a script prints as a JSON list when it is run as a recipe is: same interpreter, clean search path."""
    command = (sys.executable, "-P", "-s", "-c", script, *arguments)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    try:
        done = subprocess.run(command, env=environment, cwd="/", capture_output=True, timeout=_TIMEOUT_S, check=True)
        # What a `.pth` file prints comes before.
        answer = json.loads(done.stdout.splitlines()[-1])
    except (OSError, subprocess.SubprocessError, ValueError, IndexError) as error:
        raise RdlcError("cannot ask this Python what is installed in it", file=sys.executable) from error
    return tuple(answer)


def _is_editable(distribution: importlib.metadata.Distribution) -> bool:
    """Whether the installer says so; what it left is no valid `direct_url.json` says nothing."""
    try:
        origin = json.loads(_read(distribution, "direct_url.json") or "{}")
    except ValueError:
        return False
    folder = origin.get("dir_info") if isinstance(origin, dict) else None
    return isinstance(folder, dict) and folder.get("editable") is True


def _read(distribution: importlib.metadata.Distribution, name: str) -> str | None:
    try:
        return distribution.read_text(name)
    except (OSError, UnicodeDecodeError) as error:
        where = str(distribution.locate_file(""))
        raise InputError(f"a distribution here has a file `{name}` that cannot be read", file=where) from error


def _headers(distribution: importlib.metadata.Distribution) -> Message:
    # `distribution.metadata` parses the long description too, again at each use: seconds over a whole environment.
    text = _read(distribution, "METADATA") or _read(distribution, "PKG-INFO") or _read(distribution, "") or ""
    return email.parser.HeaderParser().parsestr(text.partition("\n\n")[0])


def _recorded(distribution: importlib.metadata.Distribution) -> list[str]:
    """The paths that the installer wrote, as it wrote them down."""
    lines = (_read(distribution, "RECORD") or "").splitlines()
    try:
        return [row[0] for row in csv.reader(lines) if row]
    except csv.Error as error:
        where = str(distribution.locate_file(""))
        raise InputError("a distribution here has a file `RECORD` that cannot be read", file=where) from error


def _requires(distribution: importlib.metadata.Distribution, headers: Message) -> tuple[str, ...]:
    """What the distribution requires, one requirement each; an old one keeps it in a file of its own."""
    lines = headers.get_all("Requires-Dist", [])
    if not lines and _read(distribution, "METADATA") is None:
        lines = distribution.requires or []
    return tuple(" ".join(str(line).split()) for line in lines)


def _name_and_version(distribution: importlib.metadata.Distribution, headers: Message) -> tuple[str, str]:
    """The normalised name and the version; empty where the metadata does not tell.

    Raises InputError for one that no lock can hold.
    """
    name, version = str(headers.get("Name", "")), str(headers.get("Version", ""))
    for word, value in (("name", name), ("version", version)):
        if not value.isprintable():
            where = str(distribution.locate_file(""))
            raise InputError(f"distribution {name!r} has a {word} that no lock can hold: {value!r}", file=where)
    return re.sub(r"[-_.]+", "-", name).lower(), version


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
