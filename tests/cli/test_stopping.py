"""Ctrl-C while Terraform works."""

import os
import signal

import pytest

from rdlc.cli.stopping import StopSignals


class Clock:
    """A clock that is set by hand."""

    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


def press(stop: StopSignals, clock: Clock, *times_s: float) -> None:
    for time_s in times_s:
        clock.now_s = time_s
        os.kill(os.getpid(), signal.SIGINT)


def test_at_any_other_time_it_interrupts_as_ever(clock: Clock) -> None:
    with pytest.raises(KeyboardInterrupt), StopSignals(monotonic=clock) as stop:
        press(stop, clock, 0)


def test_the_first_asks_to_stop_in_order_and_says_so_once(clock: Clock) -> None:
    with StopSignals(monotonic=clock) as stop:
        stop.is_guarding = True
        assert (stop.level(), stop.new_words("apply")) == (0, "")

        press(stop, clock, 0)

        assert stop.level() == 1
        assert stop.new_words("apply") == (
            "interrupted: one signal was sent to Terraform; waiting until it has ended its `apply` in order"
        )
        assert stop.new_words("apply") == ""


@pytest.mark.parametrize(("times_s", "level"), [((0, 1), 1), ((0, 1, 2), 2), ((0, 10, 20), 1), ((0, 10, 11, 12), 2)])
def test_only_three_within_a_short_time_stop_it_at_once(clock: Clock, times_s: tuple[float, ...], level: int) -> None:
    with StopSignals(monotonic=clock) as stop:
        stop.is_guarding = True

        press(stop, clock, *times_s)

        assert stop.level() == level


def test_the_second_only_repeats_what_goes_on(clock: Clock) -> None:
    with StopSignals(monotonic=clock) as stop:
        stop.is_guarding = True
        press(stop, clock, 0)
        stop.new_words("apply")

        press(stop, clock, 1)

        assert stop.new_words("apply") == (
            "still waiting for Terraform to write its state; three within 5 s stop it at once and can lose state"
        )


def test_the_handlers_are_put_back_and_an_ignored_signal_stays_ignored() -> None:
    before = signal.getsignal(signal.SIGTERM)
    kept = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with StopSignals():
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
            assert signal.getsignal(signal.SIGTERM) is not before
    finally:
        signal.signal(signal.SIGHUP, kept)

    assert signal.getsignal(signal.SIGTERM) is before
