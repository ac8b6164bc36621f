"""Paths as people see them."""

from pathlib import Path

from rdlc.adapters.workspace.files import find_project


def shown(path: Path) -> str:
    """The path from the current folder where it lies below it, else the whole one."""
    absolute = Path.cwd() / path
    here = Path.cwd()
    return str(absolute.relative_to(here)) if absolute.is_relative_to(here) else str(absolute)


def project_runs() -> Path | None:
    """The folder of the records of the project around the current folder, or in it; None without either."""
    project = find_project(Path.cwd())
    if project is not None:
        return project / "runs"
    # Runs that were collected need no project.
    return Path.cwd() / "runs" if (Path.cwd() / "runs").is_dir() else None
