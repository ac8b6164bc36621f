"""The sections of a run lock: what each one holds, and its payload in format version 1.

The payload is what the file shows and what the digest is over. A payload function never changes
once released: a new form gets a new function and a new `revision` of the lock.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from rdlc.core.canonical import Json, listing_digest
from rdlc.core.fields import Fields
from rdlc.core.spec import (
    ClusterRequest,
    RecipeRequest,
    RunRequest,
    read_cluster_request,
    read_data_request,
    read_recipe_request,
    read_relative_path,
    read_run_request,
)

SECTION_NAMES = ("run", "environment", "cluster", "code", "data", "recipe")


class Section(Protocol):
    """Anything with a payload: the mapping that is written and hashed."""

    def payload(self) -> Mapping[str, Json]:
        """The explicit mapping, in the order in which people read it."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class RunSection:
    """What the run is called, where it runs, what ends it and what it claims."""

    requested: RunRequest

    def payload(self) -> Mapping[str, Json]:
        """Version 1."""
        run = self.requested
        secrets = [{"from": "env", "name": name} for name in run.secrets]
        return {
            "requested": {
                "name": run.name,
                "target": run.target,
                "claim": run.claim,
                "limits": dict(sorted(run.limits.items())),
                "secrets": secrets,
                "allow": dict(sorted(run.allow.items())),
            }
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class EnvironmentSection:
    """What the Python of target `local` is made of, as far as it can move results.

    `instruction_set` holds the CPU's vendor and the vector extensions that kernels are chosen by.
    """

    python: str
    implementation: str
    system: str
    machine: str
    libc: str
    cpu_vendor: str
    instruction_set: tuple[str, ...]
    threads_per_worker: int
    distributions: Mapping[str, str]

    def payload(self) -> Mapping[str, Json]:
        """Version 1."""
        return {
            "resolved": {
                "python": self.python,
                "implementation": self.implementation,
                "system": self.system,
                "machine": self.machine,
                "libc": self.libc,
                "cpu_vendor": self.cpu_vendor,
                "instruction_set": list(self.instruction_set),
                "threads_per_worker": self.threads_per_worker,
                "distributions": dict(sorted(self.distributions.items())),
            }
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """One environment variable of the workers, and where its value comes from."""

    value: str
    origin: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ClusterSection:
    """The workers, how they lie on nodes, and the environment variables that they see."""

    requested: ClusterRequest
    nodes: int
    settings: Mapping[str, Setting]

    def payload(self) -> Mapping[str, Json]:
        """Version 1."""
        request = self.requested
        environment: dict[str, Json] = {
            name: {"value": setting.value, "origin": setting.origin} for name, setting in sorted(self.settings.items())
        }
        return {
            "requested": {
                "workers": request.workers,
                "cpus_per_worker": request.cpus_per_worker,
                "gpus_per_worker": request.gpus_per_worker,
            },
            "resolved": {"nodes": self.nodes, "environment": environment},
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class CodeSection:
    """The shipped files only: path below the root, with `/`, to sha256 in hex."""

    root: str
    package: str
    files: Mapping[str, str]

    @property
    def digest(self) -> str:
        """The digest of the sorted sha256 listing of the files."""
        return listing_digest(self.files)

    def payload(self) -> Mapping[str, Json]:
        """Version 1."""
        return {
            "requested": {"root": self.root, "package": self.package},
            "resolved": {"digest": self.digest, "files": dict(sorted(self.files.items()))},
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class DataSection:
    """Which data the run reads; generated data is named by its kind and parameters alone."""

    requested: Mapping[str, Json]
    resolved: Mapping[str, Json]

    def payload(self) -> Mapping[str, Json]:
        """Version 1."""
        return {
            "requested": dict(sorted(self.requested.items())),
            "resolved": dict(sorted(self.resolved.items())),
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class RecipeSection:
    """The entry point and its merged config; floats are the text that was given."""

    requested: RecipeRequest
    config: Mapping[str, Json]
    world_size: int

    @property
    def mode(self) -> str:
        """`exact` or `fast`: whether the determinism switches are set."""
        return "exact" if self.requested.deterministic else "fast"

    def payload(self) -> Mapping[str, Json]:
        """Version 1."""
        request = self.requested
        return {
            "requested": {
                "module": request.module,
                "config": request.config,
                "overrides": dict(sorted(request.overrides.items())),
                "seed": request.seed,
                "deterministic": request.deterministic,
                "max_failures": request.max_failures,
            },
            "resolved": {
                "determinism": self.mode,
                "world_size": self.world_size,
                "config": dict(sorted(self.config.items())),
            },
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class Sections:
    """All sections of a lock for target `local`."""

    run: RunSection
    environment: EnvironmentSection
    cluster: ClusterSection
    code: CodeSection
    data: DataSection
    recipe: RecipeSection

    def payloads(self) -> dict[str, Mapping[str, Json]]:
        """Section name to payload, in the order of the file."""
        return {
            "run": self.run.payload(),
            "environment": self.environment.payload(),
            "cluster": self.cluster.payload(),
            "code": self.code.payload(),
            "data": self.data.payload(),
            "recipe": self.recipe.payload(),
        }


def read_sections(fields: Fields) -> Sections:
    """The sections below a lock's top level; raises InputError with the address of a bad field."""
    return Sections(
        run=_read_run(fields.below("run")),
        environment=_read_environment(fields.below("environment")),
        cluster=_read_cluster(fields.below("cluster")),
        code=_read_code(fields.below("code")),
        data=_read_data(fields.below("data")),
        recipe=_read_recipe(fields.below("recipe")),
    )


def _read_run(section: Fields) -> RunSection:
    requested = section.below("requested")
    run = RunSection(requested=read_run_request(requested))
    requested.finish()
    section.finish()
    return run


def _read_environment(section: Fields) -> EnvironmentSection:
    resolved = section.below("resolved")
    environment = EnvironmentSection(
        python=resolved.text("python"),
        implementation=resolved.text("implementation"),
        system=resolved.text("system"),
        machine=resolved.text("machine"),
        libc=resolved.text("libc"),
        cpu_vendor=resolved.text("cpu_vendor"),
        instruction_set=resolved.texts("instruction_set"),
        threads_per_worker=resolved.count("threads_per_worker", least=1),
        distributions=resolved.table("distributions"),
    )
    resolved.finish()
    section.finish()
    return environment


def _read_cluster(section: Fields) -> ClusterSection:
    resolved = section.below("resolved")
    table = resolved.below("environment", default={})
    settings = {}
    for name in table.names():
        entry = table.below(name)
        settings[name] = Setting(value=entry.text("value"), origin=entry.text("origin"))
        entry.finish()
    cluster = ClusterSection(
        requested=read_cluster_request(section.below("requested")),
        nodes=resolved.count("nodes", least=1),
        settings=settings,
    )
    resolved.finish()
    section.finish()
    return cluster


def _read_code(section: Fields) -> CodeSection:
    requested, resolved = section.below("requested"), section.below("resolved")
    code = CodeSection(
        root=read_relative_path(requested, "root"),
        package=read_relative_path(requested, "package"),
        files=resolved.table("files"),
    )
    # Computed again from the files; the canonical form of the lock shows a wrong line.
    resolved.digest("digest")
    requested.finish()
    resolved.finish()
    section.finish()
    return code


def _read_data(section: Fields) -> DataSection:
    data = DataSection(requested=read_data_request(section.below("requested")), resolved=section.scalars("resolved"))
    section.finish()
    return data


def _read_recipe(section: Fields) -> RecipeSection:
    resolved = section.below("resolved")
    recipe = RecipeSection(
        requested=read_recipe_request(section.below("requested")),
        config=resolved.scalars("config"),
        world_size=resolved.count("world_size", least=1),
    )
    resolved.text("determinism", choices=("exact", "fast"))
    resolved.finish()
    section.finish()
    return recipe
