"""The root variables of a Terraform root: their types, their defaults, and whether they identify a run.

A description ends with `(identity)` or `(binding)`. Identity is locked and hashed; a binding places
the run, in an account or a zone, and comes from a file of its own.
"""

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rdlc.core.canonical import Json
from rdlc.core.document import CONTROL, NUMBER_LIMIT
from rdlc.core.infra.hcl import Block
from rdlc.core.text import one_line

_ROLE = re.compile(r"\((identity|binding)\)\.?\s*")
_TYPE = re.compile(r"(?:(list|set|map)\((string|number|bool)\))|(string|number|bool)")
_DECIMAL = re.compile(r"-?[0-9]+(\.[0-9]+([eE][-+]?[0-9]+)?|[eE][-+]?[0-9]+)")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,127}")
_KNOWN = ("type", "description", "default", "nullable", "sensitive", "ephemeral")


@dataclass(frozen=True, kw_only=True, slots=True)
class VariableType:
    """A type: what it holds, and in what (`list`, `set`, `map`, or "" for a single value)."""

    element: str
    collection: str = ""

    def __str__(self) -> str:
        return f"{self.collection}({self.element})" if self.collection else self.element


@dataclass(frozen=True, kw_only=True, slots=True)
class Variable:
    """One root variable; `default` counts only if it `has_default`, and is in canonical form."""

    name: str
    type: VariableType
    is_binding: bool
    has_default: bool
    default: Json
    is_nullable: bool
    description: str

    @property
    def role(self) -> str:
        """`binding` or `identity`."""
        return "binding" if self.is_binding else "identity"


def read_variables(blocks: Iterator[Block]) -> dict[str, Variable]:
    """The `variable` blocks of a root by name, sorted; raises InputError with file and line."""
    found: dict[str, Variable] = {}
    for block in blocks:
        variable = _read_variable(block)
        if variable.name in found:
            raise block.error(f"the variable `{variable.name}` is declared twice")
        found[variable.name] = variable
    return dict(sorted(found.items()))


def canonical_value(variable: Variable, value: Json) -> Json:
    """The one form of a value for a variable; raises ValueError saying what it must be.

    Sets are sorted and lose doubles, mappings are sorted. A number with a point is the text given.
    """
    if value is None:
        if variable.is_nullable:
            return None
        raise ValueError("must have a value")
    kind = variable.type
    if not kind.collection:
        return _single(kind.element, value, str(kind))
    if kind.collection == "map":
        if not isinstance(value, Mapping):
            raise _unfit(kind, value)
        return {_plain(key): _single(kind.element, value[key], str(kind)) for key in sorted(value)}
    if not isinstance(value, list | tuple):
        raise _unfit(kind, value)
    items = [_single(kind.element, item, str(kind)) for item in value]
    return sorted_set(items) if kind.collection == "set" else items


def sorted_set(items: Sequence[Json]) -> list[Json]:
    """Single values of one type, sorted and without doubles."""
    # Numbers with a point are texts; they come behind the others.
    unique = {(isinstance(item, str), item): item for item in items if isinstance(item, str | int)}
    return [unique[key] for key in sorted(unique)]


def nearest_name(name: str, names: Iterable[str]) -> str | None:
    """A hint with the name that was probably meant."""
    near = difflib.get_close_matches(name, list(names), n=1)
    return f"did you mean `{near[0]}`?" if near else None


def _read_variable(block: Block) -> Variable:
    name = block.labels[0] if len(block.labels) == 1 else ""
    if not _NAME.fullmatch(name):
        raise block.error("a variable has one name of letters, digits, `_` and `-`")
    for key in block.attributes:
        if key not in _KNOWN:
            raise block.attributes[key].error(f"`{one_line(key, limit=60)}` is not known in a variable")
    for key in ("sensitive", "ephemeral"):
        if _flag(block, key, default=False):
            raise block.attributes[key].error("a root variable cannot be secret: it stands in the lock and the state")
    description = _description(block)
    role = _ROLE.search(description)
    if role is None or role.end() != len(description):
        raise block.error("the description must end with `(identity)` or `(binding)`")
    bare = Variable(
        name=name,
        type=_type(block),
        is_binding=role[1] == "binding",
        has_default="default" in block.attributes,
        default=None,
        is_nullable=_flag(block, "nullable", default=True),
        description=description[: role.start()].rstrip(),
    )
    return _with_default(bare, block)


def _with_default(bare: Variable, block: Block) -> Variable:
    expression = block.attributes.get("default")
    if expression is None:
        return bare
    try:
        default = canonical_value(bare, expression.literal())
    except ValueError as error:
        raise expression.error(str(error)) from error
    return Variable(
        name=bare.name,
        type=bare.type,
        is_binding=bare.is_binding,
        has_default=True,
        default=default,
        is_nullable=bare.is_nullable,
        description=bare.description,
    )


def _description(block: Block) -> str:
    expression = block.attributes.get("description")
    if expression is None:
        raise block.error("has no description: it must end with `(identity)` or `(binding)`")
    value = expression.literal()
    if not isinstance(value, str):
        raise expression.error("must be a text")
    return value


def _type(block: Block) -> VariableType:
    expression = block.attributes.get("type")
    match = _TYPE.fullmatch(expression.text) if expression else None
    if match is None:
        place = expression or block
        raise place.error(
            "the type must be `string`, `number` or `bool`, or a `list`, `set` or `map` of one of them: "
            "root variables are flat"
        )
    return VariableType(collection=match[1] or "", element=match[2] or match[3])


def _flag(block: Block, key: str, *, default: bool) -> bool:
    expression = block.attributes.get(key)
    if expression is None:
        return default
    value = expression.literal()
    if not isinstance(value, bool):
        raise expression.error("must be `true` or `false`")
    return value


def _single(element: str, value: Json, whole: str) -> Json:
    if element == "bool" and isinstance(value, bool):
        return value
    if element == "number" and _is_number(value):
        return value
    if element == "string" and isinstance(value, str):
        return _plain(value)
    raise ValueError(f"must be {_article(whole)}, not {_shown(value)}")


def _is_number(value: Json) -> bool:
    if isinstance(value, str):
        return len(value) <= 40 and _DECIMAL.fullmatch(value) is not None
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) <= NUMBER_LIMIT


def _plain(text: str) -> str:
    if CONTROL.search(text):
        raise ValueError("holds a control character")
    return text


def _unfit(kind: VariableType, value: Json) -> ValueError:
    return ValueError(f"must be {_article(str(kind))}, not {_shown(value)}")


def _article(kind: str) -> str:
    words = {"string": "a text", "number": "a number", "bool": "`true` or `false`"}
    return words.get(kind, f"a `{kind}`")


def _shown(value: Json) -> str:
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if value is None:
        return "nothing"
    return f'the text "{one_line(value, limit=60)}"' if isinstance(value, str) else f"the number {value}"
