"""Progress in bytes, with a terminal and without one."""

import io

import pytest
from rich.console import Console

from rdlc.cli.byte_progress import ByteProgress
from rdlc.cli.edge import Session


def test_without_a_terminal_a_line_comes_every_five_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    times = iter((0.0, 4.9, 5.0, 9.9, 10.0, 99.0))

    with ByteProgress(Session(as_json=False, quiet=False), "reading\x1bray", clock=lambda: next(times)) as progress:
        for done in range(1, 6):
            progress.update(done * 1_000_000, 5_000_000)

    said = capsys.readouterr()
    assert (said.out, said.err) == (
        "",
        "reading\\x1bray: 2 of 5 MB\nreading\\x1bray: 4 of 5 MB\nreading\\x1bray: 5 of 5 MB\n",
    )


@pytest.mark.parametrize("is_terminal", [True, False])
def test_quiet_progress_says_nothing(is_terminal: bool, capsys: pytest.CaptureFixture[str]) -> None:
    shown = io.StringIO()
    session = Session(as_json=False, quiet=True)
    session.err = Console(file=shown, force_terminal=is_terminal)
    times = iter((0.0, 60.0))

    with ByteProgress(session, "reading", clock=lambda: next(times)) as progress:
        progress.update(1, 2)

    assert (shown.getvalue(), *capsys.readouterr()) == ("", "", "")


def test_on_a_terminal_a_bar_shows_what_is_done_and_is_taken_away() -> None:
    shown = io.StringIO()
    session = Session(as_json=False, quiet=False)
    session.err = Console(file=shown, force_terminal=True, width=120, color_system=None)

    with ByteProgress(session, "reading [ray]") as progress:
        progress.update(1_000_000, 4_000_000)

    text = shown.getvalue()
    assert "reading [ray]" in text
    assert "1.0/4.0 MB" in text
    # Erases its own line when it ends.
    assert text.endswith("\x1b[2K")


def test_an_error_inside_is_not_swallowed() -> None:
    shown = io.StringIO()
    session = Session(as_json=False, quiet=False)
    session.err = Console(file=shown, force_terminal=True)

    with pytest.raises(ValueError, match=r"^stop$"), ByteProgress(session, "reading"):
        raise ValueError("stop")
