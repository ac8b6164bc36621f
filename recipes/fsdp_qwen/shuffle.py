"""A shuffle without state: where an index lands follows from the key, the index and the size alone."""

import hashlib

_ROUNDS = 4


def shuffled(index: int, *, size: int, key: bytes) -> int:
    """The place of `index` in a permutation of range(size); no table is made, and none has to be saved.

    A Feistel network over the next even number of bits; what falls outside goes around again. Each
    round's function is keyed BLAKE2b, so that anyone can recompute an order.
    """
    assert 0 <= index < size
    half = max((size - 1).bit_length() + 1, 2) // 2
    mask = (1 << half) - 1
    while True:
        left, right = index >> half, index & mask
        for number in range(_ROUNDS):
            data = bytes([number]) + right.to_bytes(8, "little")
            mixed = int.from_bytes(hashlib.blake2b(data, key=key, digest_size=8).digest(), "little")
            left, right = right, left ^ (mixed & mask)
        index = left << half | right
        if index < size:
            return index
