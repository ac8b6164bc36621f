"""Text that is safe to show: from locks, logs and clusters nothing may steer the terminal."""

import re

# C0 without newline and tab, DEL, C1, bidirectional overrides, zero-width characters, BOM,
# line and paragraph separators, surrogates.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")


def printable(text: str) -> str:
    """The text with every character that could steer a terminal shown as `\\xNN` or `\\uNNNN`."""
    return _UNSAFE.sub(_escaped, text)


def one_line(text: str, *, limit: int = 120) -> str:
    """The text on one line, cut with `...` behind `limit` characters."""
    flat = printable(text.replace("\n", "\\n").replace("\t", "\\t"))
    return flat if len(flat) <= limit else flat[: limit - 3] + "..."


def _escaped(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
