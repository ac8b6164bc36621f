"""The model: its shape, its shards and its first weights.

The model is built without memory, cut into shards, and only then filled, one tensor at a time: no
rank ever holds the whole model. Each parameter's first values follow from the seed and its name
alone, so they don't depend on the number of ranks or on the order in which modules are made.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor
from transformers import AutoModelForCausalLM, PretrainedConfig, Qwen2Config
from transformers.modeling_utils import PreTrainedModel

from fsdp_qwen.compute_settings import ComputeSettings
from fsdp_qwen.layout import Layout, plan_layout
from fsdp_qwen.locked_folder import LockedFolder
from fsdp_qwen.place import Place
from fsdp_qwen.recipe_settings import RecipeConfig
from fsdp_qwen.speed import prefetch, speed_up
from fsdp_qwen.weights import check_preset, fill_with_weights, find_weights, read_shape

# The shapes. `tiny` has 109,120 parameters, for CPUs; `qwen2.5-1.5b` is the published shape:
# 1,543,714,304.
_SHAPES: Mapping[str, Mapping[str, int]] = {
    "tiny": {
        "vocab_size": 256,
        "hidden_size": 64,
        "intermediate_size": 176,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
    },
    "qwen2.5-1.5b": {
        "vocab_size": 151_936,
        "hidden_size": 1536,
        "intermediate_size": 8960,
        "num_hidden_layers": 28,
        "num_attention_heads": 12,
        "num_key_value_heads": 2,
    },
}


@dataclass(frozen=True, kw_only=True, slots=True)
class ShardedModel:
    """A model whose parameters are float32 DTensors sharded on dimension 0, values set."""

    module: PreTrainedModel
    vocabulary: int
    layout: Layout
    compute: ComputeSettings

    def parameters(self) -> dict[str, Tensor]:
        """The parameters by canonical name; tied weights appear once."""
        return dict(self.module.named_parameters())


def empty_model(preset: str, pretrained: LockedFolder | None = None) -> PreTrainedModel:
    """The model of a preset, or in the shape of pretrained weights, without memory: shapes and names only."""
    with torch.device("meta"):
        module: PreTrainedModel = AutoModelForCausalLM.from_config(
            _find_shape(preset, pretrained), dtype=torch.float32, attn_implementation="sdpa"
        )
    return module


def _find_shape(preset: str, pretrained: LockedFolder | None) -> PretrainedConfig:
    """The shape of the weights, which must be that of the preset unless that is `pretrained`."""
    if pretrained is not None:
        shape = read_shape(pretrained)
        check_preset(shape, _SHAPES.get(preset, {}), preset)
        return shape
    sizes: dict[str, Any] = dict(_SHAPES[preset])
    return Qwen2Config(
        **sizes,
        max_position_embeddings=32_768,
        rope_parameters={"rope_type": "default", "rope_theta": 1_000_000.0},
        rms_norm_eps=1e-6,
        attention_dropout=0.0,
        tie_word_embeddings=True,
        use_cache=False,
    )


def make_mesh(recipe: RecipeConfig, place: Place) -> DeviceMesh:
    """The ranks in one row, or in a row for each replica of the model."""
    replicas, device = recipe.compute.replicas, place.device.type
    if replicas == 1:
        return init_device_mesh(device, (place.world_size,), mesh_dim_names=("shard",))
    shape = (replicas, place.world_size // replicas)
    return init_device_mesh(device, shape, mesh_dim_names=("replicate", "shard"))


def build_model(
    recipe: RecipeConfig, *, seed: int, mesh: DeviceMesh, pretrained: LockedFolder | None = None
) -> ShardedModel:
    """A sharded model on the mesh's device, equal for every world size before the first step."""
    module = empty_model(recipe.model, pretrained)
    layout = plan_layout(module, precision=recipe.precision, ranks=mesh.size(), compute=recipe.compute)
    speed_up(module, recipe.compute, [unit.name for unit in layout.units if unit.name])
    _shard(module, layout, recipe, mesh)
    module.to_empty(device=mesh.device_type)
    # `to_empty` gave the output layer its own weight; it must be the embedding's again.
    module.tie_weights()
    if pretrained is None:
        _fill_parameters(module, seed=seed, spread=module.config.initializer_range)
    else:
        fill_with_weights(module, find_weights(pretrained), is_tied=module.config.tie_word_embeddings)
    _fill_buffers(module)
    return ShardedModel(module=module, vocabulary=module.config.vocab_size, layout=layout, compute=recipe.compute)


def _shard(module: PreTrainedModel, layout: Layout, recipe: RecipeConfig, mesh: DeviceMesh) -> None:
    """Shards each unit, the root (embedding, last norm) after all others."""
    policy = MixedPrecisionPolicy(
        param_dtype=torch.bfloat16 if recipe.precision == "bf16" else None,
        reduce_dtype=torch.bfloat16 if layout.reduce_dtype == "bfloat16" else torch.float32,
    )
    for unit in layout.units:
        fully_shard(
            module.get_submodule(unit.name),
            mesh=mesh,
            mp_policy=policy,
            reshard_after_forward=unit.reshard_after_forward,
        )
    prefetch(module, [unit.name for unit in layout.units if unit.name], depth=recipe.compute.prefetch)
    # The loop divides by the number of tokens itself, so gradients are summed, not averaged.
    for part in module.modules():
        if isinstance(part, FSDPModule):
            part.set_gradient_divide_factor(1.0)
            # gloo knows no other kind of reduction, and both backends should do the same.
            part.set_force_sum_reduction_for_comms(True)


@torch.no_grad()
def _fill_parameters(module: nn.Module, *, seed: int, spread: float) -> None:
    for name, parameter in module.named_parameters():
        assert isinstance(parameter, DTensor), name
        whole = _first_values(name, parameter.shape, seed=seed, spread=spread)
        # Every rank made the same tensor, so nothing has to be sent.
        shard = distribute_tensor(
            whole.to(parameter.device),
            parameter.device_mesh,
            parameter.placements,
            src_data_rank=None,
        )
        parameter.to_local().copy_(shard.to_local())


def _first_values(name: str, shape: torch.Size, *, seed: int, spread: float) -> Tensor:
    """A parameter's first values: float32 [shape], drawn on the CPU whatever the device."""
    if name.endswith(".bias"):
        return torch.zeros(shape)
    if len(shape) == 1:
        return torch.ones(shape)
    key = hashlib.sha256(f"{seed}/{name}".encode()).digest()
    # 63 bits: manual_seed takes any int64, and half the streams are plenty.
    generator = torch.Generator().manual_seed(int.from_bytes(key[:8], "big") >> 1)
    return torch.empty(shape).normal_(0.0, spread, generator=generator)


@torch.no_grad()
def _fill_buffers(module: PreTrainedModel) -> None:
    """Lets the model compute its rotary tables, the only buffers that it may have."""
    for name, part in module.named_modules():
        buffers = dict(part.named_buffers(recurse=False))
        if buffers:
            assert "RotaryEmbedding" in type(part).__name__, f"don't know the first values of {name} {list(buffers)}"
            module._init_weights(part)
