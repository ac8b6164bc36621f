"""The estimate that `rdlc lock` shows: memory and least times on the locked hardware."""

from rich.console import Console

from rdlc.adapters.gpus import read_gpu_names
from rdlc.cli.console import write_line
from rdlc.cli.edge import Session
from rdlc.core.canonical import Json
from rdlc.core.estimate.estimate import Estimate, estimate
from rdlc.core.estimate.hardware import locked_hardware
from rdlc.core.estimate.settings import read_settings
from rdlc.core.estimate.words import describe_estimate, describe_problems
from rdlc.core.lockfile import RunLock


def estimate_lock(lock: RunLock) -> Estimate | None:
    """What a lock's run will need; None for a run without GPUs, or where model or hardware are not known."""
    recipe = lock.sections.recipe
    settings = read_settings(recipe.config, ranks=recipe.world_size)
    hardware = locked_hardware(lock, here=read_gpu_names())
    if settings is None or hardware is None:
        return None
    return estimate(settings, hardware)


def estimate_data(found: Estimate | None) -> Json:
    """The estimate in `--json`; null where there is none."""
    return None if found is None else found.payload()


def show_estimate(session: Session, console: Console, found: Estimate | None) -> None:
    """The estimate on stdout, and as warnings what lets the run fail or crawl."""
    if found is None:
        return
    for label, text in describe_estimate(found):
        write_line(console, f"{label:<9} {text}")
    for problem in describe_problems(found):
        session.warn(problem)
