"""What a lock's sections say of each other: derived again from what was asked for, never believed."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rdlc.core.canonical import Json
from rdlc.core.data.files import find_missing_digest
from rdlc.core.data.request import dataset_origin
from rdlc.core.determinism import worker_settings
from rdlc.core.document import child_address
from rdlc.core.infra.section import find_infra_contradictions
from rdlc.core.network import NetworkRequest, find_network_mistakes
from rdlc.core.packages.derivation import find_wrong_packages
from rdlc.core.sections import ClusterSection, CodeSection, DataSection, Sections
from rdlc.core.spec import ClusterRequest
from rdlc.core.text import one_line

NODES = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Contradiction:
    """A value that does not follow from what was asked for: its section, its address, what is wrong."""

    section: str
    address: str
    message: str


def derive_cluster(
    request: ClusterRequest, *, deterministic: bool, network: NetworkRequest | None = None
) -> ClusterSection:
    """The cluster that a request resolves to: all its workers on one node."""
    settings = worker_settings(request, is_exact=deterministic, network=network)
    return ClusterSection(requested=request, nodes=NODES, settings=settings)


def derive_data(request: Mapping[str, Json]) -> dict[str, Json]:
    """What a request for data resolves to beside its files; random tokens have nothing that could be learned.

    Neither can text show it of which nothing is held out.
    """
    origin = dataset_origin(request)
    if origin is not None:
        return {"source": origin.kind, "shows_learning": request["held_out_percent"] != 0}
    return {"source": "generated", "shows_learning": request["kind"] != "random-tokens"}


def describe_missing_module(module: str, files: Mapping[str, str]) -> str | None:
    """Why `python -m module` would not run one of the shipped files; None if it would."""
    path = module.replace(".", "/")
    package, *inner = path.split("/")
    if f"{path}.py" not in files and f"{path}/__main__.py" not in files:
        return f"the recipe has no module `{module}`"
    for depth in range(len(inner)):
        initial = "/".join((package, *inner[:depth], "__init__.py"))
        if initial not in files:
            # A folder without it gives way to any package of that name that is installed.
            return f"`{initial}` is missing: without it Python may take another package of that name"
    return None


def find_contradictions(sections: Sections) -> Iterator[Contradiction]:
    """Everything in a lock that is not what its own requests resolve to."""
    cluster, recipe = sections.cluster, sections.recipe
    network = sections.run.requested.network
    wanted = derive_cluster(cluster.requested, deterministic=recipe.requested.deterministic, network=network)
    for address, message in find_network_mistakes(network, gpus_per_worker=cluster.requested.gpus_per_worker):
        yield _contradiction("run", f"run.requested.{address}", message)
    yield from _check("cluster", "nodes", cluster.nodes, wanted.nodes)
    yield from _check_settings(cluster, wanted)
    if sections.environment is not None:
        threads = sections.environment.threads_per_worker
        yield from _check("environment", "threads_per_worker", threads, cluster.requested.cpus_per_worker)
    for address, message in find_wrong_packages(sections):
        yield _contradiction("packages", address, message)
    for address, message in find_infra_contradictions(sections.infra) if sections.infra else ():
        yield _contradiction("infra", address, message)
    yield from _check_mapping("data", sections.data.resolved, derive_data(sections.data.requested))
    yield from _check_files(sections.data)
    yield from _check_module(recipe.requested.module, recipe.requested.package, sections.code)
    yield from _check("recipe", "world_size", recipe.world_size, cluster.requested.workers)


def _check(section: str, key: str, found: Json, wanted: Json) -> Iterator[Contradiction]:
    # 1 and true are equal in Python, and two values here.
    if type(found) is not type(wanted) or found != wanted:
        address = child_address(f"{section}.resolved", key)
        yield _contradiction(section, address, f"must be {_shown(wanted)} by what was asked for, not {_shown(found)}")


def _check_mapping(section: str, found: Mapping[str, Json], wanted: Mapping[str, Json]) -> Iterator[Contradiction]:
    for key in sorted(found.keys() | wanted.keys()):
        address = child_address(f"{section}.resolved", key)
        if key not in wanted:
            yield _contradiction(section, address, "does not follow from anything that was asked for")
        elif key not in found:
            yield _contradiction(section, address, f"is missing: {_shown(wanted[key])} is due")
        else:
            yield from _check(section, key, found[key], wanted[key])


def _check_files(data: DataSection) -> Iterator[Contradiction]:
    for name, locked in (("model", data.model), ("dataset", data.dataset)):
        missing = find_missing_digest(locked) if locked is not None else None
        if missing is not None:
            address = child_address(f"data.resolved.{name}.files", missing)
            yield _contradiction("data", address, "has no sha256, and the evidence says that it is known")


def _check_settings(found: ClusterSection, wanted: ClusterSection) -> Iterator[Contradiction]:
    for name in sorted(found.settings.keys() | wanted.settings.keys()):
        address = child_address("cluster.resolved.environment", name)
        if name not in wanted.settings:
            yield _contradiction("cluster", address, "is no variable that rdlc sets for workers")
        elif name not in found.settings:
            yield _contradiction("cluster", address, "is missing")
        elif found.settings[name] != wanted.settings[name]:
            due, held = wanted.settings[name], found.settings[name]
            words = f"{_shown(due.value)} from {_shown(due.origin)}"
            message = f"must be {words}, not {_shown(held.value)} from {_shown(held.origin)}"
            yield _contradiction("cluster", address, message)


def _check_module(module: str, package: str, code: CodeSection) -> Iterator[Contradiction]:
    address = "recipe.requested.module"
    if package != code.package:
        message = f"must be a module of the shipped package `{code.package}`, not `{module}`"
        yield _contradiction("recipe", address, message)
    elif missing := describe_missing_module(module, code.files):
        yield _contradiction("recipe", address, missing)


def _contradiction(section: str, address: str, message: str) -> Contradiction:
    return Contradiction(section=section, address=address, message=f"`{one_line(address)}`: {message}")


def _shown(value: Json) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return f"`{one_line(text, limit=60)}`"
