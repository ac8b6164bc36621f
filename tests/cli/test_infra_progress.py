"""The progress of Terraform, with a terminal and without one."""

import io

import pytest
from rich.console import Console

from rdlc.cli.edge import Session
from rdlc.cli.infra_progress import InfraProgress
from rdlc.cli.stopping import StopSignals
from rdlc.core.infra.events import Event


class Clock:
    """A clock that is set by hand."""

    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def event(kind: str, action: str = "create", address: str = "aws_vpc.main") -> Event:
    return Event(kind=kind, action=action, address=address)


def make(clock: Clock, *, quiet: bool = False) -> InfraProgress:
    return InfraProgress(Session(as_json=False, quiet=quiet), StopSignals(monotonic=clock), monotonic=clock)


def test_without_a_terminal_a_line_comes_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    with make(clock) as progress:
        progress.begin("apply")
        for number in range(3):
            progress.event(event("planned_change", address=f"aws_vpc.v{number}"))
            progress.event(event("apply_start", address=f"aws_vpc.v{number}"))
        for clock.now_s in (5.0, 10.0, 15.0):
            progress.tick()
        progress.event(event("apply_errored", address="aws_vpc.v0"))
        clock.now_s = 20.0
        progress.tick()
        progress.end()

    said = capsys.readouterr()
    assert (said.out, said.err.splitlines()) == (
        "",
        [
            "applying",
            "applying  0 of 3  aws_vpc.v0, aws_vpc.v1 and 1 more",
            "applying  1 of 3, 1 failed  aws_vpc.v1, aws_vpc.v2",
        ],
    )


def test_quiet_progress_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    with make(clock, quiet=True) as progress:
        progress.begin("plan")
        clock.now_s = 99.0
        progress.tick()
        progress.end()

    assert capsys.readouterr() == ("", "")


def test_on_a_terminal_a_bar_shows_what_is_done_and_is_taken_away() -> None:
    clock, shown = Clock(), io.StringIO()
    session = Session(as_json=False, quiet=False)
    session.err = Console(file=shown, force_terminal=True, width=100)
    with InfraProgress(session, StopSignals(monotonic=clock), monotonic=clock) as progress:
        progress.begin("destroy")
        progress.event(event("planned_change", "delete"))
        progress.event(event("apply_start", "delete"))
        progress.event(event("apply_complete", "delete"))
        progress.end()

    assert "destroying  1 of 1" in shown.getvalue()
    assert shown.getvalue().endswith("\x1b[2K")


def test_a_signal_is_handed_on_only_while_a_step_goes_on() -> None:
    clock = Clock()
    stop = StopSignals(monotonic=clock)
    with InfraProgress(Session(as_json=False, quiet=True), stop, monotonic=clock) as progress:
        before = stop.is_guarding
        progress.begin("apply")
        during = stop.is_guarding
        progress.end()

        assert (before, during, stop.is_guarding, progress.stop_level()) == (False, True, False, 0)
