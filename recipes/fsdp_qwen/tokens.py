"""Text to tokens: the model's own tokeniser, or plain bytes where there is none."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from fsdp_qwen.data_settings import TextConfig
from fsdp_qwen.failures import TrainingFailed
from fsdp_qwen.locked_folder import LockedFolder

TOKENIZER_FILE = "tokenizer.json"


class Tokenizer(Protocol):
    """A vocabulary, and the token that stands after each document."""

    @property
    def name(self) -> str:
        """What it is, for the record."""

    @property
    def vocabulary(self) -> int:
        """One more than the largest token."""

    @property
    def separator(self) -> int:
        """The token after each document."""

    def encode(self, documents: Sequence[str]) -> list[list[int]]:
        """The tokens of each document, without the separator."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ByteTokens:
    """The bytes of UTF-8; the separator is byte 0, which no text holds."""

    vocabulary: int = 256
    separator: int = 0
    name: str = "bytes"

    def encode(self, documents: Sequence[str]) -> list[list[int]]:
        """The bytes of each document."""
        return [list(document.encode("utf-8", "surrogatepass")) for document in documents]


@dataclass(frozen=True, kw_only=True, slots=True)
class FileTokens:
    """A `tokenizer.json`, as the `tokenizers` library reads it."""

    tokenizer: Any
    vocabulary: int
    separator: int
    name: str

    def encode(self, documents: Sequence[str]) -> list[list[int]]:
        """The tokens of each document; no special ones are added."""
        return [found.ids for found in self.tokenizer.encode_batch(list(documents), add_special_tokens=False)]


def make_tokenizer(text: TextConfig, model: LockedFolder | None) -> Tokenizer:
    """The tokeniser that a config names; raises `TrainingFailed` if the model's folder does not give it."""
    if text.tokenizer == "bytes":
        if text.separator is not None:
            raise TrainingFailed("data.separator: bytes have byte 0 after each document", field="data.separator")
        return ByteTokens()
    if model is None:
        raise TrainingFailed("data.tokenizer: `model` needs a `model` that it comes from", field="data.tokenizer")
    # In the image with transformers.
    from tokenizers import Tokenizer as Library

    path = model.file(TOKENIZER_FILE)
    try:
        library = Library.from_file(str(path))
    except Exception as error:  # the library raises nothing narrower
        raise TrainingFailed(f"model: `{path}` can't be used: {error}", field="model") from error
    # What a file may ask for would cut or fill documents.
    library.no_truncation()
    library.no_padding()
    largest = max(library.get_vocab(with_added_tokens=True).values(), default=0)
    return FileTokens(
        tokenizer=library,
        vocabulary=largest + 1,
        separator=_separator(text, model, library),
        name=f"{TOKENIZER_FILE} {model.files[TOKENIZER_FILE]}",
    )


def _separator(text: TextConfig, model: LockedFolder, library: Any) -> int:
    if text.separator is not None:
        token = library.token_to_id(text.separator)
        if token is None:
            message = f"data.separator: the tokeniser has no token `{text.separator}`"
            raise TrainingFailed(message, field="data.separator")
        return int(token)
    config = json.loads(model.file("config.json").read_text("utf-8"))
    token = config.get("eos_token_id")
    if isinstance(token, list) and token:
        token = token[0]
    if not isinstance(token, int):
        raise TrainingFailed(
            "data.separator: config.json has no `eos_token_id`, so the token after each document must be named",
            field="data.separator",
        )
    return token
