"""Transcripts of `rdlc diff`."""

from dataclasses import replace
from pathlib import Path

import pytest
from inline_snapshot import snapshot
from rich.console import Console

from rdlc.cli.diff_text import value_text, write_pair
from rdlc.core.lockfile import write_lock
from rdlc.operations.diff import diff_paths
from tests.cli.diff_project import LOCK, OTHER, Diff
from tests.diff_samples import make_outcome, make_record, write_record_folder
from tests.operations.test_diff import FakeFiles, NoLayers


def test_two_locks_differ_in_words_grouped_by_section(diff: Diff) -> None:
    assert diff("a.lock.yaml", "b.lock.yaml") == snapshot(
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


def test_nothing_differs_and_nothing_is_on_stdout(diff: Diff) -> None:
    assert diff("--exit-code", "a.lock.yaml", "a.lock.yaml") == snapshot((0, "", "no differences\n"))


def test_a_lock_and_its_record_do_not_differ(diff: Diff) -> None:
    assert diff("--exit-code", "a.lock.yaml", "r1") == snapshot(
        (
            0,
            "",
            """\
no differences
outcomes are not compared: a.lock.yaml has none
""",
        )
    )


def test_a_record_and_its_baseline_have_the_same_bits(diff: Diff) -> None:
    assert diff("--exit-code", "a.baseline.yaml", "runs/tiny/r1") == snapshot(
        (
            0,
            "",
            """\
no differences
the outcomes have the same bits in 3 steps and the final parameters
""",
        )
    )


def test_quiet_says_nothing_where_nothing_differs(diff: Diff) -> None:
    assert diff("-q", "a.baseline.yaml", "r1") == (0, "", "")


def test_records_differ_with_the_first_step_and_parameter(diff: Diff) -> None:
    assert diff("--exit-code", "r1", "r2") == snapshot(
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


def test_the_first_is_compared_with_each_other_one(diff: Diff) -> None:
    assert diff("a.baseline.yaml", "r2", "r1") == snapshot(
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
def test_bad_usage_is_refused_with_one_message(diff: Diff, arguments: list[str], message: str) -> None:
    assert diff(*arguments) == (2, "", message)


def test_a_damaged_baseline_is_refused(diff: Diff) -> None:
    path = Path("a.baseline.yaml")
    path.write_bytes(path.read_bytes().replace(b'name: "tiny"', b"name: tiny"))

    assert diff("a.lock.yaml", "a.baseline.yaml") == (
        2,
        "",
        "error: a.baseline.yaml:4: the line is not what rdlc writes for this content\n",
    )


def test_control_characters_do_not_reach_the_terminal(diff: Diff) -> None:
    record = replace(make_record(LOCK), observed={"torch": "\x1b[2J", "new\nline": "x"})
    write_record_folder(Path("runs/tiny/r3"), LOCK, make_outcome(), record)

    out = diff("r1", "r3")[1] + diff("--markdown", "r1", "r3")[1]

    assert [character for character in out if not character.isprintable() and character != "\n"] == []


def test_digests_are_short_on_a_terminal_only(capsys: pytest.CaptureFixture[str]) -> None:
    pair = diff_paths(
        [Path("a.yaml"), Path("b.yaml")],
        files=FakeFiles({"a.yaml": write_lock(LOCK), "b.yaml": write_lock(OTHER)}),
        layers=NoLayers(),
    )[0]

    write_pair(Console(force_terminal=True, color_system=None), pair, is_first=True)

    line = capsys.readouterr().out.split("\n")[4]
    assert line == ('  changed    resolved.files["fsdp_qwen/loop.py"]  "aaaaaaaaaaaa" -> "bbbbbbbbbbbb"')


def test_a_short_value_keeps_12_digits_of_each_digest() -> None:
    value = ["sha256:" + "a" * 64, "b" * 64, "c" * 63]

    assert value_text(value, is_short=True) == f'["sha256:{"a" * 12}", "{"b" * 12}", "{"c" * 63}"]'
