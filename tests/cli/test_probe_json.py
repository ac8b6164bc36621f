"""A probe as one JSON document, from made-up figures."""

import json

from inline_snapshot import snapshot

from rdlc.cli.probe_json import result_document
from tests.cli.probe_results import result_of
from tests.core.probe.samples import two_arms


def test_json_says_of_each_arm_what_was_set_and_what_was_proven() -> None:
    document = result_document(result_of(two_arms(), step_s=0.01, usd="9.20", finding="unknown"))

    assert json.loads(json.dumps(document)) == document
    assert document["arms"][1] == snapshot(
        {
            "name": "tcp",
            "note": "a stand-in",
            "transport": {
                "finding": "unknown",
                "verdict": "unknown",
                "transport": "none",
                "applicable": True,
                "proof": "none",
                "disagreement": False,
                "reason": "no line names a communicator",
                "expected": "",
                "expected_from": "",
                "predicted_bytes": None,
                "moved_bytes": None,
                "lines": [],
                "causes": [],
                "observed": {},
                "warnings": [],
                "cost": [],
            },
            "backend": "nccl",
            "torch": "2.13.0",
            "nccl": "2.28.9",
            "nodes": 1,
            "variables": {"NCCL_NET": "Socket", "NCCL_P2P_DISABLE": "1", "NCCL_SHM_DISABLE": "1"},
            "ranks": [
                {"rank": 0, "node_rank": 0, "host": "here", "device": "cpu"},
                {"rank": 1, "node_rank": 0, "host": "here", "device": "cpu"},
            ],
        }
    )


def test_json_has_every_figure_in_bytes_and_seconds() -> None:
    document = result_document(result_of(two_arms(), step_s=0.01, usd="9.20", finding="unknown"))

    assert document["bandwidth"][1] == snapshot(
        {
            "kind": "all-reduce",
            "size_bytes": 4194304,
            "locked": {"median_s": 0.002, "algbw": 2097152000.0, "busbw": 2097152000.0},
            "tcp": {"median_s": 0.02, "algbw": 209715200.0, "busbw": 209715200.0},
            "ratio": 10.0,
        }
    )
    assert document["step"] == snapshot(
        {
            "baseline_s": 0.01,
            "rank_bytes": 6815744,
            "node_bytes": 0,
            "predicted": [
                {"arm": "locked", "collectives_s": 0.006500000000000001, "low_s": 0.01, "high_s": 0.01},
                {
                    "arm": "tcp",
                    "collectives_s": 0.06100000000000001,
                    "low_s": 0.06100000000000001,
                    "high_s": 0.06450000000000002,
                },
            ],
        }
    )
    assert document["fallback_hour"] == snapshot(
        {"lost_share": [0.8360655737704918, 0.8449612403100776], "lost_usd": ["7.69", "7.77"]}
    )
    assert (document["has_tcp_arm"], document["price_usd_per_h"]) == (True, "9.20")
