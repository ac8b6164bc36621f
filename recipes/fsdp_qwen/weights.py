"""Pretrained weights from a locked folder in the layout of Hugging Face: `config.json` and safetensors files.

Their names are those of our own parameters, so each tensor has one place: a missing one, a surplus one
and one of another shape are refused by name. Nothing is executed from the folder.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn
from torch.distributed.tensor import DTensor, distribute_tensor
from transformers import CONFIG_MAPPING, PretrainedConfig

from fsdp_qwen.failures import TrainingFailed, one_line
from fsdp_qwen.locked_folder import LockedFolder

CONFIG = "config.json"
WHOLE = "model.safetensors"
INDEX = "model.safetensors.index.json"

_OUTPUT = "lm_head.weight"
_INPUT = "model.embed_tokens.weight"
_FLOATS = (torch.float32, torch.float16, torch.bfloat16)


@dataclass(frozen=True, kw_only=True, slots=True)
class Weights:
    """Where each tensor of a locked folder lies: its name to the file's."""

    folder: LockedFolder
    places: Mapping[str, str]


def read_shape(folder: LockedFolder) -> PretrainedConfig:
    """The shape of the model in a locked folder, from its `config.json`."""
    document = _read_json(folder, CONFIG)
    kind = document.get("model_type")
    if not isinstance(kind, str) or kind not in CONFIG_MAPPING:
        raise _refused(f"{CONFIG}: `model_type` is `{one_line(str(kind))}`, which transformers does not know")
    if "quantization_config" in document:
        raise _refused(f"{CONFIG}: quantised weights can't be trained")
    try:
        shape: PretrainedConfig = CONFIG_MAPPING[kind].from_dict(document)
    except Exception as error:  # each model's class raises its own
        raise _refused(f"{CONFIG}: {one_line(str(error))}") from error
    for name in ("attention_dropout", "hidden_dropout", "resid_pdrop", "embd_pdrop", "attn_pdrop"):
        if getattr(shape, name, 0.0):
            raise _refused(f"{CONFIG}: `{name}` must be 0, for no step draws random numbers")
    shape.use_cache = False
    return shape


def check_preset(shape: PretrainedConfig, sizes: Mapping[str, int], preset: str) -> None:
    """Refuses weights whose shape is not that of the preset that the recipe's config names."""
    for name, size in sizes.items():
        found = getattr(shape, name, None)
        if found != size:
            raise TrainingFailed(
                f"recipe.model: `{preset}` has {name} {size}, and the weights' {CONFIG} says {found}; "
                "`pretrained` takes the shape from there",
                field="recipe.model",
            )


def find_weights(folder: LockedFolder) -> Weights:
    """The place of each tensor: from the index of sharded weights, else from the one file."""
    if INDEX in folder.files:
        places = _read_json(folder, INDEX).get("weight_map")
        if not isinstance(places, dict) or not all(isinstance(place, str) for place in places.values()):
            raise _refused(f"{INDEX}: `weight_map` must map names of tensors to files")
        for place in sorted(set(places.values())):
            folder.file(place)
        return Weights(folder=folder, places=places)
    if WHOLE not in folder.files:
        raise _refused(f"there is neither `{WHOLE}` nor `{INDEX}`; other formats than safetensors are not read")
    with _opened(folder, WHOLE) as file:
        return Weights(folder=folder, places=dict.fromkeys(file.keys(), WHOLE))


@torch.no_grad()
def fill_with_weights(module: nn.Module, weights: Weights, *, is_tied: bool) -> None:
    """Gives each parameter, a float32 DTensor, its values; one whole tensor at a time is held."""
    parameters = dict(module.named_parameters())
    _check_names(parameters, weights, is_tied=is_tied)
    for place in sorted(set(weights.places.values())):
        with _opened(weights.folder, place) as file:
            for name in sorted(parameters):
                if weights.places[name] == place:
                    _fill(name, parameters[name], _read(file, name, place))
    if is_tied and _OUTPUT in weights.places:
        _check_tied(weights)


def _check_names(parameters: Mapping[str, Tensor], weights: Weights, *, is_tied: bool) -> None:
    missing = sorted(parameters.keys() - weights.places.keys())
    if missing:
        raise _refused(f"the tensor `{missing[0]}` is missing, {len(missing)} of {len(parameters)} in all")
    surplus = sorted(name for name in weights.places.keys() - parameters.keys() if not _is_known(name, is_tied=is_tied))
    if surplus:
        raise _refused(f"the tensor `{one_line(surplus[0])}` has no place in the model, {len(surplus)} in all")


def _is_known(name: str, *, is_tied: bool) -> bool:
    """Whether a tensor may stand there without a parameter: it is computed, or the same as another."""
    return name.endswith("rotary_emb.inv_freq") or (is_tied and name == _OUTPUT)


def _check_tied(weights: Weights) -> None:
    """Some folders hold the output layer although it is the embedding; then it must be."""
    both = []
    for name in (_INPUT, _OUTPUT):
        with _opened(weights.folder, weights.places[name]) as file:
            both.append(_read(file, name, weights.places[name]))
    if both[0].shape != both[1].shape or not both[0].equal(both[1]):
        raise _refused(f"`{_OUTPUT}` is not `{_INPUT}`, and {CONFIG} says `tie_word_embeddings`")


def _fill(name: str, parameter: Tensor, whole: Tensor) -> None:
    assert isinstance(parameter, DTensor), name
    if whole.shape != parameter.shape:
        raise _refused(f"the tensor `{name}` has the shape {list(whole.shape)}, and {list(parameter.shape)} is due")
    if whole.dtype not in _FLOATS:
        raise _refused(f"the tensor `{name}` is {whole.dtype}, and can't be trained")
    # Every rank read the same tensor, so nothing has to be sent.
    shard = distribute_tensor(
        whole.to(device=parameter.device, dtype=torch.float32),
        parameter.device_mesh,
        parameter.placements,
        src_data_rank=None,
    )
    parameter.to_local().copy_(shard.to_local())


def _read(file: Any, name: str, place: str) -> Tensor:
    try:
        tensor: Tensor = file.get_tensor(name)
    except SafetensorError as error:
        raise _refused(f"`{place}` does not hold the tensor `{one_line(name)}`: {error}") from error
    return tensor


def _opened(folder: LockedFolder, name: str) -> Any:
    path = folder.file(name)
    try:
        return safe_open(path, framework="pt", device="cpu")
    except (SafetensorError, OSError) as error:
        raise _refused(f"`{name}` is no safetensors file that can be read: {one_line(str(error))}") from error


def _read_json(folder: LockedFolder, name: str) -> dict[str, Any]:
    try:
        document = json.loads(folder.file(name).read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise _refused(f"`{name}` is not JSON that can be read") from error
    if not isinstance(document, dict):
        raise _refused(f"`{name}` must hold an object")
    return document


def _refused(what: str) -> TrainingFailed:
    return TrainingFailed(f"model: {what}", field="model")
