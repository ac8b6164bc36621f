"""The stateless sources, recomputed with the standard library."""

import hashlib
import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsdp_qwen.data import (
    Markov,
    RandomTokens,
    batch_digest,
    held_out_rows,
    make_markov,
    row_digests,
    training_rows,
)
from fsdp_qwen.data_settings import DataConfig


def make_chain(*, seed: int = 0, states: int = 32, successors: int = 4) -> Markov:
    return make_markov(DataConfig(kind="markov", seed=seed, states=states, successors=successors))


def test_a_row_of_noise_is_what_hashlib_says() -> None:
    source = RandomTokens(seed=7, vocabulary=1000)

    bits = hashlib.shake_256(b"random-tokens/7/train/3/1").digest(8 * 5)
    expected = [int.from_bytes(bits[i : i + 8], "little") % 1000 for i in range(0, 40, 8)]
    assert training_rows(source, step=3, rows=range(1, 2), length=5).tolist() == [expected]


@given(seed=st.integers(0, 99), states=st.integers(2, 64), successors=st.integers(2, 16))
def test_every_state_is_equally_likely_in_the_long_run(seed: int, states: int, successors: int) -> None:
    chain = make_chain(seed=seed, states=states, successors=successors)

    into = Counter[int]()
    for ends, targets in zip(chain.cumulative, chain.targets, strict=True):
        for start, end, target in zip((0, *ends), ends, targets, strict=False):
            into[target] += end - start
    assert into == dict.fromkeys(range(states), 1 << 16)


def test_the_entropy_is_that_of_the_transitions() -> None:
    chain = make_chain(states=8, successors=3)

    nats = 0.0
    for ends in chain.cumulative:
        for start, end in zip((0, *ends), ends, strict=False):
            p = (end - start) / 65536
            nats -= p * math.log(p) / 8
    assert chain.entropy_nats == pytest.approx(nats, abs=1e-12)


def test_the_chains_own_loss_on_its_rows_is_near_its_entropy() -> None:
    chain = make_chain()
    rows = held_out_rows(chain, rows=range(50), length=401)

    mean = math.fsum(chain.source_nats(row) for row in rows) / (50 * 400)

    assert mean == pytest.approx(chain.entropy_nats, abs=0.02)


def test_a_row_does_not_depend_on_which_rows_are_asked_with_it() -> None:
    chain = make_chain()

    together = training_rows(chain, step=1, rows=range(8), length=9)

    assert training_rows(chain, step=1, rows=range(5, 8), length=9).equal(together[5:])


def test_steps_rows_seeds_and_splits_all_differ() -> None:
    chain = make_chain()
    rows = [
        training_rows(chain, step=1, rows=range(1), length=40)[0].tolist(),
        training_rows(chain, step=1, rows=range(1, 2), length=40)[0].tolist(),
        training_rows(chain, step=2, rows=range(1), length=40)[0].tolist(),
        training_rows(make_chain(seed=1), step=1, rows=range(1), length=40)[0].tolist(),
        held_out_rows(chain, rows=range(1), length=40)[0],
    ]

    assert len({tuple(row) for row in rows}) == 5


def test_a_batchs_digest_does_not_depend_on_how_its_rows_are_spread() -> None:
    rows = training_rows(make_chain(), step=1, rows=range(6), length=9)

    whole = batch_digest(row_digests(rows))

    assert batch_digest(row_digests(rows[:4]) + row_digests(rows[4:])) == whole
    assert batch_digest(row_digests(rows[4:]) + row_digests(rows[:4])) != whole
