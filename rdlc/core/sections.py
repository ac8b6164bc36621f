"""The sections of a run lock: what each one holds, and its payload in format version 1.

The payload is what the file shows and what the digest is over. A payload function never changes
once released: a new form gets a new function and a new `revision` of the lock.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from rdlc.core.canonical import Json, listing_digest
from rdlc.core.data.files import LockedFiles
from rdlc.core.data.origin import Origin
from rdlc.core.image.section import ImageSection
from rdlc.core.infra.section import InfraSection
from rdlc.core.packages.section import PackagesSection
from rdlc.core.spec import ClusterRequest, RecipeRequest, RunRequest

# In the order of the file. `environment` belongs to target local, `image` to the others; `packages`
# stands there only where extra packages are asked for, `infra` for target eks.
SECTION_NAMES = ("run", "image", "environment", "packages", "cluster", "infra", "code", "data", "recipe")


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
        network: dict[str, Json] = {} if run.network is None else {"network": run.network.payload()}
        storage: dict[str, Json] = {} if run.storage is None else {"storage": run.storage.payload()}
        return {
            "requested": {
                "name": run.name,
                "target": run.target,
                "claim": run.claim,
                **network,
                **storage,
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
    """Which data the run reads; generated data is named by its kind and parameters alone.

    `model` holds the pretrained weights that `model_origin` asks for, `dataset` the text of kind `text`;
    None where there is none.
    """

    requested: Mapping[str, Json]
    resolved: Mapping[str, Json]
    model_origin: Origin | None = None
    model: LockedFiles | None = None
    dataset: LockedFiles | None = None

    def payload(self) -> Mapping[str, Json]:
        """Version 1; `model` and `dataset` stand there only where they are asked for."""
        asked: dict[str, Json] = {} if self.model_origin is None else {"model": self.model_origin.payload()}
        held = {"model": self.model, "dataset": self.dataset}
        files: dict[str, Json] = {name: locked.payload() for name, locked in held.items() if locked is not None}
        return {
            "requested": dict(sorted({**self.requested, **asked}.items())),
            "resolved": dict(sorted({**self.resolved, **files}.items())),
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
    """All sections of a lock: with `environment` for target local, with `image` for the others.

    `packages` is None where no extra packages are asked for, `infra` for any target but eks.
    """

    run: RunSection
    cluster: ClusterSection
    code: CodeSection
    data: DataSection
    recipe: RecipeSection
    environment: EnvironmentSection | None = None
    image: ImageSection | None = None
    packages: PackagesSection | None = None
    infra: InfraSection | None = None

    def payloads(self) -> dict[str, Mapping[str, Json]]:
        """Section name to payload, in the order of the file."""
        held: dict[str, Section | None] = {
            "run": self.run,
            "image": self.image,
            "environment": self.environment,
            "packages": self.packages,
            "cluster": self.cluster,
            "infra": self.infra,
            "code": self.code,
            "data": self.data,
            "recipe": self.recipe,
        }
        return {name: section.payload() for name, section in held.items() if section is not None}

    @property
    def local_environment(self) -> EnvironmentSection:
        """The environment of a lock for target local, which always has one."""
        assert self.environment is not None
        return self.environment
