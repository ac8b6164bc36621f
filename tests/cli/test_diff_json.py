"""Transcripts of `rdlc diff --json`."""

import json

from inline_snapshot import snapshot

from tests.cli.diff_project import Diff

BASELINE_AND_RECORD = snapshot(
    {
        "rdlc": 1,
        "verb": "diff",
        "status": "different",
        "exit_code": 1,
        "error": None,
        "differences": [
            {
                "first": {
                    "path": "a.baseline.yaml",
                    "kind": "baseline",
                    "lock_id": "<id of A>",
                    "sections": {
                        "run": "<run of A>",
                        "environment": "<environment of A>",
                        "cluster": "<cluster of A>",
                        "code": "<code of A>",
                        "data": "<data of A>",
                        "recipe": "<recipe of A>",
                    },
                    "accepted": {},
                },
                "second": {
                    "path": "r2",
                    "kind": "record",
                    "lock_id": "<id of B>",
                    "sections": {
                        "run": "<run of A>",
                        "environment": "<environment of A>",
                        "cluster": "<cluster of A>",
                        "code": "<code of B>",
                        "data": "<data of A>",
                        "recipe": "<recipe of B>",
                    },
                    "accepted": {"code": "a fix"},
                },
                "same": False,
                "changes": [
                    {
                        "section": "code",
                        "address": "",
                        "kind": "changed",
                        "old": "<code of A>",
                        "new": "<code of B>",
                    },
                    {
                        "section": "recipe",
                        "address": "",
                        "kind": "changed",
                        "old": "<recipe of A>",
                        "new": "<recipe of B>",
                    },
                ],
                "image": None,
                "outcome": {
                    "equal": False,
                    "differs": True,
                    "steps_compared": 3,
                    "steps": [3, 3],
                    "evidence": {
                        "batch": 3,
                        "initial parameters": 1,
                        "loss": 3,
                        "gradient norm": 3,
                        "parameters": 3,
                        "evaluation loss": 1,
                        "final parameters": 1,
                        "tensors": 8,
                    },
                    "not_compared": [],
                    "divergence": {
                        "step": 2,
                        "fields": [
                            {
                                "name": "gradient norm",
                                "first": "0x1.8000000000000p+0",
                                "second": "0x1.2000000000000p+3",
                            },
                            {
                                "name": "parameters",
                                "first": "0x0000000000000002",
                                "second": "0x000000000000004d",
                            },
                        ],
                        "tensor_step": 2,
                        "tensors": ["model.layers.10.weight"],
                        "tensors_total": 2,
                    },
                },
                "suspects": ["code", "recipe"],
                "notes": [
                    "r2: drift in `code` was allowed: a fix",
                    "section `code` differs; a.baseline.yaml holds only its digest",
                    "section `recipe` differs; a.baseline.yaml holds only its digest",
                ],
            }
        ],
    }
)


def test_json_holds_every_change_with_full_digests(diff: Diff) -> None:
    code, out, err = diff("--json", "--exit-code", "a.baseline.yaml", "r2")

    assert (code, err) == (1, "")
    assert json.loads(out) == BASELINE_AND_RECORD


def test_json_of_the_same_says_so(diff: Diff) -> None:
    document = json.loads(diff("--json", "r1", "r1")[1])

    assert (document["status"], document["exit_code"], document["differences"][0]["changes"]) == (
        "same",
        0,
        [],
    )


def test_json_and_markdown_exclude_each_other(diff: Diff) -> None:
    code, out, err = diff("--json", "--markdown", "r1", "r2")

    assert (code, json.loads(out)["error"]["message"], err) == (
        2,
        "`--markdown` and `--json` exclude each other",
        "",
    )
