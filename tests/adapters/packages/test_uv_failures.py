"""uv's proofs become facts: what the base has is said, conclusions are left out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdlc.adapters.packages.uv_failures import explain, read_failure
from rdlc.core.text import one_line

BASE = {"torch": "2.13.0+cu130", "numpy": "2.5.1", "torchvision": "0.28.0+cu130"}


def proof(*lines: str) -> str:
    return "\n".join(("error: No solution found when resolving dependencies", *lines))


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (
            proof(
                "  cause: Because all versions of old depend on numpy<2 and numpy==2.5.1, we can conclude that all",
                "         versions of old cannot be used.",
                "         And because you require old, we can conclude that your requirements are unsatisfiable.",
            ),
            "all versions of old depend on numpy<2, and the base has numpy 2.5.1; you require old",
        ),
        (
            proof(
                "  cause: Because torchvision==0.28.0+cu130 depends on torch==2.13.0 and you require torch>=2.14, we",
                "         can conclude that your requirements are unsatisfiable.",
            ),
            "torchvision==0.28.0+cu130 of the base depends on torch==2.13.0 and you require torch>=2.14",
        ),
        (
            proof(
                "  cause: Because only the following versions of a are available:",
                "             a==1.0",
                "             a==2.0",
                "         and a>=1.0 depends on b, we can conclude that a depends on b. (1)",
                "",
                "         Because b was not found in the package registry and we know from (1) that a depends on b, we",
                "         can conclude that a cannot be used.",
                "         And because you require a, we can conclude that your requirements are unsatisfiable.",
                "",
                "hint: Something else.",
            ),
            (
                "only the following versions of a are available: a==1.0 a==2.0 and a>=1.0 depends on b;"
                " b was not found in the package registry and a depends on b; you require a"
            ),
        ),
        (
            proof("  cause: Because numpy==2.5.1.post1 and pynumpy==2.5.1 and numpy==2.5.1, we can conclude that x."),
            "numpy==2.5.1.post1 and pynumpy==2.5.1, and the base has numpy 2.5.1",
        ),
        (
            proof("  cause: Because numpy==2.5.1 and you require numpy<2, we can conclude that x."),
            "the base has numpy 2.5.1 and you require numpy<2",
        ),
        ("error: something\n  cause: some\x1b[31m reason\n", "something some\\x1b[31m reason"),
        ("", ""),
    ],
)
def test_a_proof_becomes_facts(said: str, reason: str) -> None:
    assert explain(read_failure(said), base=BASE) == reason


def test_a_long_story_is_cut() -> None:
    reason = explain(read_failure(proof("  cause: Because " + "a" * 5000 + ", we can conclude that x.")), base=BASE)

    assert reason == "a" * 1997 + "..."


@given(st.text(), st.booleans())
def test_no_words_raise_an_error_or_reach_the_terminal_unescaped(words: str, is_proof: bool) -> None:
    reason = explain(read_failure(proof(f"  cause: Because {words}") if is_proof else words), base=BASE)

    assert reason == one_line(reason, limit=2000)
