"""Nothing that is shown may steer the terminal."""

from hypothesis import given
from hypothesis import strategies as st

from rdlc.core.text import one_line, printable


def test_control_characters_are_shown_as_escapes() -> None:
    assert printable("a\x1b[31mb\x07\x9b\u202e\u200b\r\ud800") == "a\\x1b[31mb\\x07\\x9b\\u202e\\u200b\\x0d\\ud800"


def test_line_ends_and_tabs_stay_but_not_on_one_line() -> None:
    assert printable("a\nb\tc") == "a\nb\tc"
    assert one_line("a\nb\tc") == "a\\nb\\tc"


@given(st.text())
def test_one_line_is_printable_and_bounded_whatever_it_is_given(text: str) -> None:
    line = one_line(text, limit=40)

    assert len(line) <= 40
    assert not any(ord(character) < 0x20 or 0x7F <= ord(character) < 0xA0 for character in line)


def test_what_is_cut_says_so() -> None:
    assert one_line("x" * 50, limit=10) == "xxxxxxx..."
