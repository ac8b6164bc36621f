"""Stateless data: a row is a pure function of seed, split, step and index.

No sampler, no loader state: a resumed run asks for the rows of its next step, and a run on more
ranks only changes who asks. The random bits are SHAKE-256 of the row's name, so anyone can
recompute a row with the standard library, on any machine, for as long as SHA-3 exists.
"""

import hashlib
import math
import struct
from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Protocol

import torch
from torch import Tensor

from fsdp_qwen.config import Config
from fsdp_qwen.data_settings import DataConfig
from fsdp_qwen.text_source import make_text_source

# One draw is 16 bits; transition weights are out of this total, so that sampling is exact integer
# arithmetic.
TOTAL = 1 << 16


class TokenSource(Protocol):
    """Rows of tokens by name, and what training on them can show."""

    @property
    def proves(self) -> str:
        """One sentence for the record."""

    @property
    def entropy_nats(self) -> float | None:
        """The least mean loss per token that any model can reach; None where nobody knows it."""

    def training_row(self, step: int, row: int, length: int) -> list[int]:
        """`length` tokens of a row of a step's global batch."""

    def held_out_row(self, row: int, length: int) -> list[int]:
        """`length` tokens of a row that is never trained on."""

    def source_nats(self, row: list[int]) -> float | None:
        """The summed loss of the true source on the row's transitions; None where it is not known."""

    def describe(self, length: int) -> dict[str, object]:
        """What `result.json` says of the source beside its kind, seed, entropy and sentence."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RandomTokens:
    """Uniform noise over the vocabulary: work for the machine, nothing to learn."""

    seed: int
    vocabulary: int

    @property
    def proves(self) -> str:
        """What a run on noise shows."""
        return (
            "random tokens prove that the infrastructure runs; they hold nothing to learn, "
            "so the loss does not show learning"
        )

    @property
    def entropy_nats(self) -> float:
        """The entropy of the uniform distribution."""
        return math.log(self.vocabulary)

    def row(self, name: str, length: int) -> list[int]:
        """`length` tokens, 64 bits each, so that the remainder's bias stays below 2**-46."""
        bits = hashlib.shake_256(f"random-tokens/{self.seed}/{name}".encode()).digest(8 * length)
        return [int.from_bytes(bits[i : i + 8], "little") % self.vocabulary for i in range(0, len(bits), 8)]

    def training_row(self, step: int, row: int, length: int) -> list[int]:
        """A row of a step; no two steps share one."""
        return self.row(f"train/{step}/{row}", length)

    def held_out_row(self, row: int, length: int) -> list[int]:
        """A row named apart from all training rows."""
        return self.row(f"held-out/{row}", length)

    def describe(self, length: int) -> dict[str, object]:  # noqa: ARG002 - text needs it
        """Nothing beside the kind and the seed."""
        return {}

    def source_nats(self, row: list[int]) -> float:
        """Every token costs the entropy."""
        return self.entropy_nats * (len(row) - 1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Markov:
    """A Markov chain of known entropy, so that learning is measured against an optimum.

    The transition matrix is a weighted sum of permutations, with weights 1/2, 1/4, ..., so each row
    and each column sums to one: the stationary distribution is uniform, and rows start in it. The
    entropy rate is then just the mean entropy of the matrix's rows.
    """

    seed: int
    cumulative: tuple[tuple[int, ...], ...]
    targets: tuple[tuple[int, ...], ...]

    @property
    def proves(self) -> str:
        """What a run on the chain shows."""
        return (
            "the source has a known entropy, and the held-out rows are never trained on: "
            "a loss that falls towards the entropy shows learning"
        )

    @property
    def entropy_nats(self) -> float:
        """The entropy rate: the mean, over equally likely states, of what follows each."""
        return math.fsum(self._nats(state) for state in range(len(self.targets))) / len(self.targets)

    def row(self, name: str, length: int) -> list[int]:
        """`length` states in sequence, the first one uniform."""
        bits = hashlib.shake_256(f"markov/{self.seed}/{name}".encode()).digest(2 * length)
        draws = memoryview(bits).cast("H") if _IS_LITTLE else _little_shorts(bits)
        state = draws[0] * len(self.targets) // TOTAL
        tokens = [state]
        for draw in draws[1:]:
            state = self.targets[state][bisect_right(self.cumulative[state], draw)]
            tokens.append(state)
        return tokens

    def training_row(self, step: int, row: int, length: int) -> list[int]:
        """A row of a step; no two steps share one."""
        return self.row(f"train/{step}/{row}", length)

    def held_out_row(self, row: int, length: int) -> list[int]:
        """A row named apart from all training rows."""
        return self.row(f"held-out/{row}", length)

    def describe(self, length: int) -> dict[str, object]:  # noqa: ARG002 - text needs it
        """Nothing beside the kind and the seed."""
        return {}

    def source_nats(self, row: list[int]) -> float:
        """The sum of -ln p over the row's transitions."""
        return math.fsum(
            -math.log(self._weights(state)[self.targets[state].index(after)] / TOTAL) for state, after in pairwise(row)
        )

    def _weights(self, state: int) -> list[int]:
        ends = self.cumulative[state]
        return [end - start for start, end in zip((0, *ends), ends, strict=False)]

    def _nats(self, state: int) -> float:
        return -math.fsum(w / TOTAL * math.log(w / TOTAL) for w in self._weights(state))


def make_source(config: Config, vocabulary: int) -> TokenSource:
    """The source that the config asks for, over token numbers below `vocabulary`.

    Raises `TrainingFailed` if text gives too few rows, or tokens that the model does not have.
    """
    data, recipe = config.data, config.recipe
    if data.kind == "random-tokens":
        return RandomTokens(seed=data.seed, vocabulary=vocabulary)
    if data.kind == "markov":
        return make_markov(data)
    source = make_text_source(data, config.model, rows_per_step=recipe.global_batch_size)
    source.check(length=recipe.sequence_length + 1, evaluation_rows=recipe.evaluation_rows, vocabulary=vocabulary)
    return source


def make_markov(data: DataConfig) -> Markov:
    """The chain that the seed, the states and the successors define."""
    permutations = [_permutation(data.seed, number, data.states) for number in range(data.successors)]
    # 1/2, 1/4, ... and the last one twice, so that they add up.
    weights = [TOTAL >> (number + 1) for number in range(data.successors)]
    weights[-1] = weights[-2]
    cumulative, targets = [], []
    for state in range(data.states):
        merged: dict[int, int] = {}
        for permutation, weight in zip(permutations, weights, strict=True):
            merged[permutation[state]] = merged.get(permutation[state], 0) + weight
        targets.append(tuple(merged))
        cumulative.append(tuple(accumulate(merged.values())))
    return Markov(seed=data.seed, cumulative=tuple(cumulative), targets=tuple(targets))


def describe_data(config: Config, source: TokenSource) -> dict[str, object]:
    """The data as `result.json` shows it."""
    entropy = source.entropy_nats
    return {
        "kind": config.data.kind,
        "seed": config.data.seed,
        "entropy_nats": None if entropy is None else f"{entropy:.6f}",
        "proves": source.proves,
        **source.describe(config.recipe.sequence_length + 1),
    }


def training_rows(source: TokenSource, *, step: int, rows: range, length: int) -> Tensor:
    """The rows of one training step; tokens: int64 [rows, length], on the CPU."""
    return torch.tensor([source.training_row(step, row, length) for row in rows], dtype=torch.int64)


def held_out_rows(source: TokenSource, *, rows: range, length: int) -> list[list[int]]:
    """Evaluation rows; named apart from all training rows, so they are never trained on."""
    return [source.held_out_row(row, length) for row in rows]


def row_digests(tokens: Tensor) -> list[bytes]:
    """One sha256 per row, over its little-endian 32-bit numbers; tokens: int64 [rows, length]."""
    return [hashlib.sha256(struct.pack(f"<{len(row)}I", *row)).digest() for row in tokens.tolist()]


def batch_digest(digests: list[bytes]) -> str:
    """The digest of a global batch: sha256 over its rows' digests, in row order."""
    return "sha256:" + hashlib.sha256(b"".join(digests)).hexdigest()


def _permutation(seed: int, number: int, size: int) -> list[int]:
    """A permutation of range(size): the numbers sorted by their hash."""
    name = f"markov/{seed}/permutation/{number}/"
    return sorted(range(size), key=lambda state: hashlib.sha256(f"{name}{state}".encode()).digest())


_IS_LITTLE = memoryview(b"\x01\x00").cast("H")[0] == 1


def _little_shorts(bits: bytes) -> list[int]:
    return [int.from_bytes(bits[i : i + 2], "little") for i in range(0, len(bits), 2)]
