"""Bandwidths of collectives, and the least time that a step can take."""

from rdlc.core.traffic.layout import Layout


def algorithm_bandwidth(size_bytes: int, seconds: float) -> float:
    """Bytes per second of a collective as its caller sees it: size over time.

    `size_bytes` is the whole: the output of an all-gather, the input of a reduce-scatter or an
    all-reduce. Source: NVIDIA's nccl-tests, doc/PERFORMANCE.md.
    """
    assert seconds > 0, seconds
    return size_bytes / seconds


def bus_factor(kind: str, ranks: int) -> float:
    """What algorithm bandwidth is multiplied by to be comparable with a link's own bandwidth.

    Source: NVIDIA's nccl-tests, doc/PERFORMANCE.md: 2 (n - 1) / n for all-reduce, (n - 1) / n for
    all-gather and reduce-scatter over n ranks.
    """
    factors = {"all-reduce": 2, "all-gather": 1, "reduce-scatter": 1}
    return factors[kind] * (ranks - 1) / ranks


def bus_bandwidth(kind: str, size_bytes: int, seconds: float, ranks: int) -> float:
    """Bytes per second that each link carries in a collective, whatever the number of ranks.

    Source: NVIDIA's nccl-tests, doc/PERFORMANCE.md. It counts the bytes that the collective needs:
    a backend that moves more, as gloo's reduce-scatter does, shows a lower figure.
    """
    return algorithm_bandwidth(size_bytes, seconds) * bus_factor(kind, ranks)


def wire_floor_s(size_bytes: int, bytes_per_s: float) -> float:
    """The least seconds in which so many bytes pass a link: size over bandwidth."""
    assert bytes_per_s > 0, bytes_per_s
    return size_bytes / bytes_per_s


def compute_floor_s(flops: int, flops_per_s: float) -> float:
    """The least seconds in which so many operations can be done; for n devices give n times their rate."""
    assert flops_per_s > 0, flops_per_s
    return flops / flops_per_s


def step_flops(layout: Layout, *, tokens: int, sequence_length: int) -> int:
    """Floating-point operations of one step over so many tokens, over all ranks together.

    6 P D for the weights (2 forward, 4 backward, for each of P parameters and D tokens; Kaplan et
    al. 2020, arXiv:2001.08361, section 2.1), and 12 L H Q T a token for attention (L blocks of H
    heads of width Q over T tokens; Chowdhery et al. 2022, arXiv:2204.02311, appendix B; causal
    masks are not subtracted there). An embedding that is the output layer too counts once, as the
    latter. A layout without a shape leaves attention out, and so gives a lower floor.
    """
    weights = 6 * layout.parameters * tokens
    if layout.shape is None:
        return weights
    return weights + 12 * layout.shape.blocks * layout.shape.attention_width * sequence_length * tokens


def predicted_step_s(compute_s: float, wire_s: float) -> tuple[float, float]:
    """The step time if the network works wholly beside the computing, and if it never does: max and sum."""
    return max(compute_s, wire_s), compute_s + wire_s
