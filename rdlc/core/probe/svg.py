"""A probe's bandwidths as an SVG picture: the same figures always give the same bytes."""

from collections.abc import Iterator, Sequence
from html import escape

from rdlc.core.probe.panels import Panel, Scale, make_panels, make_scale, rate_words, size_words, tick_words
from rdlc.core.probe.prediction import Row

_PANEL_WIDTH, _PANEL_HEIGHT = 250, 220
_LEFT, _TOP, _GAP, _BOTTOM = 78, 76, 26, 84
# Two colours that people who see no red or green tell apart; the marks differ in form too.
_COLOURS = {"locked": "#0072b2", "tcp": "#d55e00"}
ARM_WORDS = {"locked": "locked transport", "tcp": "TCP"}


def draw_svg(rows: Sequence[Row], *, title: str) -> bytes:
    """The picture: bus bandwidth by size, both axes logarithmic, a panel for each kind."""
    panels = make_panels(rows)
    width = _LEFT + max(1, len(panels)) * (_PANEL_WIDTH + _GAP)
    height = _TOP + _PANEL_HEIGHT + _BOTTOM
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">',
        f"<title>{escape(title)}</title>",
        '<g font-family="sans-serif" font-size="11">',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        _text(_LEFT, 20, title, size=14),
        *(_draw_panels(panels) if panels else [_text(_LEFT, 60, "nothing was measured")]),
        "</g>",
        "</svg>",
    ]
    return "\n".join(lines).encode("ascii", "xmlcharrefreplace") + b"\n"


def _draw_panels(panels: Sequence[Panel]) -> Iterator[str]:
    scale = make_scale(panels)
    arms = [arm for arm in ARM_WORDS if any(arm in panel.series for panel in panels)]
    for number, arm in enumerate(arms):
        x = _LEFT + number * 150
        yield _mark(arm, x + 5, 37)
        yield _text(x + 16, 41, ARM_WORDS[arm])
    for exponent in range(scale.lowest, scale.highest + 1):
        yield _text(_LEFT - 6, _y(scale, 10.0**exponent) + 4, tick_words(exponent), anchor="end")
    for number, panel in enumerate(panels):
        yield from _draw_panel(panel, scale, left=_LEFT + number * (_PANEL_WIDTH + _GAP))
    bottom = _TOP + _PANEL_HEIGHT
    yield _text(_LEFT, bottom + 72, "bus bandwidth (as nccl-tests counts it) by size; both axes are logarithmic")


def _draw_panel(panel: Panel, scale: Scale, *, left: int) -> Iterator[str]:
    bottom = _TOP + _PANEL_HEIGHT
    yield _text(left, _TOP - 6, panel.kind, size=12)
    for exponent in range(scale.lowest, scale.highest + 1):
        y = _y(scale, 10.0**exponent)
        yield f'<path d="M{left} {y:.1f}h{_PANEL_WIDTH}" stroke="#dddddd"/>'
    for size in scale.sizes:
        x = _x(scale, size, left)
        yield f'<path d="M{x:.1f} {bottom}v4" stroke="#000000"/>'
        yield (
            f'<text transform="translate({x + 4:.1f} {bottom + 10}) rotate(-60)" text-anchor="end">'
            f"{escape(size_words(size))}</text>"
        )
    yield f'<path d="M{left} {_TOP}v{_PANEL_HEIGHT}h{_PANEL_WIDTH}" fill="none" stroke="#000000"/>'
    for arm, points in panel.series.items():
        places = [(_x(scale, size, left), _y(scale, rate)) for size, rate in points]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        yield f'<polyline points="{path}" fill="none" stroke="{_COLOURS[arm]}" stroke-width="2"/>'
        for (x, y), (size, rate) in zip(places, points, strict=True):
            told = f"{panel.kind}, {size_words(size)}, {ARM_WORDS[arm]}: {rate_words(rate)}"
            yield _mark(arm, x, y, title=told)


def _x(scale: Scale, size: int, left: int) -> float:
    return left + 10 + scale.across(size) * (_PANEL_WIDTH - 20)


def _y(scale: Scale, bytes_per_s: float) -> float:
    return _TOP + _PANEL_HEIGHT - scale.up(bytes_per_s) * _PANEL_HEIGHT


def _mark(arm: str, x: float, y: float, *, title: str = "") -> str:
    told = f"<title>{escape(title)}</title>" if title else ""
    if arm == "locked":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{_COLOURS[arm]}">{told}</circle>'
    return f'<path d="M{x - 4:.1f} {y - 4:.1f}h8v8h-8z" fill="{_COLOURS[arm]}">{told}</path>'


def _text(x: float, y: float, text: str, *, size: int = 11, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}">{escape(text)}</text>'
