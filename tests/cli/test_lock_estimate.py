"""The estimate that `rdlc lock` shows, on the nodes that Terraform would make."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.docker_project import DockerProject, docker_project
from tests.cli.test_lock_infra import EXACT, write_spec
from tests.conftest import Rdlc
from tests.operations.infra_tools import make_root
from tests.registry.logged_out import log_out

CONFIG = """\
model: qwen2.5-1.5b
precision: bf16
global_batch_size: 16
sequence_length: 2048
optimizer_implementation: fused
activation_checkpointing: none
"""
TYPE = """
variable "gpu_instance_type" {
  type        = string
  description = "Type. (identity)"
}
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rdlc: Rdlc) -> Iterator[DockerProject]:
    home = tmp_path / "home"
    home.mkdir()
    log_out(monkeypatch, home)
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("RDLC_TERRAFORM", raising=False)
    with docker_project(tmp_path / "project", rdlc) as made:
        make_root(made.folder)
        with (made.folder / "terraform/variables.tf").open("a") as file:
            file.write(TYPE)
        write_spec(made, EXACT + ", gpu_instance_type: g6.12xlarge")
        spec = made.folder / "run.yaml"
        spec.write_text(spec.read_text().replace("{workers: 2}", "{workers: 8, gpus_per_worker: 1}"))
        (made.folder / "recipes/toy/configs/toy.yaml").write_text(CONFIG)
        monkeypatch.chdir(made.folder)
        yield made


def test_lock_says_that_a_layout_does_not_fit_and_what_would(project: DockerProject) -> None:
    said = project("lock", "run.yaml")

    assert said.code == 0
    assert said.out.splitlines()[-4:] == [
        "estimate  1,543,714,304 parameters on 8 x NVIDIA L4 (2 x g6.12xlarge), 4,096 tokens a step on each",
        (
            "memory    20.8 GiB a GPU of 22.0: too large (when the loss goes backward: parameters 0.7, optimizer 1.4, "
            "gathered weights 0.6, activations 11.0, logits 7.0)"
        ),
        "time      at least compute 349 ms and wire 2,080 ms a step, by data sheets: network-bound",
        "better    `--set recipe.activation_checkpointing=selective`: needs 15.4 GiB of a GPU",
    ]
    assert said.err.splitlines()[-2:] == [
        "warning: the run does not fit: it needs 20.8 GiB and 1.5 GiB for CUDA and NCCL, and a GPU has 22.0 GiB",
        "warning: the run is network-bound: its bytes take longer than its computing",
    ]


def test_the_estimate_is_in_the_document(project: DockerProject) -> None:
    found = project("lock", "run.yaml", "--json").document["estimate"]

    assert (found["device"], found["memory"]["fit"], found["bound"]) == ("NVIDIA L4", "too large", "network")
    assert found["advice"] == [
        {"settings": {"activation_checkpointing": "selective"}, "gives": "needs 15.4 GiB of a GPU"}
    ]


def test_the_shape_of_pretrained_weights_is_read_from_their_own_config(project: DockerProject) -> None:
    shape = {
        "model_type": "qwen2",
        "vocab_size": 151936,
        "hidden_size": 1536,
        "intermediate_size": 8960,
        "num_hidden_layers": 28,
        "num_attention_heads": 12,
        "num_key_value_heads": 2,
        "tie_word_embeddings": True,
    }
    weights = project.folder / "weights"
    weights.mkdir()
    (weights / "config.json").write_text(json.dumps(shape))
    (weights / "model.safetensors").write_bytes(b"not looked into")
    config = project.folder / "recipes/toy/configs/toy.yaml"
    config.write_text(CONFIG.replace("qwen2.5-1.5b", "pretrained"))
    with (project.folder / "run.yaml").open("a") as file:
        file.write("model: {path: weights}\n")

    said = project("lock", "run.yaml", "--json")

    assert said.code == 0, said.err
    assert said.document["estimate"]["model_parameters"] == 1_543_714_304
