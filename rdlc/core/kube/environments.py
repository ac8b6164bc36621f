"""A container's variables, held against those that were asked for."""

from collections.abc import Mapping
from typing import Protocol

from rdlc.core.kube.due import ADDED
from rdlc.core.kube.kept import NOT_KEPT


class HasEnvironment(Protocol):
    """A container as it runs, or as an object asks for it."""

    @property
    def environment(self) -> Mapping[str, str]:
        """Its variables as they are kept."""
        ...


def compare_environment(
    asked: Mapping[str, str], held: HasEnvironment, *, optional: frozenset[str]
) -> tuple[str, bool | None]:
    """What is not as asked, or how many variables are; None where a value is not kept on either side."""
    found = held.environment
    words = [_difference(name, value, found.get(name)) for name, value in asked.items() if found.get(name) != value]
    extra = [name for name in found if name not in asked and name not in ADDED and name not in optional]
    words += [f"{name} {found[name]} (not locked)" for name in sorted(extra)]
    if words:
        return "; ".join(words), False
    count = f"{len(asked)} variable{'' if len(asked) == 1 else 's'}"
    unknown = sum(value == NOT_KEPT for value in asked.values())
    return (f"{count}, {unknown} of them not kept and not compared", None) if unknown else (count, True)


def _difference(name: str, locked: str, found: str | None) -> str:
    return f"{name} {'none' if found is None else found or '(empty)'} (locked {locked or '(empty)'})"
