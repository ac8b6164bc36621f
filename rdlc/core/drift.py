"""Where this machine differs from a lock, and which command mends it."""

from collections.abc import Mapping, Sequence
from shlex import quote

from rdlc.core.canonical import Json, canonical_bytes
from rdlc.core.flatten import flatten
from rdlc.core.record import Drift
from rdlc.core.sections import CodeSection, DataSection, EnvironmentSection, Sections

DRIFTING = ("code", "environment", "data")
ABSENT = "not there"


def find_drift(
    locked: Sections, *, code: CodeSection, environment: EnvironmentSection, data: DataSection
) -> tuple[Drift, ...]:
    """Every value of code, environment and data that is not what the lock says, in that order."""
    return (
        *_compare("code", _files(locked.code), _files(code)),
        *_compare("environment", _flat(locked.local_environment.payload()), _flat(environment.payload())),
        *_compare("data", _flat(locked.data.payload()), _flat(data.payload())),
    )


def find_code_drift(locked: Sections, code: CodeSection) -> tuple[Drift, ...]:
    """Every file of the code that is not what the lock says."""
    return tuple(_compare("code", _files(locked.code), _files(code)))


def mend_environment(drift: Sequence[Drift]) -> str | None:
    """The pip command that brings the locked distributions back; None if that cannot mend it."""
    wanted, extra = [], []
    for item in drift:
        prefix, _, name = item.address.partition("distributions.")
        if prefix or not name:
            continue
        name = name.strip('[]"')
        if item.locked == ABSENT:
            extra.append(quote(name))
        else:
            # Quoted: a lock is data from elsewhere, and this line is made to be pasted into a shell.
            wanted.append(quote(f"{name}=={item.locked}"))
    commands = []
    if extra:
        commands.append("python -m pip uninstall --yes " + " ".join(extra))
    if wanted:
        commands.append("python -m pip install " + " ".join(wanted))
    return " && ".join(commands) or None


def _files(code: CodeSection) -> dict[str, str]:
    return dict(code.files)


def _flat(payload: Mapping[str, Json]) -> dict[str, str]:
    flat = {}
    for address, value in flatten(payload).items():
        text = value if isinstance(value, str) else canonical_bytes(value).decode()
        flat[address.removeprefix("resolved.")] = text
    return flat


def _compare(section: str, locked: Mapping[str, str], found: Mapping[str, str]) -> list[Drift]:
    addresses = sorted(locked.keys() | found.keys())
    return [
        Drift(
            section=section,
            address=address,
            locked=locked.get(address, ABSENT),
            found=found.get(address, ABSENT),
        )
        for address in addresses
        if locked.get(address) != found.get(address)
    ]
