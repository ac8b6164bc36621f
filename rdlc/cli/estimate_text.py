"""The estimate that `rdlc lock` shows: memory and least times on the locked hardware."""

from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from rdlc.adapters.gpus import read_gpu_names
from rdlc.cli.console import write_line
from rdlc.cli.edge import Session
from rdlc.cli.wiring import LocalWorkspace
from rdlc.core.canonical import Json
from rdlc.core.data.files import LockedFiles
from rdlc.core.data.origin import MODEL
from rdlc.core.estimate.estimate import Estimate, estimate
from rdlc.core.estimate.hardware import locked_hardware
from rdlc.core.estimate.settings import is_pretrained, read_settings
from rdlc.core.estimate.shapes import CONFIG_FILE, CONFIG_LIMIT_BYTES, ModelShape, read_shape
from rdlc.core.estimate.words import describe_estimate, describe_problems
from rdlc.core.lockfile import RunLock
from rdlc.errors import RdlcError
from rdlc.operations.data_source import DataSource


@dataclass(frozen=True, kw_only=True, slots=True)
class PretrainedShapes:
    """The shapes of pretrained weights, read from the one file of theirs that holds it."""

    session: Session
    project: Path
    data: DataSource

    def find(self, lock: RunLock) -> ModelShape | None:
        """The shape of a lock's weights; None where it is not known, and a note says why."""
        origin, locked = lock.sections.data.model_origin, lock.sections.data.model
        if origin is None or locked is None or CONFIG_FILE not in locked.files:
            return None
        alone = LockedFiles(
            evidence=locked.evidence, files={CONFIG_FILE: locked.files[CONFIG_FILE]}, commit=locked.commit
        )
        try:
            path = Path(self.data.fetch(origin, alone, what=MODEL, project=self.project).path) / CONFIG_FILE
            text = LocalWorkspace().read(path, limit_bytes=CONFIG_LIMIT_BYTES, what="the model's config")
            return read_shape(text, name=str(path))
        except RdlcError as error:
            self.session.note(f"no estimate: the shape of the model is not known: {error.message}")
            return None


def estimate_lock(lock: RunLock, shapes: PretrainedShapes | None = None) -> Estimate | None:
    """What a lock's run will need; None for a run without GPUs, or where model or hardware are not known."""
    recipe = lock.sections.recipe
    hardware = locked_hardware(lock, here=read_gpu_names())
    if hardware is None:
        return None
    shape = shapes.find(lock) if shapes is not None and is_pretrained(recipe.config) else None
    settings = read_settings(recipe.config, ranks=recipe.world_size, pretrained=shape)
    return None if settings is None else estimate(settings, hardware)


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
