"""Charts as SVG, in the colour of the text around them: lines over the epochs, with axes."""
from __future__ import annotations

import math
from typing import List, Mapping, Sequence, Tuple

WIDTH, HEIGHT, LEFT, TOP, BELOW = 420, 170, 64, 10, 44  # of the plot, and of what is beside it, in pixels
DASHES = ("", "6 3", "2 3", "8 3 2 3")
LOGARITHMIC = 20  # an axis is, where the highest value is so many times the lowest


def escape(text: object) -> str:
    return str(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def chart(lines: Mapping[str, Sequence[Tuple[float, float]]], x_label: str, y_label: str) -> str:
    """Named lines of points (x, y), x being whole; "" where fewer than two values are finite. The axis of y is
    logarithmic where all are positive and far apart."""
    finite = {name: [point for point in points if all(map(math.isfinite, point))] for name, points in lines.items()}
    finite = {name: points for name, points in finite.items() if points}
    xs, ys = ([point[axis] for points in finite.values() for point in points] for axis in (0, 1))
    if len(ys) < 2:
        return ""
    logarithmic = min(ys) > 0 and max(ys) >= LOGARITHMIC * min(ys)
    scale = math.log10 if logarithmic else float

    heights = ticks(min(ys), max(ys), logarithmic)

    def right(x: float) -> float:
        return LEFT + (x - min(xs)) / ((max(xs) - min(xs)) or 1) * WIDTH

    def down(y: float) -> float:
        return TOP + HEIGHT - (scale(y) - scale(heights[0])) / ((scale(heights[-1]) - scale(heights[0])) or 1) * HEIGHT

    drawn = f'<path d="M{LEFT} {TOP}V{TOP + HEIGHT}H{LEFT + WIDTH}" fill="none" stroke="currentColor"/>'
    for y in heights:
        drawn += (f'<path d="M{LEFT} {down(y):.1f}h{WIDTH}" stroke="currentColor" stroke-opacity="0.15"/>'
                  f'<text x="{LEFT - 6}" y="{down(y) + 4:.1f}" text-anchor="end">{y:,.10g}</text>')
    for x in (x for x in ticks(min(xs), max(xs), False) if min(xs) <= x <= max(xs) and x.is_integer()):
        drawn += (f'<path d="M{right(x):.1f} {TOP + HEIGHT}v4" stroke="currentColor"/>'
                  f'<text x="{right(x):.1f}" y="{TOP + HEIGHT + 16}" text-anchor="middle">{x:,.10g}</text>')
    drawn += (f'<text x="{LEFT + WIDTH / 2}" y="{TOP + HEIGHT + 34}" text-anchor="middle">{escape(x_label)}</text>'
              f'<text transform="translate(12 {TOP + HEIGHT / 2}) rotate(-90)" text-anchor="middle">{escape(y_label)}</text>')
    for at, (name, points) in enumerate(finite.items()):
        style = f'fill="none" stroke="currentColor" stroke-width="1.5" stroke-dasharray="{DASHES[at % len(DASHES)]}"'
        places = " ".join(f"{right(x):.1f},{down(y):.1f}" for x, y in points)
        legend = TOP + 8 + 16 * at
        drawn += (f'<polyline points="{places}" {style}/><path d="M{LEFT + WIDTH + 10} {legend}h26" {style}/>'
                  f'<text x="{LEFT + WIDTH + 42}" y="{legend + 4}">{escape(name)}</text>')
    width, height = LEFT + WIDTH + 190, max(TOP + HEIGHT + BELOW, TOP + 16 * len(finite) + 8)
    return (f'<svg role="img" aria-label="{escape(y_label)} over {escape(x_label)}" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="11" fill="currentColor">{drawn}</svg>')


def ticks(low: float, high: float, logarithmic: bool) -> List[float]:
    """Three to ten round values, the first not above low, the last not below high."""
    if logarithmic:
        first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
        every, steps = (last - first) // 8 + 1, (1, 2, 5) if last - first <= 2 else (1,)
        found = [float(f"{step}e{power}") for power in range(first, last + every, every) for step in steps]
        low, high = max(value for value in found if value <= low), min(value for value in found if value >= high)
        return [value for value in found if low <= value <= high]
    rough = (high - low) / 5 or abs(high) or 1
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(step * power for step in (1, 2, 5, 10) if step * power >= rough * 0.999)
    first, last = math.floor(low / step), math.ceil(high / step)
    first, last = (first, last) if first < last else (first - 1, last + 1)
    return [float(f"{number * step:.10g}") for number in range(first, last + 1)]
