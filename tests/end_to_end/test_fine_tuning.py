"""Fine-tuning as a user does it: weights and text of one's own, locked, run, replayed, and taken home."""

import json
import math
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from tests.end_to_end.test_local_run import Project
from tests.tuning_samples import locked_lines, make_documents, make_model, make_text

SPEC = """\
schema: rdlc/run-spec/v1
name: tuned
target: local
cluster: {workers: 2}
recipe:
  module: fsdp_qwen.train
  config: configs/pretrained.yaml
  overrides:
    steps: 12
    global_batch_size: 8
    sequence_length: 32
    learning_rate: "1e-2"
    learning_rate_warmup_steps: 2
    precision: fp32
    optimizer_implementation: foreach
    checkpoint_every: 4
    evaluation_rows: 8
    evaluate_every: 4
model: {path: models/tiny}
data: {kind: text, path: corpus}
claim: outcome-bitwise
"""
LOCK = "lock/tuned.lock.yaml"


@pytest.mark.nightly
@pytest.mark.timeout(900)
def test_tuned_model_is_locked_run_replayed_to_the_bit_and_loads_at_home(tmp_path: Path) -> None:
    project = Project(path=tmp_path)
    assert project.call("init", ".", "--target", "local")[0] == 0
    make_model(tmp_path / "models/tiny", shard_size="40KB")
    make_text(tmp_path / "corpus")
    (tmp_path / "tune.yaml").write_text(SPEC)

    # Lock: every file of weights, tokeniser and text by its digest.
    code, locked = project.call("lock", "tune.yaml")
    assert (code, locked["status"]) == (0, "locked")
    assert locked["data"]["model"]["evidence"] == "bytes"
    assert locked["data"]["dataset"]["files"] == 3

    # Run: perplexity on text that it never saw falls.
    code, run = project.call("run", LOCK)
    assert (code, run["baseline"]) == (0, "written"), run
    record = Path(str(run["record"]))
    result = json.loads((tmp_path / record / "result.json").read_text())
    before, after = (float.fromhex(result["evaluation"][name]) for name in ("loss_before", "loss"))
    assert math.exp(after) < 0.5 * math.exp(before)
    assert not any("learning is not shown" in sentence for sentence in run["evidence"])

    # Replay: the same bits, and the same files to take home.
    code, replay = project.call("replay", LOCK)
    assert (code, replay["status"], replay["level"]) == (0, "reproduced", "outcome-bitwise"), replay
    folder, again = (tmp_path / str(found["record"]) / "export" for found in (run, replay))
    assert locked_lines(folder) == locked_lines(again)
    assert project.call("verify", str(record))[1]["findings"] == []

    # At home: the tools of Hugging Face load it, and it gives the logits of the weights that were trained.
    model, tokenizer = AutoModelForCausalLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    given = AutoModelForCausalLM.from_pretrained(tmp_path / "models/tiny")
    tokens = torch.tensor([tokenizer.encode(text)[:32] for text in make_documents(4, seed=3)])
    with torch.no_grad():
        losses = [each(input_ids=tokens, labels=tokens).loss.item() for each in (given, model)]
    assert losses[1] < losses[0]

    # Another text is refused before anything runs, and named.
    (tmp_path / "corpus/a.txt").write_text("other words\n")
    code, refused = project.call("run", LOCK)
    assert (code, refused["status"]) == (1, "drifted")
    assert {(drift["section"], drift["address"]) for drift in refused["drift"]} == {
        ("data", 'dataset.files["a.txt"].sha256'),
        ("data", 'dataset.files["a.txt"].size'),
    }
