"""The Terraform processes of a test, found by where they work."""

from pathlib import Path

from rdlc.adapters.ray.processes import all_processes


def terraforms_below(folder: Path) -> list[int]:
    """The process ids of Terraform and its providers that work somewhere below the folder."""
    found = []
    for process in all_processes():
        place, program = Path("/proc", str(process.pid), "cwd"), Path("/proc", str(process.pid), "exe")
        try:
            is_ours = place.resolve().is_relative_to(folder) and program.resolve().name.startswith("terraform")
        except OSError:
            continue
        if is_ours:
            found.append(process.pid)
    return found
