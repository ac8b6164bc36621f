"""Fine-tuning of a tiny pretrained model on text, from its weights to the folder that Hugging Face loads."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch.nn.functional import cross_entropy
from transformers import AutoModelForCausalLM

from fsdp_qwen import export
from fsdp_qwen.config import parse_config
from fsdp_qwen.data import held_out_rows, make_source
from fsdp_qwen.held_out import Best, find_best
from fsdp_qwen.records import Output
from tests.recipes.conftest import Run, Start, make_config, run_processes
from tests.tuning_samples import locked_lines, make_model, make_text, model_folder, text_data

RECIPE: dict[str, object] = {
    "model": "pretrained",
    "steps": 12,
    "global_batch_size": 8,
    "sequence_length": 32,
    "learning_rate": "1e-2",
    "learning_rate_warmup_steps": 2,
    "learning_rate_schedule": "cosine",
    "learning_rate_floor": "0.1",
    "checkpoint_every": 4,
    "evaluation_rows": 8,
    "evaluate_every": 4,
    "export": "last",
}


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `model` (sharded weights) and `text`; nobody changes it."""
    folder = tmp_path_factory.mktemp("samples")
    make_model(folder / "model", shard_size="40KB")
    make_text(folder / "text")
    return folder


@pytest.fixture(scope="module")
def tuned(samples: Path, tmp_path_factory: pytest.TempPathFactory, exact_environment: None) -> Run:
    """A finished fine-tuning that many tests look at."""
    return run_processes(tmp_path_factory.mktemp("tuned"), **settings(samples))


def settings(samples: Path, **recipe: object) -> dict[str, Any]:
    return {
        "recipe": {**RECIPE, **recipe},
        "data": text_data(samples / "text"),
        "model": model_folder(samples / "model"),
    }


def evaluation(run: Run) -> dict[str, float]:
    found = run.result["evaluation"]
    return {name: float.fromhex(found[name]) for name in ("loss_before", "loss")}


def test_perplexity_on_held_out_text_falls(tuned: Run) -> None:
    losses = evaluation(tuned)

    assert (tuned.exit_code, tuned.stderr) == (0, "")
    assert math.exp(losses["loss"]) < 0.5 * math.exp(losses["loss_before"])
    assert tuned.result["evaluation"]["source_loss"] is None
    data = tuned.result["data"]
    assert (data["kind"], data["entropy_nats"], data["separator"]) == ("text", None, 0)
    assert data["documents"] + data["held_out_documents"] == 240
    assert data["held_out_rows"] >= 8


def test_exported_folder_loads_and_predicts_held_out_text_as_well_as_the_run_did(tuned: Run, samples: Path) -> None:
    folder = tuned.output / "export"

    loaded = AutoModelForCausalLM.from_pretrained(folder)
    config = parse_config(make_config(**settings(samples)))
    rows = torch.tensor(held_out_rows(make_source(config, 320), rows=range(8), length=33))
    with torch.no_grad():
        logits = loaded(input_ids=rows[:, :-1]).logits
    loss = cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten())
    trained = load_file(folder / "model.safetensors")
    assert loaded.dtype == torch.float32
    assert loaded.get_output_embeddings().weight is loaded.get_input_embeddings().weight
    assert sorted(trained) == sorted(dict(loaded.named_parameters()))
    assert loss.item() == pytest.approx(evaluation(tuned)["loss"], rel=1e-6)
    assert (folder / "tokenizer.json").read_bytes() == (samples / "model/tokenizer.json").read_bytes()
    listed = json.loads((folder / "export.json").read_text())
    assert listed["step"] == 12
    assert [f"{value.removeprefix('sha256:')}  {name}" for name, value in sorted(listed["files"].items())] == [
        line for line in locked_lines(folder) if not line.endswith("  export.json")
    ]


def test_exporting_the_last_checkpoint_gives_the_same_weights(tuned: Run, tmp_path: Path) -> None:
    checkpoint = tuned.output / "checkpoints/test/step-000012"
    config = tuned.output.with_name("output.json")

    code = export.main(
        ["--config", str(config), "--checkpoint", str(checkpoint), "--output", str(tmp_path / "exported")]
    )

    assert code == 0
    assert locked_lines(tmp_path / "exported") == locked_lines(tuned.output / "export")


@pytest.mark.nightly
def test_the_same_again_gives_the_same_bits(tuned: Run, samples: Path, run: Start) -> None:
    again = run(**settings(samples))

    assert again.steps == tuned.steps
    assert again.result["evaluation"] == tuned.result["evaluation"]
    assert locked_lines(again.output / "export") == locked_lines(tuned.output / "export")


@pytest.mark.nightly
def test_best_step_is_the_one_with_the_least_held_out_loss(samples: Path, run: Start) -> None:
    # A rate that spoils the model after a good beginning.
    ended = run(**settings(samples, export="best", learning_rate="8e-2", learning_rate_schedule="constant"))

    lines = [json.loads(line) for line in (ended.output / "evaluations.jsonl").read_text().splitlines()]
    losses = {line["step"]: float.fromhex(line["loss"]) for line in lines}
    best = min(losses, key=lambda step: losses[step])
    assert ended.exit_code == 0
    assert sorted(losses) == [4, 8, 12]
    assert ended.result["evaluation"]["best_step"] == best
    assert json.loads((ended.output / "export/export.json").read_text())["step"] == best


def test_first_weights_are_those_of_the_folder(tuned: Run, samples: Path, run: Start) -> None:
    still = run(**settings(samples, learning_rate="1e-30", learning_rate_schedule="constant", steps=1, export="last"))

    given: dict[str, torch.Tensor] = {}
    for path in sorted((samples / "model").glob("*.safetensors")):
        given |= load_file(path)
    exported = load_file(still.output / "export/model.safetensors")
    assert still.exit_code == 0
    assert given.keys() == exported.keys()
    # A step so small moves nothing but zeros, and those by no more than the step.
    assert all(torch.allclose(given[name], exported[name], rtol=0.0, atol=1e-25) for name in given)


@pytest.mark.nightly
def test_untied_and_half_precision_weights_are_trained_in_float32(tmp_path: Path, samples: Path, run: Start) -> None:
    make_model(tmp_path / "untied", is_tied=False)
    path = tmp_path / "untied/model.safetensors"
    given = {name: tensor.bfloat16() for name, tensor in load_file(path).items()}
    save_file(given, path)

    changes = {"learning_rate": "1e-30", "learning_rate_schedule": "constant", "steps": 1, "export": "last"}
    ended = run(**{**settings(samples, **changes), "model": model_folder(tmp_path / "untied")})

    exported = load_file(ended.output / "export/model.safetensors")
    assert (ended.exit_code, ended.stderr) == (0, "")
    assert "lm_head.weight" in exported
    assert {tensor.dtype for tensor in exported.values()} == {torch.float32}
    assert all(torch.allclose(given[name].float(), exported[name], rtol=0.0, atol=1e-25) for name in given)
    assert not AutoModelForCausalLM.from_pretrained(ended.output / "export").config.tie_word_embeddings


def test_steps_that_were_done_again_count_once_when_the_best_is_looked_for(tmp_path: Path) -> None:
    lines = [(1, 4, 3.0), (1, 8, 1.0), (2, 8, 2.0), (2, 12, 2.0)]
    written = [json.dumps({"attempt": a, "step": step, "loss": loss.hex()}) for a, step, loss in lines]
    (tmp_path / "evaluations.jsonl").write_text("\n".join(written) + "\n")

    assert find_best(Output(path=tmp_path)) == Best(step=8, loss=2.0)


def changed_model(samples: Path, folder: Path, **tensors: torch.Tensor | None) -> Path:
    """The model in one file, with tensors replaced, added, or, for None, taken out."""
    given: dict[str, torch.Tensor] = {}
    for path in sorted((samples / "model").glob("*.safetensors")):
        given |= load_file(path)
    for name, tensor in tensors.items():
        if tensor is None:
            del given[name]
        else:
            given[name] = tensor
    folder.mkdir()
    save_file(given, folder / "model.safetensors")
    for name in ("config.json", "tokenizer.json"):
        (folder / name).write_bytes((samples / "model" / name).read_bytes())
    return folder


NORM = "model.layers.1.input_layernorm.weight"


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        ({NORM: None}, f"model: the tensor `{NORM}` is missing, 1 of 26 in all"),
        ({NORM: torch.ones(47)}, f"model: the tensor `{NORM}` has the shape [47], and [48] is due"),
        ({"extra": torch.ones(1)}, "model: the tensor `extra` has no place in the model, 1 in all"),
        ({NORM: torch.ones(48, dtype=torch.int8)}, f"model: the tensor `{NORM}` is torch.int8, and can't be trained"),
        (
            {"lm_head.weight": torch.zeros(320, 48)},
            "model: `lm_head.weight` is not `model.embed_tokens.weight`, and config.json says `tie_word_embeddings`",
        ),
    ],
)
def test_weights_that_do_not_fit_are_refused_by_name(
    samples: Path, tmp_path: Path, run: Start, tensors: dict[str, torch.Tensor | None], message: str
) -> None:
    folder = changed_model(samples, tmp_path / "changed", **tensors)

    ended = run(**{**settings(samples), "model": model_folder(folder)})

    assert (ended.exit_code, ended.stderr) == (1, f"error: rank 0: {message}\n")
    assert ended.result["error"] == {"message": message, "rank": 0, "field": "model"}


def test_file_that_changed_after_it_was_locked_is_refused(samples: Path, tmp_path: Path, run: Start) -> None:
    text = make_text(tmp_path / "text")
    data = text_data(text)
    (text / "a.txt").write_text("something else\n")

    ended = run(**{**settings(samples), "data": data})

    assert ended.exit_code == 1
    assert ended.stderr.startswith(f"error: rank 0: data: `{text / 'a.txt'}` has sha256:")


@pytest.mark.nightly
def test_bytes_need_no_tokeniser_and_train_a_preset(samples: Path, run: Start) -> None:
    data = text_data(samples / "text", tokenizer="bytes")

    ended = run(recipe={**RECIPE, "model": "tiny", "export": "last"}, data=data)

    loaded = AutoModelForCausalLM.from_pretrained(ended.output / "export")
    losses = evaluation(ended)
    assert ended.exit_code == 0
    assert losses["loss"] < losses["loss_before"]
    assert loaded.config.hidden_size == 64


def test_preset_of_another_shape_is_refused(samples: Path, run: Start) -> None:
    ended = run(**settings(samples, model="tiny"))

    assert ended.result["error"]["message"] == (
        "recipe.model: `tiny` has vocab_size 256, and the weights' config.json says 320; "
        "`pretrained` takes the shape from there"
    )


@pytest.mark.nightly
def test_more_evaluation_rows_than_the_text_holds_are_refused(samples: Path, run: Start) -> None:
    ended = run(**settings(samples, evaluation_rows=400))

    assert ended.result["error"]["field"] == "recipe.evaluation_rows"
    assert "and 400 are needed" in ended.result["error"]["message"]
