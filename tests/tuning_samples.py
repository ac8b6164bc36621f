"""A tiny pretrained model, its tokeniser and text that it can learn, made on the spot."""

import hashlib
import json
import random
from pathlib import Path
from typing import Any

TEXTS = ("a.txt", "b.jsonl", "c.parquet")


def make_documents(count: int, *, seed: int = 0) -> list[str]:
    """Documents of a small language in which one word tells much of the next."""
    rng = random.Random(seed)
    words = ["".join(rng.choice("abcdefghij") for _ in range(rng.randint(2, 6))) for _ in range(40)]
    documents = []
    for _ in range(count):
        place = rng.randrange(40)
        said = [words[place]]
        for _ in range(rng.randint(15, 45)):
            place = (place * 7 + rng.randint(0, 2)) % 40
            said.append(words[place])
        documents.append(" ".join(said) + ".")
    return documents


def make_text(folder: Path, *, count: int = 240) -> Path:
    """A folder with the same kind of documents as plain text, JSON lines and Parquet."""
    import pyarrow
    import pyarrow.parquet

    documents = make_documents(count)
    third = count // 3
    folder.mkdir(parents=True)
    (folder / TEXTS[0]).write_text("\n\n".join(documents[:third]) + "\n")
    lines = [json.dumps({"id": number, "text": text}) for number, text in enumerate(documents[third : 2 * third])]
    (folder / TEXTS[1]).write_text("\n".join(lines) + "\n")
    pyarrow.parquet.write_table(pyarrow.table({"text": documents[2 * third :]}), folder / TEXTS[2])
    return folder


def make_model(folder: Path, *, shard_size: str = "5GB", is_tied: bool = True, **sizes: Any) -> Path:
    """A folder as the Hub has them: config, safetensors (several with a small `shard_size`), tokeniser."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import AutoModelForCausalLM, Qwen2Config

    shape = Qwen2Config(
        **{
            "vocab_size": 320,
            "hidden_size": 48,
            "intermediate_size": 96,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "eos_token_id": 0,
            "rope_parameters": {"rope_type": "default", "rope_theta": 1_000_000.0},
            **sizes,
        },
        tie_word_embeddings=is_tied,
    )
    with torch.random.fork_rng():
        torch.manual_seed(7)
        module = AutoModelForCausalLM.from_config(shape, dtype=torch.float32)
    module.save_pretrained(folder, max_shard_size=shard_size)
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=300, special_tokens=["<|endoftext|>"], initial_alphabet=alphabet)
    tokenizer.train_from_iterator(make_documents(60), trainer)
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def locked_lines(folder: Path) -> list[str]:
    """The listing of a folder as the recipe's config has it."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(folder).as_posix()}" for path in paths]


def text_data(folder: Path, **changes: Any) -> dict[str, Any]:
    """The `data` of a recipe's config."""
    return {
        "kind": "text",
        "seed": 0,
        "path": str(folder),
        "files": locked_lines(folder),
        "field": "text",
        "documents": "paragraph",
        "held_out_percent": 10,
        "tokenizer": "model",
        "separator": None,
        **changes,
    }


def model_folder(folder: Path) -> dict[str, Any]:
    """The `model` of a recipe's config."""
    return {"path": str(folder), "files": locked_lines(folder)}
