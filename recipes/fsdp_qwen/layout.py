"""How the model lies on the ranks: FSDP's groups, and the dtypes of their collectives."""

from dataclasses import dataclass

from transformers.modeling_utils import PreTrainedModel

from fsdp_qwen.compute_settings import PLAIN, ComputeSettings


@dataclass(frozen=True, kw_only=True, slots=True)
class Unit:
    """One FSDP group: what is gathered and reduced together."""

    name: str
    parameters: int
    reshard_after_forward: bool
    # With what fills up the last ranks' parts of a tensor that does not divide evenly.
    padded_parameters: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Shape:
    """What the FLOPs of attention follow from."""

    blocks: int
    attention_width: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Layout:
    """How the model lies on the ranks; byte counts of the collectives follow from it."""

    parameters: int
    trainable_tensors: int
    units: tuple[Unit, ...]
    master_dtype: str
    compute_dtype: str
    reduce_dtype: str
    shape: Shape
    replicas: int = 1

    def to_json(self) -> dict[str, object]:
        """The layout as it stands in `result.json`."""
        # Without replicas it is what it always was, and says nothing of them.
        replicas: dict[str, object] = {"replicas": self.replicas} if self.replicas > 1 else {}
        return {
            "parameters": self.parameters,
            "trainable_tensors": self.trainable_tensors,
            "sharding": "hsdp" if replicas else "fsdp",
            **replicas,
            "units": [
                {
                    "name": unit.name,
                    "parameters": unit.parameters,
                    "padded_parameters": unit.padded_parameters,
                    "reshard_after_forward": unit.reshard_after_forward,
                }
                for unit in self.units
            ],
            "dtypes": {
                "master": self.master_dtype,
                "compute": self.compute_dtype,
                "reduce": self.reduce_dtype,
            },
            "shape": {"blocks": self.shape.blocks, "attention_width": self.shape.attention_width},
        }


def plan_layout(module: PreTrainedModel, *, precision: str, ranks: int, compute: ComputeSettings = PLAIN) -> Layout:
    """How a model, also one without memory, will lie on so many ranks: each block, then what is left."""
    shards = ranks // compute.replicas
    parameters = dict(module.named_parameters())
    names = [name for name, part in module.named_modules() if type(part).__name__ in (module._no_split_modules or ())]
    unit_of = {name: next((unit for unit in names if name.startswith(f"{unit}.")), "") for name in parameters}
    of_unit = {unit: [each for name, each in parameters.items() if unit_of[name] == unit] for unit in [*names, ""]}
    units = [
        Unit(
            name=name,
            parameters=sum(each.numel() for each in held),
            # The root's weights are needed last in the forward pass and first in the backward pass:
            # by default they stay gathered.
            reshard_after_forward=compute.reshard == "all" or (compute.reshard == "blocks" and name != ""),
            padded_parameters=sum(-(-each.shape[0] // shards) * shards * each[0].numel() for each in held),
        )
        for name, held in of_unit.items()
    ]
    config = module.config
    return Layout(
        parameters=sum(parameter.numel() for parameter in parameters.values()),
        trainable_tensors=len(parameters),
        units=tuple(units),
        master_dtype="float32",
        compute_dtype="bfloat16" if precision == "bf16" else "float32",
        reduce_dtype=compute.reduce_dtype,
        # Heads times their width, which in these models is the hidden size.
        shape=Shape(blocks=len(names), attention_width=config.hidden_size),
        replicas=compute.replicas,
    )
