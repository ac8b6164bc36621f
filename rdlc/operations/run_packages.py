"""The extra packages of a run: where they come from, and what setting them up took."""

from collections.abc import Mapping
from pathlib import Path

from rdlc.core.lockfile import RunLock
from rdlc.core.packages.installed import NODE_LIMIT_BYTES, SETUP, describe_setup
from rdlc.core.packages.runtime import installer_environment
from rdlc.core.packages.section import PackagesSection
from rdlc.core.text import one_line
from rdlc.errors import InputError, RdlcError
from rdlc.operations.machine import Machine
from rdlc.operations.reporting import Reporter
from rdlc.operations.wheelhouse import lacking, wheelhouse_path

_SHOWN = 5


def extras_of(lock: RunLock) -> PackagesSection | None:
    """The packages section of a lock that adds any package."""
    section = lock.sections.packages
    return section if section is not None and section.extras else None


def refuse_without_installer(lock: RunLock, machine: Machine) -> None:
    """Raises RdlcError if this Python lacks what Ray installs extra packages with."""
    missing = machine.missing_modules("pip", "virtualenv") if extras_of(lock) else ()
    if missing:
        names = " and ".join(f"`{name}`" for name in missing)
        how = "python -m ensurepip" if "pip" in missing else "python -m pip install virtualenv"
        raise RdlcError(f"this Python lacks {names}, which Ray installs extra packages with", hint=f"`{how}`")


def warn_of_yanked(lock: RunLock, reporter: Reporter) -> None:
    """Says which files were yanked from the index already when they were locked; they are installed all the same."""
    section, origin = extras_of(lock), lock.provenance.packages
    yanked = origin.yanked if section is not None and origin is not None else {}
    for file, reason in sorted(yanked.items()):
        why = f": {one_line(reason)}" if reason else ""
        reporter.warn(f"`{one_line(file)}` is yanked from the index, and installed as locked{why}")


def find_wheels(lock: RunLock, given: Path, machine: Machine) -> Path | None:
    """The wheelhouse beside the lock, every file of it with its locked bytes; None where an index is asked.

    Raises RdlcError naming what is missing or has other bytes.
    """
    section = extras_of(lock)
    if section is None or section.requested.install != "wheelhouse":
        return None
    folder = wheelhouse_path(given)
    if bad := lacking(section, folder, machine):
        names = ", ".join(f"`{extra.file}`" for extra in bad[:_SHOWN])
        more = f" and {len(bad) - _SHOWN} more" if len(bad) > _SHOWN else ""
        raise RdlcError(
            f"the wheelhouse lacks {names}{more}, or has other bytes than the lock under the name",
            file=str(folder),
            hint="`rdlc lock SPEC` puts back what is missing",
        )
    return folder.resolve()


def find_installer(lock: RunLock, wheels: Path | None, machine: Machine) -> Mapping[str, str]:
    """The environment variables by which pip reaches the index of a lock; none where it asks no index."""
    section = extras_of(lock)
    if section is None or wheels is not None:
        return {}
    return installer_environment(machine.shell(), index=machine.package_index(section.requested.index))


def observe_setup(lock: RunLock, path: Path, machine: Machine) -> dict[str, str]:
    """What setting the packages up took on each node, as a record observes it."""
    if extras_of(lock) is None:
        return {}
    try:
        reports = [
            machine.read(file, limit_bytes=NODE_LIMIT_BYTES, what="a node's report")
            for file in machine.node_reports(path)
        ]
        return {SETUP: describe_setup(reports)}
    except InputError as error:
        return {SETUP: f"not measured: {error.message}"}
