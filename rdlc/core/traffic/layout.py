"""How a model lies on its ranks, as the recipe reports it: bytes and FLOPs of a step follow from it."""

from dataclasses import dataclass

from rdlc.core.fields import Fields

# Bytes of one element.
DTYPES = {"float32": 4, "bfloat16": 2, "float16": 2}
_PARAMETERS_LIMIT = 1 << 50
_UNITS_LIMIT = 10_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Unit:
    """One FSDP group: what is gathered and reduced together.

    `padded_parameters` counts what the collectives move: each tensor is cut along its first
    dimension, and the last ranks' parts are filled up where that does not divide evenly.
    """

    name: str
    parameters: int
    reshard_after_forward: bool
    padded_parameters: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Shape:
    """What the FLOPs of attention follow from: blocks, and heads times their width."""

    blocks: int
    attention_width: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Layout:
    """A model sharded fully over all ranks, or over those of each replica, and the dtypes of its collectives."""

    parameters: int
    trainable_tensors: int
    units: tuple[Unit, ...]
    compute_dtype: str
    reduce_dtype: str
    shape: Shape | None = None
    replicas: int = 1


def read_layout(fields: Fields) -> Layout:
    """The layout in a `layout` section; raises InputError for one whose traffic is not known."""
    sharding = fields.text("sharding", choices=("fsdp", "hsdp"))
    dtypes = fields.below("dtypes")
    units = fields.each("units")
    if not 1 <= len(units) <= _UNITS_LIMIT:
        raise fields.error("units", f"must have from 1 to {_UNITS_LIMIT} entries, not {len(units)}")
    layout = Layout(
        parameters=fields.count("parameters", least=1, most=_PARAMETERS_LIMIT),
        trainable_tensors=fields.count("trainable_tensors", least=1, most=_PARAMETERS_LIMIT),
        units=tuple(_read_unit(unit) for unit in units),
        compute_dtype=dtypes.text("compute", choices=tuple(DTYPES)),
        reduce_dtype=dtypes.text("reduce", choices=tuple(DTYPES)),
        shape=_read_shape(fields.below("shape")) if fields.has("shape") else None,
        replicas=fields.count("replicas", least=2, most=1 << 20) if sharding == "hsdp" else 1,
    )
    total = sum(unit.parameters for unit in layout.units)
    if total != layout.parameters:
        raise fields.error("units", f"hold {total} parameters together, but the model has {layout.parameters}")
    return layout


def _read_unit(fields: Fields) -> Unit:
    parameters = fields.count("parameters", most=_PARAMETERS_LIMIT)
    return Unit(
        # The outermost group has no name.
        name=fields.remark("name"),
        parameters=parameters,
        reshard_after_forward=fields.flag("reshard_after_forward"),
        # An older recipe did not report it; without padding the two are equal.
        padded_parameters=fields.count(
            "padded_parameters", default=parameters, least=parameters, most=_PARAMETERS_LIMIT
        ),
    )


def _read_shape(fields: Fields) -> Shape:
    return Shape(
        blocks=fields.count("blocks", least=1, most=1 << 20),
        attention_width=fields.count("attention_width", least=1, most=1 << 30),
    )
