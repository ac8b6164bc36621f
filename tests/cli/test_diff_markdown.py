"""Transcripts of `rdlc diff --markdown`."""

import pytest
from inline_snapshot import snapshot

from rdlc.cli.diff_markdown import code_span
from tests.cli.diff_project import Diff


def test_markdown_holds_tables_and_only_code_spans_from_files(diff: Diff) -> None:
    assert diff("--markdown", "r1", "r2") == snapshot(
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
