"""The `data` part of a run's configuration: which stateless source the rows come from."""

from dataclasses import dataclass

from fsdp_qwen.fields import Fields
from fsdp_qwen.locked_folder import LockedFolder, read_locked_folder

DATA_KINDS = ("markov", "random-tokens", "text")
DOCUMENTS = ("file", "line", "paragraph")
TOKENIZERS = ("bytes", "model")


@dataclass(frozen=True, kw_only=True, slots=True)
class TextConfig:
    """Text files, how they are cut into documents and tokens, and how many documents are held out.

    `field` is the key or column that holds the text in JSON lines and Parquet; `documents` says what a
    document is in plain text. `separator` is the token after each document, None for the tokeniser's own.
    """

    folder: LockedFolder
    field: str
    documents: str
    held_out_percent: int
    tokenizer: str
    separator: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class DataConfig:
    """Which stateless source the rows come from; `states` and `successors` belong to `markov`, `text` to text."""

    kind: str
    seed: int
    states: int = 32
    successors: int = 4
    text: TextConfig | None = None


def read_data(fields: Fields) -> DataConfig:
    """The data that a config's `data` names, or `ConfigError` with the field's address."""
    kind = fields.choice("kind", DATA_KINDS)
    seed = fields.whole("seed", at_least=0)
    if kind == "markov":
        data = DataConfig(
            kind=kind,
            seed=seed,
            states=fields.whole("states", at_least=2, at_most=256, default=32),
            successors=fields.whole("successors", at_least=2, at_most=16, default=4),
        )
    elif kind == "text":
        data = DataConfig(kind=kind, seed=seed, text=_text(fields))
    else:
        data = DataConfig(kind=kind, seed=seed)
    fields.finish()
    return data


def _text(fields: Fields) -> TextConfig:
    return TextConfig(
        folder=read_locked_folder(fields, "data"),
        field=fields.optional_text("field") or "text",
        documents=fields.choice("documents", DOCUMENTS),
        held_out_percent=fields.whole("held_out_percent", at_least=0, at_most=50),
        tokenizer=fields.choice("tokenizer", TOKENIZERS),
        separator=fields.optional_text("separator"),
    )
