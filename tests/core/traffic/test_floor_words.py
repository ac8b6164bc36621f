"""The floors of a step, beside which a network-bound run is seen."""

from dataclasses import replace

from rdlc.core.traffic.floor_words import Workload, compute_floor, describe_floors, wire_floor
from rdlc.core.traffic.layout import Layout, Shape, Unit
from rdlc.core.traffic.prediction import step_traffic
from rdlc.core.traffic.rates import peak_flops, wire_bytes_per_s

# The shape of Qwen2.5-1.5B, with embedding and last norm as the group that stays gathered.
_BLOCK, _ROOT = 46_797_824, 233_375_232
LAYOUT = Layout(
    parameters=28 * _BLOCK + _ROOT,
    trainable_tensors=338,
    units=(
        *(
            Unit(name=f"b{n}", parameters=_BLOCK, reshard_after_forward=True, padded_parameters=_BLOCK)
            for n in range(28)
        ),
        Unit(name="", parameters=_ROOT, reshard_after_forward=False, padded_parameters=_ROOT),
    ),
    compute_dtype="bfloat16",
    reduce_dtype="float32",
    shape=Shape(blocks=28, attention_width=1536),
)
# The sample's two g6.12xlarge with a batch of 1 x 128 tokens on each of eight L4.
SAMPLE = Workload(
    layout=LAYOUT,
    traffic=step_traffic(LAYOUT, ranks=8, nodes=2, backend="nccl"),
    device="NVIDIA L4",
    tokens=8 * 128,
    sequence_length=128,
    wire_bytes_per_s=wire_bytes_per_s("g6.12xlarge"),
)


def test_a_step_whose_wire_floor_is_higher_is_network_bound() -> None:
    compute, wire = compute_floor(SAMPLE), wire_floor(SAMPLE)

    assert compute is not None
    assert wire is not None
    # 9.33 GFLOP a token at 8 x 121 TFLOP/s; 10.4 GB from each node at 40 Gbit/s.
    assert (round(compute, 4), round(wire, 2)) == (0.0099, 2.08)
    assert describe_floors(SAMPLE) == (
        "floors: compute 9.9 ms a step at the peak of 8 x NVIDIA L4; "
        "wire 2,079.5 ms a step for 10,397,605,358 bytes a step from each node at 40 Gbit/s: network-bound"
    )


def test_a_long_step_is_compute_bound() -> None:
    assert describe_floors(replace(SAMPLE, tokens=8 * 65536)).endswith(": compute-bound")


def test_what_has_no_known_rate_is_not_measured() -> None:
    cpu = replace(
        SAMPLE, device="cpu", traffic=step_traffic(LAYOUT, ranks=2, nodes=1, backend="gloo"), wire_bytes_per_s=None
    )

    assert (compute_floor(cpu), wire_floor(cpu)) == (None, None)
    assert describe_floors(cpu).startswith(
        "floors: compute not measured, no peak rate is known for cpu with bfloat16; no wire, one node ("
    )
    assert "wire not measured, no rate is known for" in describe_floors(replace(SAMPLE, wire_bytes_per_s=None))


def test_a_device_or_a_node_that_is_not_in_the_table_is_not_taken_for_another() -> None:
    assert peak_flops("NVIDIA H200", "bfloat16") == 989 * 10**12
    assert peak_flops("NVIDIA H200 NVL", "bfloat16") is None
    assert peak_flops("NVIDIA H200", "float16") is None
    assert wire_bytes_per_s("p5.48xlarge") == 400 * 10**9
    assert wire_bytes_per_s("g6.xlarge") is None
