"""Bandwidth by size as a picture of characters, plain ASCII where the terminal may not know more."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rdlc.core.probe.panels import Panel, Scale, make_scale, size_words, tick_words
from rdlc.core.probe.svg import ARM_WORDS

_ROWS_PER_DECADE = 3
_COLUMNS_PER_SIZE = 9


@dataclass(frozen=True, kw_only=True, slots=True)
class Characters:
    """What a chart is drawn with; `both` where two marks fall on one place."""

    locked: str
    tcp: str
    both: str
    side: str
    corner: str
    floor: str


_PLAIN = Characters(locked="o", tcp="x", both="#", side="|", corner="+", floor="-")
_DRAWN = Characters(locked="\u25cf", tcp="\u25a1", both="\u25a3", side="\u2502", corner="\u2514", floor="\u2500")


def draw_charts(panels: Sequence[Panel], *, is_plain: bool) -> Iterator[str]:
    """The lines of a chart for each kind, all on one scale, both axes logarithmic."""
    if not panels:
        return
    characters = _PLAIN if is_plain else _DRAWN
    scale = make_scale(panels)
    for panel in panels:
        yield ""
        yield panel.kind
        yield from _draw(panel, scale, characters)
    arms = [arm for arm in ARM_WORDS if any(arm in panel.series for panel in panels)]
    legend = [f"{getattr(characters, arm)} {ARM_WORDS[arm]}" for arm in arms]
    if len(arms) > 1:
        legend.append(f"{characters.both} both")
    yield f"{'':>10} {'   '.join(legend)}"


def _draw(panel: Panel, scale: Scale, characters: Characters) -> Iterator[str]:
    height = (scale.highest - scale.lowest) * _ROWS_PER_DECADE + 1
    width = (len(scale.sizes) - 1) * _COLUMNS_PER_SIZE + 1
    grid = [[" "] * width for _ in range(height)]
    for arm, points in panel.series.items():
        mark = getattr(characters, arm)
        for size, rate in points:
            row, column = round(scale.up(rate) * (height - 1)), round(scale.across(size) * (width - 1))
            grid[row][column] = mark if grid[row][column] == " " else characters.both
    for row in range(height - 1, -1, -1):
        is_tick = row % _ROWS_PER_DECADE == 0
        label = tick_words(scale.lowest + row // _ROWS_PER_DECADE) if is_tick else ""
        yield f"{label:>10} {characters.side}  {''.join(grid[row])}".rstrip()
    yield f"{'':>10} {characters.corner}{characters.floor * (width + 4)}"
    yield f"{'':>11}  {_size_labels(scale, width)}"


def _size_labels(scale: Scale, width: int) -> str:
    """The sizes below their columns; one that would touch the one before is left out."""
    line = [" "] * (width + 12)
    free_from = 0
    for size in scale.sizes:
        words = size_words(size)
        start = max(0, 1 + round(scale.across(size) * (width - 1)) - len(words) // 2)
        if start >= free_from:
            line[start : start + len(words)] = words
            free_from = start + len(words) + 1
    return "".join(line).rstrip()
