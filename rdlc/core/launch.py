"""What the recipe is started with: its config, its environment, its command."""

from collections.abc import Mapping
from dataclasses import dataclass

from rdlc.core.canonical import Json
from rdlc.core.data.files import DataFolders, FetchedFolder, LockedFiles
from rdlc.core.data.origin import DATASET, MODEL, Origin
from rdlc.core.data.request import dataset_origin
from rdlc.core.lockfile import RunLock
from rdlc.core.packages.runtime import packages_config
from rdlc.core.sections import DataSection
from rdlc.core.variables import MATTERS, PASSED
from rdlc.errors import RdlcError

RECIPE_FORMAT = 1

_NO_FOLDERS = DataFolders()
_ORIGIN_KEYS = ("path", "repo", "revision", "files")


@dataclass(frozen=True, kw_only=True, slots=True)
class DriverEnvironment:
    """The whole environment of the driver, and which variables of the shell were left out on purpose."""

    values: Mapping[str, str]
    ignored: tuple[str, ...]


def recipe_config(
    lock: RunLock,
    *,
    run_name: str,
    scratch: str,
    wheels: str | None = None,
    storage: str | None = None,
    folders: DataFolders = _NO_FOLDERS,
) -> dict[str, Json]:
    """The JSON document that the recipe takes: everything it needs, all of it from the lock.

    `wheels` is the folder of the wheelhouse, None if extra packages come from an index. `storage` is where
    checkpoints go, an absolute path or an address, None for the record itself; `folders` are where the
    workers find pretrained weights and text; without them, each node fetches what comes from the Hub, and
    RdlcError is raised for what comes from elsewhere.
    """
    sections = lock.sections
    cluster, recipe = sections.cluster.requested, sections.recipe
    packages = sections.packages
    extra: dict[str, Json] = {}
    if packages is not None and packages.extras:
        extra["packages"] = packages_config(packages, wheels=wheels)
    model = sections.data.model_origin
    if model is not None:
        extra["model"] = _folder_config(MODEL, model, sections.data.model, folders.model, scratch=scratch)
    if storage is not None:
        extra["storage"] = {"path": storage}
    return {
        "format": RECIPE_FORMAT,
        "run_name": run_name,
        "seed": recipe.requested.seed,
        "num_workers": cluster.workers,
        "cpus_per_worker": cluster.cpus_per_worker,
        "gpus_per_worker": cluster.gpus_per_worker,
        "max_failures": recipe.requested.max_failures,
        "code_digest": sections.code.digest,
        "scratch": scratch,
        "determinism": {"mode": recipe.mode, "environment": locked_environment(lock)},
        "data": _data_config(sections.data, folders, scratch=scratch),
        "recipe": dict(recipe.config),
        **extra,
    }


def _data_config(data: DataSection, folders: DataFolders, *, scratch: str) -> dict[str, Json]:
    origin = dataset_origin(data.requested)
    if origin is None:
        return dict(data.requested)
    kept = {key: value for key, value in data.requested.items() if key not in _ORIGIN_KEYS}
    folder = _folder_config(DATASET, origin, data.dataset, folders.dataset, scratch=scratch)
    return {"separator": None, **kept, **folder}


def _folder_config(
    what: str, origin: Origin, locked: LockedFiles | None, folder: FetchedFolder | None, *, scratch: str
) -> dict[str, Json]:
    """A folder as the recipe's config has it: one that is there, or one that each node fetches from the Hub."""
    if folder is not None:
        return folder.config()
    assert locked is not None, "the reader and the resolver give an origin its files"
    if origin.kind != "hub":
        raise RdlcError(
            f"`{origin.place}` does not reach the workers of this target, which fetch from the Hub alone",
            field=f"data.requested.{'model.path' if what == MODEL else 'path'}",
            hint="`repo: ORG/NAME`, or target `local`",
        )
    there = FetchedFolder(
        path=f"{scratch}/data/{what}", digests={name: file.sha256 for name, file in locked.files.items()}
    )
    return {**there.config(), "source": {"kind": what, "repo": origin.place, "commit": locked.commit}}


def locked_environment(lock: RunLock) -> dict[str, str]:
    """The variables that every worker must see, by the lock."""
    return {name: setting.value for name, setting in lock.sections.cluster.settings.items()}


def driver_environment(
    lock: RunLock,
    shell: Mapping[str, str],
    *,
    code: str,
    secrets: Mapping[str, str],
    installer: Mapping[str, str] | None = None,
) -> DriverEnvironment:
    """What the driver gets: little of the shell, the locked variables, the secrets, and the code's path.

    `installer` is what reaches the index of extra packages. Everything else of the shell stays out, so
    that it cannot move a result; what could have is named.
    """
    locked = locked_environment(lock)
    passed = {name: shell[name] for name in PASSED if name in shell}
    ours = {"PYTHONPATH": code, "PYTHONNOUSERSITE": "1"}
    # Ours come last: nothing may say which code runs, and no secret may take the place of a locked value.
    values = {"LANG": "C.UTF-8", **passed, **(installer or {}), **secrets, **locked, **ours}
    ignored = sorted(name for name, value in shell.items() if name.startswith(MATTERS) and values.get(name) != value)
    return DriverEnvironment(values=values, ignored=tuple(ignored))


def total_steps(lock: RunLock) -> int | None:
    """How many steps the lock asks for; None where its config does not tell."""
    steps = lock.sections.recipe.config.get("steps")
    return steps if isinstance(steps, int) and not isinstance(steps, bool) else None
