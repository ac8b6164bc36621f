"""The fingerprint against a slow, independent computation, in a world of one rank."""

import hashlib
import multiprocessing
import struct
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from hypothesis import given
from hypothesis import strategies as st

from fsdp_qwen import fingerprint as subject
from fsdp_qwen.failures import TrainingFailed
from fsdp_qwen.fingerprint import Fingerprint, fingerprint

CPU = torch.device("cpu")
MASK = (1 << 64) - 1


@pytest.fixture(scope="module", autouse=True)
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    store: Path = tmp_path_factory.mktemp("rendezvous") / "store"
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=0, world_size=1)
    yield
    dist.destroy_process_group()


def signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


def slow(values: list[float]) -> str:
    """The documented sum for a float32 vector, in plain Python."""
    total = 0
    for index, value in enumerate(values):
        mixed = index * 0x9E3779B97F4A7C15 & MASK
        mixed ^= (signed(mixed) >> 32) & MASK
        mixed = mixed * 0xD6E8FEB86659FD93 & MASK
        mixed ^= (signed(mixed) >> 32) & MASK
        (bits,) = struct.unpack("<i", struct.pack("<f", value))
        total += (bits + 1) * (mixed | 1)
    return f"0x{total & MASK:016x}"


@given(st.lists(st.floats(width=32), min_size=1, max_size=40))
def test_a_tensors_value_is_the_documented_sum(values: list[float]) -> None:
    # Through the bits, because a nan's payload may not survive the way through a Python float.
    bits = [struct.unpack("<i", struct.pack("<f", value))[0] for value in values]
    tensor = torch.tensor(bits, dtype=torch.int32).view(torch.float32)

    assert fingerprint({"w": tensor}, CPU).tensors == {"w": slow(values)}


def test_the_total_adds_up_the_tensors_by_name_dtype_and_shape() -> None:
    tensors = {"b": torch.ones(2, 3), "a": torch.arange(4.0)}

    made = fingerprint(tensors, CPU)

    total = 0
    for name, text in (("a", "a float32 [4]"), ("b", "b float32 [2, 3]")):
        factor = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") | 1
        total += int(made.tensors[name], 16) * factor
    assert list(made.tensors) == ["a", "b"]
    assert made.total == f"0x{total & MASK:016x}"


def of(tensor: torch.Tensor) -> Fingerprint:
    return fingerprint({"w": tensor}, CPU)


@pytest.mark.parametrize(
    "dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16, torch.int64, torch.int8]
)
def test_one_bit_anywhere_changes_it(dtype: torch.dtype) -> None:
    tensor = torch.arange(50).to(dtype)
    integer = {8: torch.int64, 4: torch.int32, 2: torch.int16, 1: torch.int8}[tensor.itemsize]

    seen = {of(tensor).total}
    for position in range(50):
        changed = tensor.clone()
        changed.view(integer)[position] ^= 1
        seen.add(of(changed).total)

    assert len(seen) == 51


def test_swapped_elements_and_minus_zero_change_it() -> None:
    tensor = torch.tensor([0.0, 1.0, 2.0])

    others = [torch.tensor([1.0, 0.0, 2.0]), torch.tensor([-0.0, 1.0, 2.0])]

    assert of(tensor) not in [of(other) for other in others]


def test_a_long_tensor_is_summed_piece_by_piece_without_a_seam() -> None:
    length = subject.CHUNK + 3
    tensor = torch.zeros(length, dtype=torch.int8)
    tensor[subject.CHUNK] = 1

    changed = int(of(tensor).tensors["w"], 16)
    zeros = int(of(torch.zeros(length, dtype=torch.int8)).tensors["w"], 16)

    # Adding one to one element adds that element's factor: the one of its index in the whole.
    mixed = subject.CHUNK * 0x9E3779B97F4A7C15 & MASK
    mixed ^= (signed(mixed) >> 32) & MASK
    mixed = mixed * 0xD6E8FEB86659FD93 & MASK
    mixed ^= (signed(mixed) >> 32) & MASK
    assert (changed - zeros) & MASK == mixed | 1


def one_of_two(rank: int, store: str, value: float, sender: Connection) -> None:
    """A rank of a world of two; sends the fingerprint of one plain tensor, or the refusal."""
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    try:
        sender.send(fingerprint({"step": torch.tensor(value)}, CPU).tensors["step"])
    except TrainingFailed as error:
        sender.send(str(error))


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        (2.0, [slow([2.0])] * 2),
        (3.0, ["step: should be equal on all ranks and is not"] * 2),
    ],
)
def test_a_plain_tensor_counts_once_and_must_be_equal_on_all_ranks(
    tmp_path: Path, second: float, expected: list[str]
) -> None:
    # Not the fork server: the one of this process must first be started by the launcher, which has
    # it import torch once for all.
    context = multiprocessing.get_context("spawn")
    pipes = [context.Pipe(duplex=False) for _ in range(2)]
    ranks = [
        context.Process(target=one_of_two, args=(rank, str(tmp_path / "store"), value, pipe[1]))
        for rank, (value, pipe) in enumerate(zip((2.0, second), pipes, strict=True))
    ]

    for process in ranks:
        process.start()
    for process in ranks:
        process.join(400)

    assert [receiver.recv() for receiver, _ in pipes] == expected
