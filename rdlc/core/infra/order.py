"""What is to stand there: the files, the variables and the lock that they come from."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from rdlc.core.canonical import Json, digest, digest_of_bytes
from rdlc.core.text import one_line
from rdlc.errors import InputError


@dataclass(frozen=True, kw_only=True, slots=True)
class Deviation:
    """One locked value that was set aside on purpose, and why."""

    path: str
    locked: str
    used: str
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class InfraOrder:
    """One stack as a lock and its bindings ask for it.

    `files` are exactly the locked Terraform files, path below the root to bytes. `variables` are all
    root variables, identity and binding. `infra_digest` is the digest of the lock's infra section.
    """

    name: str
    region: str
    lock_id: str
    infra_digest: str
    files: Mapping[str, bytes]
    variables: Mapping[str, Json]
    deviations: tuple[Deviation, ...] = ()

    @property
    def digest(self) -> str:
        """One digest for everything that Terraform gets: equal orders plan the same."""
        files = {path: digest_of_bytes(data) for path, data in self.files.items()}
        return digest({"files": files, "variables": dict(self.variables)})


def substitute(order: InfraOrder, settings: Mapping[str, str], *, reason: str) -> InfraOrder:
    """The order with other values for some variables, each recorded as a deviation with its reason.

    `settings` maps `infra.VARIABLE`, or `infra.VARIABLE.KEY` for one of several, to the value to use. Only
    texts can be set aside so: versions, releases and ids. Raises InputError for what is none.
    """
    variables, deviations = dict(order.variables), list(order.deviations)
    for path, used in settings.items():
        name, key = _split(path, variables)
        held = variables[name]
        locked = held.get(key) if isinstance(held, Mapping) and key else held
        if not _is_text(locked) or bool(key) != isinstance(held, Mapping):
            raise InputError(f"`{one_line(path)}` is no version, release or id, and cannot be substituted")
        variables[name] = {**held, key: used} if isinstance(held, Mapping) else used
        shown = "not set" if locked is None else str(locked)
        deviations.append(Deviation(path=path, locked=shown, used=used, reason=reason))
    return replace(order, variables=variables, deviations=tuple(deviations))


def _split(path: str, variables: Mapping[str, Json]) -> tuple[str, str]:
    """The variable, and the key in it or ""."""
    room, _, below = path.partition(".")
    name, _, key = below.partition(".")
    held = variables.get(name)
    is_known = name in variables and (not key or (isinstance(held, Mapping) and key in held))
    if room != "infra" or not is_known:
        known = ", ".join(f"`{path}`" for path in _paths(variables))
        raise InputError(f"`--substitute {one_line(path)}` names no infra variable", hint=f"known: {known}")
    return name, key


def _paths(variables: Mapping[str, Json]) -> Iterator[str]:
    for name, value in sorted(variables.items()):
        if isinstance(value, Mapping):
            yield from (f"infra.{name}.{key}" for key, item in sorted(value.items()) if _is_text(item))
        elif _is_text(value):
            yield f"infra.{name}"


def _is_text(value: Json) -> bool:
    return value is None or isinstance(value, str)
