"""The bytes that the collectives of one training step must move, from the model's layout.

The rings of NCCL and of gloo send over each rank's edge the same share of what is gathered or
reduced: an all-gather or a reduce-scatter of `size` bytes sends `size * (n - 1) / n` from each of
`n` ranks, an all-reduce twice that. With several ranks on a node, one edge of the ring leaves each
node, so that a node sends to others what one rank sends (source: the algorithms; NVIDIA's
nccl-tests, doc/PERFORMANCE.md, for the factors; both measured, see the tests).

FSDP with full sharding gathers each group's weights in the forward pass, again in the backward pass
if they were let go in between, and reduces its gradients once. Gradient accumulation multiplies the
gathering by its micro-steps, not the reduction, which only the last one has; recomputing activations
adds nothing. With replicas (HSDP) all that happens among the ranks of each replica, which lie side by
side, and then the ranks that hold the same part reduce it among themselves.

gloo has no reduce-scatter of its own: PyTorch runs an all-reduce of the whole input and keeps a
part, which sends twice as much. Its small control messages are counted too: 144 bytes for each
message sent (its header, and a notification each way), measured on PyTorch 2.13 with 2 and 4 ranks.
"""

from dataclasses import dataclass

from rdlc.core.traffic.layout import DTYPES, Layout, Unit

BACKENDS = ("gloo", "nccl")
KINDS = ("all-reduce", "all-gather", "reduce-scatter")
GLOO_MESSAGE_BYTES = 144
# gloo cuts what an all-reduce moves into pieces of at most so many bytes, at least two a rank.
_GLOO_SEGMENT_BYTES = 1 << 20


@dataclass(frozen=True, kw_only=True, slots=True)
class Collective:
    """A collective of a step: how often, and the bytes of the whole that it gathers or reduces.

    `every` is the number of steps between two steps that have it. `group` is how many ranks take part
    in each, None for all: those side by side, or, of those that hold the same part, one in each replica.
    """

    kind: str
    what: str
    size_bytes: int
    element_bytes: int
    count: int = 1
    every: int = 1
    group: int | None = None
    is_across: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Traffic:
    """Bytes that one step moves, in each direction; the mean over ranks and steps, rounded.

    `rank_bytes`: from each rank to the others, wherever they are. `node_bytes`: from each node to
    the others, 0 on one node. Both hold `control_bytes`, what the backend adds to the payload, and
    `small_bytes`, the payload of the collectives that move neither weights nor gradients.
    """

    ranks: int
    nodes: int
    backend: str
    rank_bytes: int
    node_bytes: int
    control_bytes: int
    small_bytes: int
    collectives: tuple[Collective, ...]


def step_traffic(
    layout: Layout,
    *,
    ranks: int,
    nodes: int,
    backend: str,
    rows_per_rank: int = 0,
    fingerprint_every: int = 1,
    micro_steps: int = 1,
) -> Traffic:
    """What the collectives of one step of the recipe move over `ranks` ranks on `nodes` nodes.

    `rows_per_rank` and `fingerprint_every` belong to the small collectives of the step, which weigh
    nothing beside a model's weights unless the model is tiny.
    """
    assert ranks >= nodes >= 1, (ranks, nodes)
    assert backend in BACKENDS, backend
    assert ranks % layout.replicas == 0, (ranks, layout.replicas)
    small = _small(layout, ranks=ranks, rows_per_rank=rows_per_rank, fingerprint_every=fingerprint_every)
    shards = ranks // layout.replicas
    collectives = (*_gathers(layout, shards, micro_steps), *_reductions(layout, shards), *small)
    payload = sum(_all_send(each, ranks, backend) for each in collectives)
    control = sum(_all_control(each, ranks) for each in collectives) if backend == "gloo" else 0
    rank_bytes = round((payload + control) / ranks)
    return Traffic(
        ranks=ranks,
        nodes=nodes,
        backend=backend,
        rank_bytes=rank_bytes,
        node_bytes=round(sum(_node_sends(each, ranks, nodes, backend) for each in collectives)) if nodes > 1 else 0,
        control_bytes=round(control / ranks),
        small_bytes=round(sum(_all_send(each, ranks, backend) for each in small) / ranks),
        collectives=collectives,
    )


def sent_bytes(kind: str, size_bytes: int, *, ranks: int, backend: str) -> int:
    """Payload that each rank sends in one collective; `size_bytes` is the whole that it gathers or reduces."""
    assert kind in KINDS, kind
    return round(
        _all_send(Collective(kind=kind, what="", size_bytes=size_bytes, element_bytes=1), ranks, backend) / ranks
    )


def _gathers(layout: Layout, shards: int, micro_steps: int) -> tuple[Collective, ...]:
    width = DTYPES[layout.compute_dtype]
    return tuple(
        Collective(
            kind="all-gather",
            what=_named("weights", unit),
            size_bytes=unit.padded_parameters * width,
            element_bytes=width,
            count=(2 if unit.reshard_after_forward else 1) * micro_steps,
            group=shards if layout.replicas > 1 else None,
        )
        for unit in layout.units
    )


def _reductions(layout: Layout, shards: int) -> tuple[Collective, ...]:
    width = DTYPES[layout.reduce_dtype]
    scatters = tuple(
        Collective(
            kind="reduce-scatter",
            what=_named("gradients", unit),
            size_bytes=unit.padded_parameters * width,
            element_bytes=width,
            group=shards if layout.replicas > 1 else None,
        )
        for unit in layout.units
    )
    if layout.replicas == 1:
        return scatters
    return scatters + tuple(
        Collective(
            kind="all-reduce",
            what=_named("gradients between replicas", unit),
            size_bytes=unit.padded_parameters // shards * width,
            element_bytes=width,
            group=layout.replicas,
            is_across=True,
        )
        for unit in layout.units
    )


def _small(layout: Layout, *, ranks: int, rows_per_rank: int, fingerprint_every: int) -> tuple[Collective, ...]:
    """The norms of all gradients at once, the losses with the rows' digests, the fingerprint."""
    return (
        Collective(kind="all-reduce", what="gradient norms", size_bytes=4 * layout.trainable_tensors, element_bytes=4),
        Collective(kind="all-gather", what="losses", size_bytes=(8 + 32 * rows_per_rank) * ranks, element_bytes=1),
        Collective(
            kind="all-reduce",
            what="fingerprint",
            size_bytes=16 * layout.trainable_tensors,
            element_bytes=8,
            every=fingerprint_every,
        ),
    )


def _named(what: str, unit: Unit) -> str:
    return f"{what} of {unit.name or 'the rest'}"


def _all_send(each: Collective, ranks: int, backend: str) -> float:
    """Payload that all ranks together send, the mean over steps."""
    group = each.group or ranks
    return _edge_bytes(each, group, backend) * ranks * each.count / each.every


def _edge_bytes(each: Collective, group: int, backend: str) -> float:
    """Payload that one rank sends in one collective among so many ranks: what goes over one edge of the ring."""
    has_two_rounds = each.kind == "all-reduce" or (each.kind == "reduce-scatter" and backend == "gloo")
    return (2 if has_two_rounds else 1) * each.size_bytes * (group - 1) / group


def _node_sends(each: Collective, ranks: int, nodes: int, backend: str) -> float:
    """Bytes that each node sends to others: one edge leaves it for every group that is on other nodes, too."""
    group, here = each.group or ranks, ranks // nodes
    if each.group is None:
        leaving = 1
    elif each.is_across:
        # The ranks of a node hold so many different parts; each part is on other nodes as well.
        parts = ranks // group
        leaving = min(here, parts) if group > max(1, here // parts) else 0
    else:
        leaving = 1 if group > here else 0
    control = gloo_control(each, group) / group if backend == "gloo" else 0.0
    return leaving * (_edge_bytes(each, group, backend) * each.count / each.every + control)


def _all_control(each: Collective, ranks: int) -> float:
    """Bytes that gloo adds over all groups of a collective; the mean over steps."""
    group = each.group or ranks
    return gloo_control(each, group) * (ranks // group)


def gloo_control(each: Collective, ranks: int) -> float:
    """Bytes that gloo adds to the payload of a collective, over all ranks together; the mean over steps."""
    elements = each.size_bytes // each.element_bytes
    if each.kind == "all-gather":
        # Each rank's part goes around the ring in two pieces.
        messages = (ranks - 1) * min(elements, 2 * ranks)
    else:
        pieces = max(-(-each.size_bytes // _GLOO_SEGMENT_BYTES), 2 * ranks)
        pieces = -(-pieces // ranks) * ranks
        messages = 2 * (ranks - 1) * min(elements, pieces)
    return GLOO_MESSAGE_BYTES * messages * each.count / each.every
