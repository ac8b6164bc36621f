"""The collected cases: real and adapted logs with the verdict that is right, and why."""

import json
from pathlib import Path
from typing import Any

import pytest

from rdlc.core.transport.verdict import LogVerdict
from tests.core.transport.nccl_lines import judge

_CASES = sorted((Path(__file__).parent / "cases").glob("*.log"))


def _expected(path: Path) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    return told


def _found(verdict: LogVerdict) -> dict[str, Any]:
    return {
        "verdict": verdict.verdict,
        "transport": verdict.transport,
        "applicable": verdict.is_applicable,
        "failed": verdict.has_failed,
        "nccl": verdict.nccl_versions[0] if verdict.nccl_versions else None,
        "nnodes": verdict.num_nodes,
    }


@pytest.mark.parametrize("path", _CASES, ids=[path.stem for path in _CASES])
def test_case_is_judged_as_its_file_says(path: Path) -> None:
    told = _expected(path)
    verdict = judge(path.read_bytes())

    assert _found(verdict) == {
        "verdict": told["verdict"],
        "transport": told["transport"],
        "applicable": told.get("applicable", True),
        "failed": told.get("failed", False),
        "nccl": told["nccl"],
        "nnodes": told["nnodes"],
    }, told["reason"]
    assert set(told.get("warn", [])) <= set(verdict.warning_words)
    if "attempts" in told:
        attempts = [{"commId": item.comm_id, "transport": item.transport} for item in verdict.attempts]
        assert attempts == told["attempts"]


@pytest.mark.parametrize("path", _CASES, ids=[path.stem for path in _CASES])
def test_case_with_windows_line_ends_is_judged_the_same(path: Path) -> None:
    data = path.read_bytes()

    assert _found(judge(data.replace(b"\n", b"\r\n"))) == _found(judge(data))


@pytest.mark.parametrize("path", _CASES, ids=[path.stem for path in _CASES])
def test_start_of_a_case_never_proves_what_the_whole_does_not(path: Path) -> None:
    data = path.read_bytes()
    whole = judge(data)
    allowed = {("unknown", "none"), ("unknown", "unknown"), (whole.verdict, whole.transport)}
    if len({attempt.transport for attempt in whole.attempts}) > 1:
        allowed.add(("fallback", whole.attempts[0].transport))

    found = {(part.verdict, part.transport) for part in (judge(data[:end]) for end in range(0, len(data), 997))}

    assert found <= allowed


def test_all_cases_are_there() -> None:
    assert len(_CASES) == 43


def test_every_rank_in_its_own_file_is_judged_like_one_merged_file() -> None:
    data = (Path(__file__).parent / "cases" / "44-efa-direct-fabric.log").read_text(encoding="utf-8")
    files: dict[str, str] = {}
    for line in data.splitlines(keepends=True):
        name = line.split(" ")[0].rpartition(":")[0]
        files[name] = files.get(name, "") + line

    assert len(files) == 4
    assert _found(judge(*files.values())) == _found(judge(data))
