"""The alarm: loud, complete, and safe for the terminal."""

import io

from rich.console import Console

from rdlc.cli.transport_alarm import show_alarm, show_transport
from rdlc.core.transport.judged import JudgedTransport
from rdlc.core.transport.report import LikelyCause, TransportReport
from tests.transport_samples import judged

CAUSE = LikelyCause(cause="no plugin [bold]x[/bold]", fix="put it in", line="nccl/a.log:3: Could not\x1b[2J find")
COST = ("slower: 6.3 times, 1.965 s a step against 312.0 ms in the baseline", "lost: 55.1 min in 2,000 steps")


def report(found: JudgedTransport, **other: object) -> TransportReport:
    values: dict[str, object] = {
        "predicted_bytes": 1000,
        "moved_bytes": 1002,
        "lines": ("nccl/a.log:9: Using network Socket",),
        "causes": (CAUSE,),
        "observed": {},
        "cost": COST,
        **other,
    }
    return TransportReport(judged=found, **values)  # type: ignore[arg-type]  # one of each field


def shown(found: TransportReport, *, is_terminal: bool) -> str:
    file = io.StringIO()
    console = Console(
        file=file, force_terminal=is_terminal, width=110, markup=False, highlight=False, color_system=None
    )
    show_transport(console, found)
    return file.getvalue()


FALLBACK = report(judged("fallback", "socket"))


def test_without_a_terminal_each_line_of_the_alarm_is_marked() -> None:
    assert shown(FALLBACK, is_terminal=False).splitlines() == [
        "!!! FELL BACK TO A SLOWER TRANSPORT",
        (
            "!!! seen      fell back to socket, and the lock says efa (network.transport); "
            "proven by NCCL's own lines and by the bytes moved"
        ),
        "!!! bytes     1,002 a step over sockets between workers, 100.20 % of the 1,000 that the collectives must move",
        "!!! shown by  nccl/a.log:9: Using network Socket",
        "!!! slower    6.3 times, 1.965 s a step against 312.0 ms in the baseline",
        "!!! lost      55.1 min in 2,000 steps",
        "!!! likely    no plugin [bold]x[/bold]",
        "!!!           nccl/a.log:3: Could not\\x1b[2J find",
        "!!! fix       put it in",
    ]


def test_on_a_terminal_it_is_a_panel_that_a_log_cannot_steer() -> None:
    panel = shown(FALLBACK, is_terminal=True)

    assert panel.splitlines()[0].startswith("\u256d\u2500 FELL BACK TO A SLOWER TRANSPORT \u2500")
    assert "no plugin [bold]x[/bold]" in panel
    assert "\x1b[2J" not in panel


def test_a_transport_that_is_right_raises_no_alarm_and_shows_its_bytes_and_notes() -> None:
    fine = report(judged(), moved_bytes=0, warnings=("SHM where P2P was expected",), causes=(), cost=())

    assert shown(fine, is_terminal=False).splitlines() == [
        "  bytes     0 a step over sockets between workers, 0.00 % of the 1,000 that the collectives must move",
        "  note      SHM where P2P was expected",
    ]


def test_bytes_that_were_not_measured_are_not_none() -> None:
    unknown = report(judged("unknown", "efa"), moved_bytes=None, lines=(), causes=(), cost=())

    assert shown(unknown, is_terminal=False).splitlines() == [
        "!!! TRANSPORT NOT PROVEN",
        "!!! seen      not proven: why; the lock says efa (network.transport)",
        "!!! bytes     not measured; the collectives must move 1,000 a step",
    ]


def test_the_early_alarm_says_nothing_of_a_transport_that_is_right() -> None:
    file = io.StringIO()

    show_alarm(Console(file=file), report(judged()))

    assert file.getvalue() == ""
