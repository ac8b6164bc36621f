"""The trained model as a folder that `from_pretrained` of Hugging Face loads, during a run or after it.

`python -m fsdp_qwen.export --config CONFIG.json --checkpoint DIR --output DIR` makes it from a checkpoint:
in one process, each file of the checkpoint checked before and the fingerprints after. Exit codes: 0 done,
1 the checkpoint can't be used, 2 the config or the output folder can't.
"""

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from safetensors.torch import save_file
from torch import Tensor
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor

from fsdp_qwen import checkpoint
from fsdp_qwen.compute_settings import ComputeSettings
from fsdp_qwen.config import Config, read_config
from fsdp_qwen.digest import file_digest
from fsdp_qwen.failures import ConfigError, TrainingFailed
from fsdp_qwen.locked_folder import LockedFolder, find_fault
from fsdp_qwen.model import ShardedModel, build_model
from fsdp_qwen.records import write_document
from fsdp_qwen.weights import CONFIG, INDEX, WHOLE

# As large as the files that the Hub's own tools make.
SHARD_BYTES = 5_000_000_000
REPORT = "export.json"

_NOT_COPIED = (".safetensors", ".bin", ".pt", ".pth", ".gguf", ".onnx", ".h5", ".msgpack", INDEX, CONFIG)


def export_model(
    model: ShardedModel, folder: Path, *, step: int, pretrained: LockedFolder | None, shard_bytes: int = SHARD_BYTES
) -> None:
    """Writes the float32 weights, `config.json`, what came beside pretrained weights, and a list; a collective.

    Rank 0 writes. The folder must not exist; it gets its name when it is whole.
    """
    is_writer = dist.get_rank() == 0
    partial = folder.with_name(f".{folder.name}.partial")
    if is_writer:
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
    files: list[list[str]] = []
    for names in _plan(model.parameters(), shard_bytes):
        held = {}
        for name in names:
            whole = _whole(model.parameters()[name])
            if is_writer:
                held[name] = whole.contiguous()
        if is_writer:
            save_file(held, partial / f"{len(files)}.part", metadata={"format": "pt"})
        files.append(names)
    if is_writer:
        _name_files(partial, files, sum(tensor.numel() for tensor in model.parameters().values()) * 4)
        _write_rest(model, partial, pretrained)
        _write_report(partial, step)
        partial.rename(folder)
    dist.barrier()


def _plan(parameters: Mapping[str, Tensor], shard_bytes: int) -> Iterator[list[str]]:
    """The names per file: as many as fit, at least one."""
    names: list[str] = []
    size = 0
    for name, tensor in parameters.items():
        bytes_ = tensor.numel() * 4
        if names and size + bytes_ > shard_bytes:
            yield names
            names, size = [], 0
        names.append(name)
        size += bytes_
    yield names


def _whole(parameter: Tensor) -> Tensor:
    """The whole tensor on the CPU, float32; a collective."""
    whole = parameter.detach()
    if isinstance(whole, DTensor):
        whole = whole.full_tensor()
    return whole.to(device="cpu", dtype=torch.float32)


def _name_files(folder: Path, files: Sequence[Sequence[str]], size: int) -> None:
    """Gives the parts the names that Hugging Face looks for, and writes the index if there are several."""
    if len(files) == 1:
        (folder / "0.part").rename(folder / WHOLE)
        return
    places: dict[str, str] = {}
    for number, names in enumerate(files):
        name = f"model-{number + 1:05d}-of-{len(files):05d}.safetensors"
        (folder / f"{number}.part").rename(folder / name)
        places |= dict.fromkeys(names, name)
    index = {"metadata": {"total_size": size}, "weight_map": dict(sorted(places.items()))}
    (folder / INDEX).write_text(json.dumps(index, indent=2) + "\n", "utf-8")


def _write_rest(model: ShardedModel, folder: Path, pretrained: LockedFolder | None) -> None:
    document: dict[str, Any]
    if pretrained is None:
        document = json.loads(model.module.config.to_json_string(use_diff=False))
        document |= {"use_cache": True, "architectures": [type(model.module).__name__]}
    else:
        document = json.loads(pretrained.file(CONFIG).read_bytes())
        for name in pretrained.files:
            if not name.endswith(_NOT_COPIED):
                target = folder / name
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(pretrained.file(name), target)
    # What the weights are now, for a reader that takes the type from here.
    document.pop("torch_dtype", None)
    document["dtype"] = "float32"
    text = json.dumps(dict(sorted(document.items())), indent=2, ensure_ascii=True)
    (folder / CONFIG).write_text(text + "\n", "utf-8")


def _write_report(folder: Path, step: int) -> None:
    """Which step this is, and the sha256 of each file."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    files = {path.relative_to(folder).as_posix(): file_digest(path) for path in paths}
    write_document(folder / REPORT, {"format": 1, "step": step, "files": files})


def main(arguments: Sequence[str] | None = None) -> int:
    """Exports a checkpoint; gives back the exit code."""
    options = _parse(arguments)
    try:
        config = read_config(options.config)
        if options.output.exists():
            raise ConfigError(f"--output: `{options.output}` exists already")
        step = export_checkpoint(config, options.checkpoint.resolve(), options.output.resolve())
    except ConfigError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    except TrainingFailed as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    sys.stderr.write(f"exported step {step} to {options.output}\n")
    return 0


def export_checkpoint(config: Config, folder: Path, output: Path) -> int:
    """Makes the folder from a checkpoint, in this process on the CPU; gives back the checkpoint's step."""
    fault = find_fault([config.model] if config.model else [])
    if fault is not None:
        raise fault
    with tempfile.TemporaryDirectory() as rendezvous:
        dist.init_process_group("gloo", init_method=f"file://{rendezvous}/store", rank=0, world_size=1)
        try:
            return _export_alone(config, folder, output)
        finally:
            dist.destroy_process_group()


def _export_alone(config: Config, folder: Path, output: Path) -> int:
    from fsdp_qwen.loop import make_optimizer

    # The weights are the same however they were computed and laid out.
    recipe = replace(config.recipe, optimizer_implementation="foreach", compute=ComputeSettings())
    mesh = init_device_mesh("cpu", (1,), mesh_dim_names=("shard",))
    model = build_model(recipe, seed=config.seed, mesh=mesh, pretrained=config.model)
    state = checkpoint.State(model=model.module, optimizer=make_optimizer(model, recipe), device=torch.device("cpu"))
    resumed = checkpoint.load(state, folder)
    export_model(model, output, step=resumed.step, pretrained=config.model)
    return resumed.step


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="fsdp_qwen.export", description="Make a Hugging Face folder of a checkpoint.")
    parser.add_argument("--config", type=Path, required=True, help="the run's config.json")
    parser.add_argument("--checkpoint", type=Path, required=True, help="a folder step-NNNNNN of the run")
    parser.add_argument("--output", type=Path, required=True, help="folder to make; must not exist")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
