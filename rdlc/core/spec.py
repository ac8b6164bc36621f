"""The run spec: what is asked for, before anything is resolved."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from rdlc.core.canonical import Json
from rdlc.core.data.origin import Origin
from rdlc.core.data.request import read_data_request, read_model_request
from rdlc.core.document import Document, parse_document
from rdlc.core.fields import Fields
from rdlc.core.image.section import ImageRequest, read_image_request
from rdlc.core.infra.request import InfraRequest, read_infra_request
from rdlc.core.level import CLAIMS
from rdlc.core.network import NetworkRequest, find_network_mistakes, read_network_request
from rdlc.core.packages.request import PackagesRequest, read_packages_request
from rdlc.core.relative_path import read_relative_path
from rdlc.core.storage import StorageRequest, read_storage_request
from rdlc.core.variables import is_reserved
from rdlc.errors import InputError

SCHEMA = "rdlc/run-spec/v1"
TARGETS = ("local", "docker", "eks")
RECIPE_KEYS = ("module", "config", "overrides", "seed", "deterministic", "max_failures")
NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")
_MODULE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)+")
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*")


@dataclass(frozen=True, kw_only=True, slots=True)
class RecipeRequest:
    """Which recipe module, with which config file and which values changed."""

    module: str
    config: str
    overrides: Mapping[str, Json]
    seed: int
    deterministic: bool
    max_failures: int

    @property
    def package(self) -> str:
        """The folder of the recipe: the first part of the module."""
        return self.module.partition(".")[0]


@dataclass(frozen=True, kw_only=True, slots=True)
class ClusterRequest:
    """How many workers, and what each one gets."""

    workers: int
    cpus_per_worker: int
    gpus_per_worker: int


@dataclass(frozen=True, kw_only=True, slots=True)
class RunRequest:
    """The name of a run, where it runs, what ends it, and what it claims.

    `network` None asks nothing of it, `storage` None keeps checkpoints in the record.
    """

    name: str
    target: str
    claim: str
    limits: Mapping[str, str]
    secrets: tuple[str, ...]
    allow: Mapping[str, str]
    network: NetworkRequest | None = None
    storage: StorageRequest | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class RunSpec:
    """One run as it was asked for; `image` is None for target local, `packages` without extra packages.

    `infra` is None for any target but eks, `model` without pretrained weights.
    """

    run: RunRequest
    cluster: ClusterRequest
    recipe: RecipeRequest
    data: Mapping[str, Json]
    image: ImageRequest | None = None
    packages: PackagesRequest | None = None
    infra: InfraRequest | None = None
    model: Origin | None = None


def read_spec(data: bytes, *, name: str, settings: Mapping[str, str]) -> RunSpec:
    """The run spec in the bytes of a file, with `--set` values laid over it.

    `settings` maps the address of a value to the YAML text of its new value. Raises InputError with
    file, line and field.
    """
    document = parse_document(data, name=name)
    if isinstance(document.value, Mapping) and "sections" in document.value:
        raise InputError("this is a run lock, and a run spec is due here", file=name, hint=f"`rdlc verify {name}`")
    document = apply_settings(document, settings)
    fields = Fields.of(document)
    _check_schema(fields)
    spec = RunSpec(
        run=read_run_request(fields),
        cluster=read_cluster_request(fields.below("cluster")),
        recipe=read_recipe_request(fields.below("recipe")),
        data=read_data_request(fields.below("data"), has_model=fields.has("model")),
        image=_read_image(fields),
        packages=read_packages_request(fields, "packages"),
        infra=_read_infra(fields),
        model=read_model_request(fields.below("model")) if fields.has("model") else None,
    )
    fields.finish()
    for field, message in find_network_mistakes(spec.run.network, gpus_per_worker=spec.cluster.gpus_per_worker):
        section, _, key = field.rpartition(".")
        raise fields.below(section).error(key, message, "leave `transport` out, or ask for GPUs")
    return spec


def _read_image(fields: Fields) -> ImageRequest | None:
    if fields.text("target") == "local":
        if fields.has("image"):
            raise fields.error("image", "target `local` runs in no image", "`target: docker`, or leave `image` out")
        return None
    return read_image_request(fields.below("image"))


def _read_infra(fields: Fields) -> InfraRequest | None:
    target = fields.text("target")
    if target == "eks":
        return read_infra_request(fields.below("infra"))
    if fields.has("infra"):
        raise fields.error("infra", f"target `{target}` has no infrastructure", "`target: eks`, or leave `infra` out")
    return None


def apply_settings(document: Document, settings: Mapping[str, str]) -> Document:
    """The document with single values replaced; `recipe.X` means `recipe.overrides.X` for a config key."""
    value = document.value
    lines, overlaid = dict(document.lines), []
    for address, text in settings.items():
        parts = address.split(".")
        if parts[0] == "recipe" and len(parts) == 2 and parts[1] not in RECIPE_KEYS:
            parts.insert(1, "overrides")
        if not all(parts):
            raise InputError(f"`--set {address}={text}`: an address is words with dots between")
        data = text.encode("utf-8", "surrogateescape")
        parsed = parse_document(data or b'""', name=f"--set {address}").value
        value = _replaced(value, parts, parsed, address)
        overlaid.append(".".join(parts))
    return Document(name=document.name, value=value, lines=lines, overlaid=tuple(overlaid))


def read_recipe_request(fields: Fields) -> RecipeRequest:
    """The `recipe` part of a spec or of a lock's request."""
    module = fields.text("module")
    if not _MODULE.fullmatch(module):
        raise fields.error("module", f"must name a module in a package, as `fsdp_qwen.train`, not `{module}`")
    request = RecipeRequest(
        module=module,
        config=read_relative_path(fields, "config"),
        overrides=fields.scalars("overrides"),
        seed=fields.count("seed", default=0),
        deterministic=fields.flag("deterministic", default=True),
        max_failures=fields.count("max_failures", default=0, most=100),
    )
    fields.finish()
    return request


def read_cluster_request(fields: Fields) -> ClusterRequest:
    """The `cluster` part of a spec or of a lock's request."""
    request = ClusterRequest(
        workers=fields.count("workers", least=1, most=1024),
        cpus_per_worker=fields.count("cpus_per_worker", default=1, least=1, most=1024),
        gpus_per_worker=fields.count("gpus_per_worker", default=0, most=16),
    )
    fields.finish()
    return request


def read_run_request(fields: Fields) -> RunRequest:
    """The `run` part of a lock's request, or those keys at the top of a spec."""
    name = fields.text("name")
    if not NAME.fullmatch(name):
        raise fields.error("name", f"must be small letters, digits, `.`, `_`, `-`, at most 63, not `{name}`")
    target = fields.text("target", choices=TARGETS)
    limits = fields.below("limits", default={})
    read = {key: limits.decimal(key) for key in ("max_hours", "no_step_minutes") if limits.has(key)}
    limits.finish()
    return RunRequest(
        name=name,
        target=target,
        claim=fields.text("claim", default="execution", choices=CLAIMS),
        limits=read,
        secrets=_read_secrets(fields),
        allow=fields.table("allow"),
        network=read_network_request(fields, "network"),
        storage=read_storage_request(fields, "storage", target=target),
    )


def _read_secrets(fields: Fields) -> tuple[str, ...]:
    names = []
    for secret in fields.each("secrets"):
        name = secret.text("name")
        if not _VARIABLE.fullmatch(name):
            raise secret.error("name", "must be the name of an environment variable, as `HF_TOKEN`")
        if is_reserved(name):
            raise secret.error("name", f"`{name}` steers what runs, and a secret is not in the lock")
        secret.text("from", default="env", choices=("env",))
        secret.finish()
        names.append(name)
    return tuple(sorted(set(names)))


def _check_schema(fields: Fields) -> None:
    schema = fields.text("schema")
    if schema == SCHEMA:
        return
    family, _, version = schema.rpartition("/v")
    if family == "rdlc/run-spec" and version.isdigit():
        raise fields.error(
            "schema", f"is `{schema}`, and this rdlc reads up to `{SCHEMA}`", "`pip install --upgrade rdlc`"
        )
    raise fields.error("schema", f"must be `{SCHEMA}`, not `{schema}`: this is not a run spec")


def _replaced(value: Json, parts: list[str], new: Json, address: str) -> Json:
    if not parts:
        return new
    if value is not None and not isinstance(value, Mapping):
        raise InputError(f"`--set {address}`: there is no `{parts[0]}` below a single value")
    copy = dict(value or {})
    copy[parts[0]] = _replaced(copy.get(parts[0]), parts[1:], new, address)
    return copy
