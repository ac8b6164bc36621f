"""What a whole run records: its steps, its layout, its data and what each rank saw."""

from tests.recipes.conftest import (
    ENVIRONMENT,
    Run,
    Start,
)


def test_a_finished_run_leaves_its_whole_record(reference: Run) -> None:
    assert reference.phases == [
        ("starting-workers", 1),
        ("training", 1),
        ("warmed-up", 1),
        ("evaluating", 1),
        ("finished", 1),
    ]
    result = reference.result
    assert {k: result[k] for k in ("format", "status", "error", "first_step", "last_step")} == {
        "format": 1,
        "status": "finished",
        "error": None,
        "first_step": 1,
        "last_step": 4,
    }
    assert result["attempts"] == [{"attempt": 1, "start_step": 1, "reason": None}]
    assert result["parameters"] == reference.steps[-1]["parameters"]
    assert result["timing"]["counted_steps"] == 3
    assert [rank["rank"] for rank in result["ranks"]] == [0, 1]
    assert [(point["step"], sorted(point["files"])) for point in result["checkpoints"]] == [
        (step, [f"step-00000{step}/__{rank}_0.distcp" for rank in (0, 1)]) for step in (2, 4)
    ]
    assert list((reference.output / "parts").iterdir()) == []


def test_layout_counts_every_parameter_once(reference: Run) -> None:
    assert reference.result["layout"] == {
        "parameters": 109_120,
        "trainable_tensors": 26,
        "sharding": "fsdp",
        "units": [
            {
                "name": "model.layers.0",
                "parameters": 46_336,
                "padded_parameters": 46_336,
                "reshard_after_forward": True,
            },
            {
                "name": "model.layers.1",
                "parameters": 46_336,
                "padded_parameters": 46_336,
                "reshard_after_forward": True,
            },
            {"name": "", "parameters": 16_448, "padded_parameters": 16_448, "reshard_after_forward": False},
        ],
        "dtypes": {"master": "float32", "compute": "float32", "reduce": "float32"},
        "shape": {"blocks": 2, "attention_width": 64},
    }


def test_each_rank_records_what_it_saw(reference: Run) -> None:
    worker = reference.worker(1)

    assert worker["environment"] == ENVIRONMENT
    assert worker["switches"] == {
        "cublas.allow_bf16_reduced_precision_reduction": "false",
        "cublas.allow_fp16_reduced_precision_reduction": "false",
        "cublas.allow_tf32": "false",
        "cudnn.allow_tf32": "false",
        "cudnn.benchmark": "false",
        "cudnn.deterministic": "true",
        "deterministic_algorithms": "true",
        "deterministic_algorithms.warn_only": "false",
        "fill_uninitialized_memory": "false",
        "sdp.cudnn": "false",
        "sdp.flash": "true",
        "sdp.math": "true",
        "sdp.mem_efficient": "false",
        "threads": "1",
    }
    seen = {k: worker[k] for k in ("rank", "attempt", "ray", "device", "network_used")}
    assert seen == {"rank": 1, "attempt": 1, "ray": None, "device": "cpu", "network_used": "gloo"}
    assert worker["peak_rss_bytes"] > 50_000_000


def test_a_run_on_noise_says_that_it_does_not_show_learning(run: Start) -> None:
    ended = run(data={"kind": "random-tokens"}, recipe={"steps": 1, "fingerprint_every": 5})

    assert ended.result["data"] == {
        "kind": "random-tokens",
        "seed": 0,
        "entropy_nats": "5.545177",
        "proves": "random tokens prove that the infrastructure runs; they hold nothing to learn, "
        "so the loss does not show learning",
    }
    # The last step is always fingerprinted.
    assert sorted(ended.fingerprints) == [0, 1]


def test_fast_mode_sets_no_switch_and_records_them(run: Start) -> None:
    worker = run(determinism={"mode": "fast", "environment": {}}, recipe={"steps": 1}).worker(0)

    assert worker["switches"]["deterministic_algorithms"] == "false"
    assert worker["switches"]["sdp.mem_efficient"] == "true"
