"""How long a client waits, and when it stops."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdlc.adapters.registry.pace import Pace, parse_retry_after


def waits(pace: Pace, *, retry_after: str = "") -> list[float]:
    """Every wait of one request that is never answered."""
    slept: list[float] = []
    waiting = Pace(
        attempts=pace.attempts,
        patience_s=pace.patience_s,
        sleep=slept.append,
        now=lambda: 0.0,
        jitter=pace.jitter,
    ).start()
    while waiting.wait(retry_after):
        pass
    return slept


def test_waits_double_up_to_the_longest() -> None:
    assert waits(Pace(attempts=8, jitter=lambda: 0.0)) == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 16.0]


def test_chance_adds_up_to_half_of_the_wait() -> None:
    assert waits(Pace(attempts=4, jitter=lambda: 1.0)) == [0.75, 1.5, 3.0]
    assert waits(Pace(attempts=2, jitter=lambda: 1.0), retry_after="100") == [108.0]


def test_no_wait_goes_beyond_the_patience() -> None:
    assert waits(Pace(patience_s=10.0, jitter=lambda: 0.0), retry_after="4") == [4.0, 4.0]
    assert waits(Pace(patience_s=10.0, jitter=lambda: 0.0), retry_after="11") == []


@settings(deadline=None)
@given(st.integers(1, 9), st.floats(0, 200), st.floats(0, 1, exclude_max=True), st.integers(0, 300))
def test_all_waits_together_stay_within_half_again_of_the_patience(
    attempts: int, patience_s: float, chance: float, after_s: int
) -> None:
    slept = waits(Pace(attempts=attempts, patience_s=patience_s, jitter=lambda: chance), retry_after=str(after_s))

    assert len(slept) < attempts
    assert sum(slept) <= patience_s * 1.5


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0.0),
        (" 12 ", 12.0),
        ("9" * 50, 999999999.0),
        ("Thu, 01 Jan 1970 00:02:00 GMT", 20.0),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0),
        ("-5", None),
        ("1.5", None),
        ("\u0661", None),
        ("soon", None),
        ("", None),
    ],
)
def test_retry_after_is_seconds_or_a_date(text: str, seconds: float | None) -> None:
    assert parse_retry_after(text, now_s=100.0) == seconds


@settings(deadline=None)
@given(st.text(max_size=40))
def test_any_retry_after_is_read_without_an_error(text: str) -> None:
    found = parse_retry_after(text, now_s=0.0)

    assert found is None or found >= 0
