"""Transcripts of `rdlc diff`."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from inline_snapshot import snapshot
from rich.console import Console

from rdlc.cli import run_command_line
from rdlc.cli.diff_markdown import code_span
from rdlc.cli.diff_text import value_text, write_pair
from rdlc.core.baseline import write_baseline
from rdlc.core.lockfile import write_lock
from rdlc.operations.diff import diff_paths
from tests.diff_samples import (
    TENSORS,
    a_fingerprint,
    change_step,
    change_tensor,
    make_baseline,
    make_lock,
    make_outcome,
    make_record,
    write_record_folder,
)
from tests.operations.test_diff import FakeFiles

LOCK = make_lock()
OTHER = make_lock(
    config={"learning_rate": "1e-3", "steps": 3},
    overrides={"learning_rate": "1e-3"},
    files={"fsdp_qwen/loop.py": "b" * 64, "fsdp_qwen/new.py": "c" * 64},
)

Rdlc = Callable[..., tuple[int, str, str]]


@pytest.fixture
def rdlc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Rdlc:
    """Calls the command line in a folder with two locks, a baseline and two records."""
    monkeypatch.chdir(tmp_path)
    Path("recipes").mkdir()
    Path("a.lock.yaml").write_bytes(write_lock(LOCK))
    Path("b.lock.yaml").write_bytes(write_lock(OTHER))
    Path("a.baseline.yaml").write_bytes(write_baseline(make_baseline(LOCK, make_outcome())))
    outcome = change_step(make_outcome(), 2, gradient_norm=(9.0).hex(), parameters=a_fingerprint(77))
    outcome = change_tensor(outcome, 2, TENSORS[1], a_fingerprint(99))
    drifted = replace(make_record(OTHER), accepted={"code": "a fix"}, observed={"torch": "2.13.1"})
    write_record_folder(Path("runs/tiny/r1"), LOCK, make_outcome())
    write_record_folder(Path("runs/tiny/r2"), OTHER, outcome, drifted)

    def call(*arguments: str) -> tuple[int, str, str]:
        code = run_command_line(["diff", *arguments])
        captured = capsys.readouterr()
        return code, with_names(captured.out), captured.err

    return call


def with_names(text: str) -> str:
    """The text with a name for each whole digest."""
    for side, lock in (("A", LOCK), ("B", OTHER)):
        text = text.replace(lock.id, f"<id of {side}>")
        for section, value in lock.digests.items():
            text = text.replace(value, f"<{section} of {side}>")
    for character in "abc":
        text = text.replace(character * 64, f"<64 {character}>")
    return text


def test_two_locks_differ_in_words_grouped_by_section(rdlc: Rdlc) -> None:
    assert rdlc("a.lock.yaml", "b.lock.yaml") == snapshot(
        (
            0,
            """\
A  a.lock.yaml (lock)
B  b.lock.yaml (lock)

code
  changed    resolved.files["fsdp_qwen/loop.py"]  "<64 a>" -> "<64 b>"
  only in B  resolved.files["fsdp_qwen/new.py"]  "<64 c>"

recipe
  changed    resolved.config.learning_rate  "3e-3" -> "1e-3"
""",
            "",
        )
    )


def test_nothing_differs_and_nothing_is_on_stdout(rdlc: Rdlc) -> None:
    assert rdlc("--exit-code", "a.lock.yaml", "a.lock.yaml") == snapshot((0, "", "no differences\n"))


def test_a_lock_and_its_record_do_not_differ(rdlc: Rdlc) -> None:
    assert rdlc("--exit-code", "a.lock.yaml", "r1") == snapshot(
        (
            0,
            "",
            """\
no differences
outcomes are not compared: a.lock.yaml has none
""",
        )
    )


def test_a_record_and_its_baseline_have_the_same_bits(rdlc: Rdlc) -> None:
    assert rdlc("--exit-code", "a.baseline.yaml", "runs/tiny/r1") == snapshot(
        (
            0,
            "",
            """\
no differences
the outcomes have the same bits in 3 steps and the final parameters
""",
        )
    )


def test_quiet_says_nothing_where_nothing_differs(rdlc: Rdlc) -> None:
    assert rdlc("-q", "a.baseline.yaml", "r1") == (0, "", "")


def test_records_differ_with_the_first_step_and_parameter(rdlc: Rdlc) -> None:
    assert rdlc("--exit-code", "r1", "r2") == snapshot(
        (
            1,
            """\
A  r1 (record)
B  r2 (record)

code
  changed    resolved.files["fsdp_qwen/loop.py"]  "<64 a>" -> "<64 b>"
  only in B  resolved.files["fsdp_qwen/new.py"]  "<64 c>"

recipe
  changed    resolved.config.learning_rate  "3e-3" -> "1e-3"

observed
  changed    torch  "2.13.0" -> "2.13.1"

outcome
  first differs at step 2: gradient norm, parameters
    gradient norm: 0x1.8000000000000p+0 (1.5) in A, 0x1.2000000000000p+3 (9.0) in B
    parameters: 0x0000000000000002 in A, 0x000000000000004d in B
    1 of 2 parameters differ after step 2: `model.layers.10.weight`
  may be the cause: code.resolved.files["fsdp_qwen/loop.py"]
  may be the cause: code.resolved.files["fsdp_qwen/new.py"]
  may be the cause: recipe.resolved.config.learning_rate
  may be the cause: observed.torch

notes
  r2: drift in `code` was allowed: a fix
""",
            "",
        )
    )


def test_the_first_is_compared_with_each_other_one(rdlc: Rdlc) -> None:
    assert rdlc("a.baseline.yaml", "r2", "r1") == snapshot(
        (
            0,
            """\
A  a.baseline.yaml (baseline)
B  r2 (record)

code
  changed    the whole section  "<code of A>" -> "<code of B>"

recipe
  changed    the whole section  "<recipe of A>" -> "<recipe of B>"

outcome
  first differs at step 2: gradient norm, parameters
    gradient norm: 0x1.8000000000000p+0 (1.5) in A, 0x1.2000000000000p+3 (9.0) in B
    parameters: 0x0000000000000002 in A, 0x000000000000004d in B
    1 of 2 parameters differ after step 2: `model.layers.10.weight`
  may be the cause: code
  may be the cause: recipe

notes
  r2: drift in `code` was allowed: a fix
  section `code` differs; a.baseline.yaml holds only its digest
  section `recipe` differs; a.baseline.yaml holds only its digest

A  a.baseline.yaml (baseline)
B  r1 (record)

no differences

notes
  the outcomes have the same bits in 3 steps and the final parameters
""",
            "",
        )
    )


def test_markdown_holds_tables_and_only_code_spans_from_files(rdlc: Rdlc) -> None:
    assert rdlc("--markdown", "r1", "r2") == snapshot(
        (
            0,
            """\
### record A and record B

- A: `r1`
- B: `r2`

#### code

| | address | A | B |
|---|---|---|---|
| changed | `resolved.files["fsdp_qwen/loop.py"]` | `"<64 a>"` | `"<64 b>"` |
| only in B | `resolved.files["fsdp_qwen/new.py"]` |  | `"<64 c>"` |

#### recipe

| | address | A | B |
|---|---|---|---|
| changed | `resolved.config.learning_rate` | `"3e-3"` | `"1e-3"` |

#### observed

| | address | A | B |
|---|---|---|---|
| changed | `torch` | `"2.13.0"` | `"2.13.1"` |

#### outcome

- `first differs at step 2: gradient norm, parameters`
- `gradient norm: 0x1.8000000000000p+0 (1.5) in A, 0x1.2000000000000p+3 (9.0) in B`
- `parameters: 0x0000000000000002 in A, 0x000000000000004d in B`
- `` 1 of 2 parameters differ after step 2: `model.layers.10.weight` ``
- `may be the cause: code.resolved.files["fsdp_qwen/loop.py"]`
- `may be the cause: code.resolved.files["fsdp_qwen/new.py"]`
- `may be the cause: recipe.resolved.config.learning_rate`
- `may be the cause: observed.torch`

#### notes

- ``r2: drift in `code` was allowed: a fix``
""",
            "",
        )
    )


def test_json_holds_every_change_with_full_digests(rdlc: Rdlc) -> None:
    code, out, err = rdlc("--json", "--exit-code", "a.baseline.yaml", "r2")

    assert (code, err) == (1, "")
    assert json.loads(out) == snapshot(
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


def test_json_of_the_same_says_so(rdlc: Rdlc) -> None:
    document = json.loads(rdlc("--json", "r1", "r1")[1])

    assert (document["status"], document["exit_code"], document["differences"][0]["changes"]) == (
        "same",
        0,
        [],
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["a.lock.yaml"],
            ("error: two or more locks, records or baselines are due, and 1 is given\nhint: `rdlc diff A B`\n"),
        ),
        (
            ["a.lock.yaml", "none.yaml"],
            "error: none.yaml: the lock, record or baseline does not exist\n",
        ),
        (
            ["a.lock.yaml", "none"],
            "error: none: there is no such record\nhint: `rdlc runs` lists them\n",
        ),
        (["a.lock.yaml", "x" * 5000], f"error: {'x' * 5000}: cannot be read: File name too long\n"),
        (
            ["a.lock.yaml", "recipes"],
            "error: recipes: there is no such record\nhint: `rdlc runs` lists them\n",
        ),
    ],
)
def test_bad_usage_is_refused_with_one_message(rdlc: Rdlc, arguments: list[str], message: str) -> None:
    assert rdlc(*arguments) == (2, "", message)


def test_json_and_markdown_exclude_each_other(rdlc: Rdlc) -> None:
    code, out, err = rdlc("--json", "--markdown", "r1", "r2")

    assert (code, json.loads(out)["error"]["message"], err) == (
        2,
        "`--markdown` and `--json` exclude each other",
        "",
    )


def test_a_damaged_baseline_is_refused(rdlc: Rdlc) -> None:
    path = Path("a.baseline.yaml")
    path.write_bytes(path.read_bytes().replace(b'name: "tiny"', b"name: tiny"))

    assert rdlc("a.lock.yaml", "a.baseline.yaml") == (
        2,
        "",
        "error: a.baseline.yaml:4: the line is not what rdlc writes for this content\n",
    )


def test_control_characters_do_not_reach_the_terminal(rdlc: Rdlc) -> None:
    record = replace(make_record(LOCK), observed={"torch": "\x1b[2J", "new\nline": "x"})
    write_record_folder(Path("runs/tiny/r3"), LOCK, make_outcome(), record)

    out = rdlc("r1", "r3")[1] + rdlc("--markdown", "r1", "r3")[1]

    assert [character for character in out if not character.isprintable() and character != "\n"] == []


def test_digests_are_short_on_a_terminal_only(capsys: pytest.CaptureFixture[str]) -> None:
    pair = diff_paths(
        [Path("a.yaml"), Path("b.yaml")],
        files=FakeFiles({"a.yaml": write_lock(LOCK), "b.yaml": write_lock(OTHER)}),
    )[0]

    write_pair(Console(force_terminal=True, color_system=None), pair, is_first=True)

    line = capsys.readouterr().out.split("\n")[4]
    assert line == ('  changed    resolved.files["fsdp_qwen/loop.py"]  "aaaaaaaaaaaa" -> "bbbbbbbbbbbb"')


def test_a_short_value_keeps_12_digits_of_each_digest() -> None:
    value = ["sha256:" + "a" * 64, "b" * 64, "c" * 63]

    assert value_text(value, is_short=True) == f'["sha256:{"a" * 12}", "{"b" * 12}", "{"c" * 63}"]'


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("plain", "`plain`"),
        ("a|b", "`a\\|b`"),
        ("a`b``c", "```a`b``c```"),
        ("`a`", "`` `a` ``"),
        ("two\nlines", "`two\\nlines`"),
        ("", "`  `"),
    ],
)
def test_no_text_ends_its_code_span(text: str, span: str) -> None:
    assert code_span(text) == span
