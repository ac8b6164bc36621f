"""Bandwidth by size as a picture of characters."""

from inline_snapshot import snapshot

from rdlc.cli.probe_chart import draw_charts
from rdlc.core.probe.panels import Panel, make_panels
from rdlc.core.probe.prediction import tabulate
from rdlc.core.probe.reading import read_probe
from tests.core.probe.samples import two_arms


def test_the_chart_is_plain_ascii_without_a_terminal_and_marks_what_falls_together() -> None:
    panel = Panel(kind="all-gather", series={"locked": ((1 << 10, 1e6), (1 << 14, 1e8)), "tcp": ((1 << 10, 1e6),)})

    plain = "\n".join(draw_charts([panel], is_plain=True))

    assert plain.isascii()
    assert plain == snapshot("""\

all-gather
  100 MB/s |           o
           |
           |
   10 MB/s |
           |
           |
    1 MB/s |  #
           +--------------
             1 KiB  16 KiB
           o locked transport   x TCP   # both\
""")


def test_the_chart_on_a_terminal_has_the_same_form() -> None:
    panels = make_panels(tabulate(read_probe(two_arms(), name="probe.jsonl")))

    plain, drawn = ("\n".join(draw_charts(panels, is_plain=is_plain)) for is_plain in (True, False))

    translated = drawn.translate(str.maketrans("\u25cf\u25a1\u25a3\u2502\u2514\u2500", "ox#|+-"))
    assert translated == plain
    assert drawn != plain


def test_no_panel_is_no_chart() -> None:
    assert list(draw_charts([], is_plain=True)) == []
