"""Layouts for tests: the recipe's tiny model, its large one, and those of the recorded measurements."""

from rdlc.core.traffic.layout import Layout, Shape, Unit


def make_layout(
    blocks: int,
    block: int,
    rest: int,
    *,
    compute: str = "bfloat16",
    reduce: str = "float32",
    tensors: int = 1,
    shape: Shape | None = None,
) -> Layout:
    """So many equal blocks, and the rest, which stays gathered."""
    units = [_unit(f"model.layers.{index}", block, True) for index in range(blocks)]
    return Layout(
        parameters=blocks * block + rest,
        trainable_tensors=tensors,
        units=(*units, _unit("", rest, False)),
        compute_dtype=compute,
        reduce_dtype=reduce,
        shape=shape,
    )


def _unit(name: str, parameters: int, reshard: bool) -> Unit:
    return Unit(name=name, parameters=parameters, reshard_after_forward=reshard, padded_parameters=parameters)


TINY = make_layout(
    2,
    46_336,
    16_448,
    compute="float32",
    tensors=26,
    shape=Shape(blocks=2, attention_width=64),
)
QWEN = make_layout(28, 46_797_824, 233_375_232, tensors=338, shape=Shape(blocks=28, attention_width=1536))
# Of the measurements over a virtual network: 407 M and 68 M parameters in equal matrices.
M407 = make_layout(8, 12 << 22, 1 << 22)
M68 = make_layout(4, 16 << 20, 1 << 20, reduce="bfloat16")
