"""Following a job: what is shown, and which limit ends it."""

import json
import math
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdlc.adapters.ray.status import JobEnd
from rdlc.operations.follow import Following, Progress, follow, limits_in_seconds
from tests.operations.scripted import FINISHED, Voice

STOPPED = JobEnd(reason="stopped", signal=15)


@dataclass(kw_only=True)
class Lines:
    """A growing file: what comes at each look."""

    looks: list[list[str]] = field(default_factory=list)

    def read_new(self) -> tuple[str, ...]:
        return tuple(self.looks.pop(0)) if self.looks else ()


@dataclass(kw_only=True)
class Polled:
    """A job that ends at a certain poll, or when it is stopped."""

    polls: int
    at_stop: JobEnd = STOPPED

    def poll(self) -> JobEnd | None:
        self.polls -= 1
        return FINISHED if self.polls < 0 else None

    def stop(self) -> JobEnd:
        return self.at_stop


class Clock:
    """A clock on which every wait takes as long as one says."""

    def __init__(self, wait_s: float) -> None:
        self.now_s, self.wait_s = 0.0, wait_s

    def monotonic(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += self.wait_s


def followed(
    job: Polled,
    *,
    metrics: list[list[str]],
    limits: dict[str, str],
    wait_s: float = 1.0,
    phases: tuple[str, ...] = ("training",),
    warm: str = "",
) -> tuple[object, str, Voice]:
    clock, voice = Clock(wait_s), Voice()
    following = Following(
        job=job,
        metrics=Lines(looks=metrics),
        phases=Lines(looks=[[json.dumps({"phase": phase})] for phase in phases]),
        limits_s=limits_in_seconds(limits),
        steps_total=4,
        check_warm=lambda: warm,
        monotonic=clock.monotonic,
        sleep=clock.sleep,
    )
    end, reason = follow(following, voice)
    return end, reason, voice


def step(number: int, *, step_s: float = 0.5) -> str:
    return json.dumps({"step": number, "loss": (4.0 - number).hex(), "tokens": 100, "step_s": step_s})


def test_steps_are_shown_with_rate_and_time_left_over_all_but_the_first() -> None:
    end, reason, voice = followed(Polled(polls=3), metrics=[[step(1, step_s=9.0)], [step(2), step(3)]], limits={})

    assert (end, reason, voice.phases) == (FINISHED, "", ["training"])
    assert voice.steps == [
        Progress(step=1, steps_total=4, loss=3.0, tokens_per_s=None, left_s=None),
        Progress(step=2, steps_total=4, loss=2.0, tokens_per_s=200.0, left_s=1.0),
        Progress(step=3, steps_total=4, loss=1.0, tokens_per_s=200.0, left_s=0.5),
    ]


def test_what_came_just_before_the_end_is_shown() -> None:
    assert len(followed(Polled(polls=0), metrics=[[step(1), step(2)]], limits={})[2].steps) == 2


def test_a_step_starts_the_idle_time_anew_and_the_whole_time_goes_on() -> None:
    metrics = [[step(number)] for number in range(1, 100)]

    idle = followed(Polled(polls=50), metrics=list(metrics), limits={"no_step_minutes": "1"}, wait_s=50.0)
    whole = followed(Polled(polls=90), metrics=list(metrics), limits={"max_hours": "1"}, wait_s=50.0)

    assert idle[:2] == (FINISHED, "")
    assert whole[:2] == (STOPPED, "limits.max_hours: it ran for 1 h")


def test_a_run_is_stopped_where_warm_up_shows_that_it_went_wrong() -> None:
    phases = ("training", "warmed-up")

    went_on = followed(Polled(polls=9), metrics=[[step(1)]], limits={}, phases=phases)
    stopped = followed(Polled(polls=9), metrics=[[step(1)]], limits={}, phases=phases, warm="fell back")
    before_it = followed(Polled(polls=9), metrics=[[step(1)]], limits={}, phases=("training",), warm="fell back")

    assert went_on[:2] == (FINISHED, "")
    assert stopped[:2] == (STOPPED, "fell back")
    assert before_it[:2] == (FINISHED, "")


def test_no_step_is_due_while_packages_are_installed_and_the_whole_time_goes_on() -> None:
    limits = {"no_step_minutes": "1"}
    installing = ("starting-ray", "installing-packages")

    during = followed(Polled(polls=50), metrics=[], limits=limits, wait_s=50.0, phases=installing)
    after = followed(Polled(polls=50), metrics=[], limits=limits, wait_s=50.0, phases=(*installing, "starting-workers"))
    whole = followed(Polled(polls=90), metrics=[], limits={"max_hours": "1"}, wait_s=50.0, phases=installing)

    assert during[:2] == (FINISHED, "")
    assert after[:2] == (STOPPED, "limits.no_step_minutes: no step for 1 min")
    assert whole[:2] == (STOPPED, "limits.max_hours: it ran for 1 h")


def test_a_job_that_ended_by_itself_before_it_was_stopped_was_ended_by_no_limit() -> None:
    job = Polled(polls=50, at_stop=FINISHED)

    assert followed(job, metrics=[], limits={"no_step_minutes": "1"}, wait_s=61.0)[:2] == (FINISHED, "")


@given(st.lists(st.text(max_size=20) | st.sampled_from(["[" * 3000, "{}", "1", '{"step": null}', '{"loss": 1}'])))
def test_no_line_of_a_recipe_can_break_the_progress(lines: list[str]) -> None:
    end, _, voice = followed(Polled(polls=2), metrics=[lines], limits={})

    assert (end, len(voice.steps)) == (FINISHED, len(lines))


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-1", "1e400", "9" * 400, "true", "[]", '"x"'])
def test_a_value_that_is_no_measure_is_left_out_of_the_rates(value: str) -> None:
    line = f'{{"step": 2, "loss": "0x1p+0", "tokens": {value}, "step_s": {value}}}'

    progress = followed(Polled(polls=2), metrics=[[step(1), line, step(3)]], limits={})[2].steps[2]

    assert progress.tokens_per_s is not None
    assert progress.left_s is not None
    assert math.isfinite(progress.tokens_per_s)
    assert math.isfinite(progress.left_s)
