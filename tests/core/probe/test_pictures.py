"""Bandwidth by size as a picture: the scale, the words, and the SVG."""

import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from rdlc.core.probe.panels import Panel, make_panels, make_scale, rate_words, size_words, tick_words, time_words
from rdlc.core.probe.prediction import tabulate
from rdlc.core.probe.reading import read_probe
from rdlc.core.probe.svg import draw_svg
from tests.core.probe.samples import one_arm, two_arms

SVG = "{http://www.w3.org/2000/svg}"
ROWS = tabulate(read_probe(two_arms(), name="probe.jsonl"))


def test_panels_hold_what_was_measured_only() -> None:
    panels = make_panels(tabulate(read_probe(one_arm(), name="probe.jsonl")))

    assert panels[0] == Panel(kind="all-reduce", series={"locked": ((1024, 512_000.0),)})
    assert [(panel.kind, list(panel.series)) for panel in panels[1:]] == [
        ("all-gather", ["locked"]),
        ("reduce-scatter", ["locked"]),
    ]
    assert make_panels([replace(ROWS[0], locked_busbw=None, tcp_busbw=None)]) == ()


def test_the_scale_is_logarithmic_and_the_same_for_all_panels() -> None:
    scale = make_scale(make_panels(ROWS))

    assert (scale.sizes, scale.lowest, scale.highest) == ((1 << 20, 1 << 22), 8, 10)
    assert [scale.across(1 << power) for power in (20, 21, 22)] == [0.0, 0.5, 1.0]
    assert [scale.up(rate) for rate in (1e8, 1e9, 1e10)] == [0.0, 0.5, 1.0]


def test_a_scale_of_one_figure_has_room_around_it() -> None:
    scale = make_scale([Panel(kind="all-reduce", series={"locked": ((8, 1e6),)})])

    assert (scale.across(8), scale.lowest, scale.highest) == (0.5, 6, 7)


@pytest.mark.parametrize(
    ("size", "words"),
    [(1 << 10, "1 KiB"), (1020, "1,020 B"), (16 << 20, "16 MiB"), (1 << 30, "1 GiB"), (1536, "1,536 B"), (4, "4 B")],
)
def test_sizes_are_in_the_largest_unit_that_divides_them(size: int, words: str) -> None:
    assert size_words(size) == words


@pytest.mark.parametrize(
    ("rate", "words"),
    [(1.234e9, "1.23 GB/s"), (99.94e6, "99.9 MB/s"), (99.96e6, "100 MB/s"), (1e12, "1,000 GB/s"), (12, "12.0 B/s")],
)
def test_rates_have_three_digits(rate: float, words: str) -> None:
    assert rate_words(rate) == words


@pytest.mark.parametrize(
    ("seconds", "words"), [(1.5, "1.50 s"), (0.0123, "12.3 ms"), (1e-6, "1.00 us"), (2e-7, "0.20 us"), (120, "120 s")]
)
def test_times_have_three_digits(seconds: float, words: str) -> None:
    assert time_words(seconds) == words


def test_ticks_are_powers_of_ten() -> None:
    assert [tick_words(power) for power in (0, 3, 5, 9, 12)] == ["1 B/s", "1 kB/s", "100 kB/s", "1 GB/s", "1,000 GB/s"]


def test_the_picture_has_a_mark_with_its_words_for_every_figure() -> None:
    root = ET.fromstring(draw_svg(ROWS, title="toy: 2 ranks on 1 node, nccl"))

    told = [title.text for title in root.iter(f"{SVG}title")]
    assert told[:3] == [
        "toy: 2 ranks on 1 node, nccl",
        "all-reduce, 1 MiB, locked transport: 1.05 GB/s",
        "all-reduce, 4 MiB, locked transport: 2.10 GB/s",
    ]
    assert len(told) == 1 + 12
    # One line for each transport in each panel.
    assert len(list(root.iter(f"{SVG}polyline"))) == 6
    first = next(root.iter(f"{SVG}polyline"))
    assert first.get("points") == "88.0,183.7 318.0,150.6"


def test_the_same_figures_give_the_same_bytes_in_ascii() -> None:
    first, second = (draw_svg(ROWS, title="t\u00fc & <b>") for _ in range(2))

    assert first == second
    assert b"<title>t&#252; &amp; &lt;b&gt;</title>" in first
    assert first.isascii()


def test_without_any_figure_the_picture_says_so() -> None:
    root = ET.fromstring(draw_svg([], title="toy"))

    assert [text.text for text in root.iter(f"{SVG}text")] == ["toy", "nothing was measured"]
