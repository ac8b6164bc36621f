"""A payload as a flat table: the address of each value, and the order in which people seek it."""

import re
from collections.abc import Iterator, Mapping

from rdlc.core.canonical import Json
from rdlc.core.document import child_address

_DEEPER = (Mapping, list, tuple)


def flatten(payload: Mapping[str, Json]) -> dict[str, Json]:
    """Address to value of all below; a list of single values is one value, `{}` is none."""
    return dict(_leaves(payload, ""))


def natural_order(name: str) -> tuple[list[tuple[int, str]], str]:
    """A sort key by which `layers.2` stands before `layers.10`."""
    parts = re.split("([0-9]+)", name)
    texts = [(0, part) if index % 2 == 0 else _number(part) for index, part in enumerate(parts)]
    return texts, name


def _number(digits: str) -> tuple[int, str]:
    # Compared by length and then as text: as numbers, without making one of a million digits.
    digits = digits.lstrip("0")
    return len(digits), digits


def _leaves(value: Json, address: str) -> Iterator[tuple[str, Json]]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _leaves(item, child_address(address, key))
    elif isinstance(value, list | tuple) and any(isinstance(i, _DEEPER) for i in value):
        for index, item in enumerate(value):
            yield from _leaves(item, f"{address}[{index}]")
    elif address:
        yield address, list(value) if isinstance(value, tuple) else value
