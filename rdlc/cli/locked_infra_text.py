"""Locked infrastructure as lines and as JSON."""

from rich.console import Console

from rdlc.cli.console import write_line
from rdlc.core.canonical import Json, canonical_bytes
from rdlc.core.text import one_line
from rdlc.operations.lock_infra import LockedInfra


def infra_data(locked: LockedInfra) -> dict[str, Json]:
    """What `rdlc lock --json` says of infrastructure."""
    section, origin = locked.section, locked.origin
    moved: dict[str, Json] = {name: {"old": old, "new": new} for name, (old, new) in locked.moved.items()}
    return {
        "root": section.requested.root,
        "profile": section.requested.profile,
        "tree": section.tree,
        "providers": {address: provider.version for address, provider in section.providers.items()},
        "plan": origin.plan or None,
        "plan_missing": origin.plan_missing or None,
        "origins": dict(origin.values),
        "bindings": dict(origin.bindings),
        "moved": moved,
    }


def describe_infra(console: Console, locked: LockedInfra) -> None:
    """A few lines: which root and providers, the fingerprint or why it is missing, what moved."""
    section, origin = locked.section, locked.origin
    profile = f"  profile {section.requested.profile}" if section.requested.profile else ""
    write_line(console, f"infra  {section.requested.root}{profile}  {section.tree}")
    for address, provider in section.providers.items():
        write_line(console, f"       {address} {provider.version}")
    write_line(console, f"       plan  {origin.plan or f'not fingerprinted: {one_line(origin.plan_missing)}'}")
    if origin.bindings:
        write_line(console, f"       bound, and not locked: {', '.join(sorted(origin.bindings))}")
    if locked.moved:
        write_line(console, "moved by --upgrade infra")
    for name, (old, new) in locked.moved.items():
        write_line(console, f"  {name}  {_shown(old)} -> {_shown(new)}")


def _shown(value: Json) -> str:
    return one_line(value if isinstance(value, str) else canonical_bytes(value).decode())
