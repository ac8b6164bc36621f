"""Rows from text: documents packed one after the other, a separator after each, cut to rows of one length.

A row overlaps the next by one token, so that each token but the first is predicted once per epoch. Which
row a step takes follows from the seed, the step and the row's number; nothing has to be saved.
"""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

import torch
from torch import Tensor

from fsdp_qwen.data_settings import DataConfig, TextConfig
from fsdp_qwen.documents import is_held_out, read_documents
from fsdp_qwen.failures import TrainingFailed
from fsdp_qwen.locked_folder import LockedFolder
from fsdp_qwen.shuffle import shuffled
from fsdp_qwen.tokens import Tokenizer, make_tokenizer

# Documents given to the tokeniser at once: enough for all threads, little enough to stay small.
_AT_ONCE = 1024


@dataclass(frozen=True, kw_only=True, slots=True)
class Packed:
    """Documents one after the other. tokens: int32 [tokens], on the CPU."""

    tokens: Tensor
    documents: int

    def rows(self, length: int) -> int:
        """How many rows of so many tokens there are, each overlapping the next by one."""
        return max(0, (len(self.tokens) - 1) // (length - 1))

    def row(self, index: int, length: int) -> list[int]:
        """The tokens of a row."""
        start = index * (length - 1)
        row: list[int] = self.tokens[start : start + length].tolist()
        return row


@dataclass(frozen=True, kw_only=True, slots=True)
class TextTokens:
    """Text as a stateless source; `rows_per_step` is the global batch."""

    seed: int
    rows_per_step: int
    tokenizer: Tokenizer
    training: Packed
    held_out: Packed

    @property
    def proves(self) -> str:
        """What a run on text shows."""
        if not self.held_out.documents:
            return "no document is held out: the loss on the text that it is trained on does not show learning"
        return (
            "the held-out documents are chosen by the hash of their text and never trained on: "
            "a perplexity on them that falls shows learning"
        )

    @property
    def entropy_nats(self) -> None:
        """Nobody knows the entropy of a text."""

    def training_row(self, step: int, row: int, length: int) -> list[int]:
        """A row of a step: each epoch takes every row once, in an order of its own."""
        rows = self.training.rows(length)
        epoch, index = divmod((step - 1) * self.rows_per_step + row, rows)
        key = hashlib.sha256(f"text/{self.seed}/{epoch}".encode()).digest()
        return self.training.row(shuffled(index, size=rows, key=key), length)

    def held_out_row(self, row: int, length: int) -> list[int]:
        """A held-out row; the first so many are spread over all of them, the same for every seed."""
        rows = self.held_out.rows(length)
        return self.held_out.row(shuffled(row, size=rows, key=b"held-out"), length)

    def source_nats(self, row: list[int]) -> None:
        """Not known."""

    def check(self, *, length: int, evaluation_rows: int, vocabulary: int) -> None:
        """Refuses text that gives too few rows, and tokens that the model does not have."""
        if self.tokenizer.vocabulary > vocabulary:
            raise TrainingFailed(
                f"data.tokenizer: has {self.tokenizer.vocabulary} tokens, and the model only {vocabulary}",
                field="data.tokenizer",
            )
        _check_rows(self.training, 1, length=length, what="the training documents", field="recipe.sequence_length")
        if evaluation_rows:
            what = "the held-out documents"
            _check_rows(self.held_out, evaluation_rows, length=length, what=what, field="recipe.evaluation_rows")

    def describe(self, length: int) -> dict[str, object]:
        """What `result.json` says of the text."""
        return {
            "tokenizer": self.tokenizer.name,
            "separator": self.tokenizer.separator,
            "documents": self.training.documents,
            "tokens": len(self.training.tokens),
            "rows": self.training.rows(length),
            "held_out_documents": self.held_out.documents,
            "held_out_tokens": len(self.held_out.tokens),
            "held_out_rows": self.held_out.rows(length),
        }


def make_text_source(data: DataConfig, model: LockedFolder | None, *, rows_per_step: int) -> TextTokens:
    """The source of a config of kind `text`; reads and tokenises all of it once."""
    text = data.text
    assert text is not None
    tokenizer = make_tokenizer(text, model)
    training, held_out = _pack(read_documents(text), text, tokenizer)
    return TextTokens(
        seed=data.seed, rows_per_step=rows_per_step, tokenizer=tokenizer, training=training, held_out=held_out
    )


def _pack(documents: Iterable[str], text: TextConfig, tokenizer: Tokenizer) -> tuple[Packed, Packed]:
    """The documents to train on, and those held out."""
    parts: tuple[list[Tensor], list[Tensor]] = ([], [])
    counts = [0, 0]
    for batch in _batches(documents):
        sides = [is_held_out(document, text.held_out_percent) for document in batch]
        encoded = tokenizer.encode(batch)
        for side in (False, True):
            mine = [tokens for tokens, held in zip(encoded, sides, strict=True) if held == side]
            counts[side] += len(mine)
            flat = list(chain.from_iterable((*tokens, tokenizer.separator) for tokens in mine))
            parts[side].append(torch.tensor(flat, dtype=torch.int32))
    training, held_out = (
        Packed(tokens=torch.cat(part) if part else torch.empty(0, dtype=torch.int32), documents=count)
        for part, count in zip(parts, counts, strict=True)
    )
    return training, held_out


def _batches(documents: Iterable[str]) -> Iterator[list[str]]:
    iterator = iter(documents)
    while batch := [document for _, document in zip(range(_AT_ONCE), iterator, strict=False)]:
        yield batch


def _check_rows(packed: Packed, wanted: int, *, length: int, what: str, field: str) -> None:
    found = packed.rows(length)
    if found < wanted:
        raise TrainingFailed(
            f"{field}: {what} ({packed.documents}, {len(packed.tokens)} tokens) give {found} rows of "
            f"sequence_length {length - 1}, and {wanted} are needed",
            field=field,
        )
