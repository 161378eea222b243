"""chart.py: the study as one SVG: on the left the doubling networks, microseconds a step on both devices;
on the right the cells, by which device was faster and how much. Written by hand: no library."""

import math

CPU, GPU, INK, FAINT = "#b5542c", "#2f6f8f", "#222222", "#cccccc"
LEFT, TOP, WIDTH, HEIGHT = 62, 44, 330, 330
CELL = 22


def text(x, y, content, size=11, anchor="middle", fill=INK, more=""):
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{fill}" '
            f'{more}>{content}</text>')


def line(x1, y1, x2, y2, color=FAINT, width=1):
    return (f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{color}" '
            f'stroke-width="{width}"/>')


def doubling(cells):
    cells = sorted(cells, key=lambda cell: cell["layers"])
    values = [each["seconds_a_step"] * 1e6 for cell in cells for each in cell["devices"].values()]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    high = max(high, low + 1)
    first, last = cells[0]["layers"], max(cells[-1]["layers"], cells[0]["layers"] + 1)
    place_x = lambda layers: LEFT + WIDTH * (layers - first) / (last - first)  # noqa: E731
    place_y = lambda us: TOP + HEIGHT * (high - math.log10(us)) / (high - low)  # noqa: E731
    out = [text(LEFT + WIDTH / 2, 22, "disc, doubling networks, batch 100: microseconds a step", 13)]
    for power in range(low, high + 1):
        y = place_y(10.0**power)
        out += [line(LEFT, y, LEFT + WIDTH, y), text(LEFT - 6, y + 4, f"{10.0**power:,.{max(0, -power)}f}", anchor="end")]
    for cell in cells:
        out.append(text(place_x(cell["layers"]), TOP + HEIGHT + 16, cell["layers"]))
    out.append(text(LEFT + WIDTH / 2, TOP + HEIGHT + 34, "layers (each twice as wide as the one before)"))
    for device, color, name in (("cpu", CPU, "CPU"), ("cuda", GPU, "GPU")):
        points = [(place_x(cell["layers"]), place_y(cell["devices"][device]["seconds_a_step"] * 1e6))
                  for cell in cells if device in cell["devices"]]
        if not points:
            continue
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        out.append(f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="2"/>')
        out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{color}"/>' for x, y in points]
        x, y = points[-1]
        out.append(text(x, y - 10 if device == "cpu" else y + 24, name, 12, "end", color))
    return out


def shade(ratio):
    """Towards the colour of the faster device, full at ten times."""
    strength = 0.15 + 0.85 * min(abs(math.log10(ratio)), 1)
    base = GPU if ratio > 1 else CPU
    parts = [int(base[i:i + 2], 16) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(255 - (255 - part) * strength):02x}" for part in parts)


def cells_grid(cells, left):
    widths, depths, rows = (sorted({cell[key] for cell in cells}) for key in ("width", "depth", "rows"))
    out = [text(left + 210, 22, "CPU time / GPU time, full batch (x: auto took the slower)", 13)]
    for index, depth in enumerate(depths):
        x0, y0 = left + (index % 2) * 215, TOP + 14 + (index // 2) * 178
        out.append(text(x0 + len(rows) * CELL * 0.8, y0 - 4, f"{depth} hidden layer{'s' if depth > 1 else ''}"))
        for cell in (cell for cell in cells if cell["depth"] == depth):
            x = x0 + rows.index(cell["rows"]) * CELL * 1.6
            y = y0 + (len(widths) - 1 - widths.index(cell["width"])) * CELL
            ratio = cell["devices"]["cpu"]["seconds_a_step"] / cell["devices"]["cuda"]["seconds_a_step"]
            shown = f"{ratio:.0f}" if ratio >= 9.5 else f"{ratio:.1f}" if ratio >= 0.095 else f"{ratio:.2f}"
            strong = abs(math.log10(ratio)) > 0.6
            out.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{CELL * 1.6 - 1:.1f}" height="{CELL - 1}" '
                       f'fill="{shade(ratio)}"/>')
            wrong = cell["auto"] != cell["faster"]
            out.append(text(x + CELL * 0.8, y + 15, shown + (" x" if wrong else ""), 10,
                            fill="#ffffff" if strong else INK, more='font-weight="bold"' if wrong else ""))
        for place, width in enumerate(reversed(widths)):
            out.append(text(x0 - 4, y0 + place * CELL + 15, width, 10, "end"))
        for place, count in enumerate(rows):
            out.append(text(x0 + (place + 0.5) * CELL * 1.6, y0 + len(widths) * CELL + 12, count, 10))
    out.append(text(left + 190, TOP + HEIGHT + 34, "across: rows, upwards: width"))
    return out


def write(study, path):
    body, wide = [], LEFT + WIDTH + 30
    if study["doubling"]:
        body += doubling(study["doubling"])
    if study["cells"]:
        body += cells_grid(study["cells"], wide + 30)
        wide += 460
    with open(path, "w") as file:
        file.write(f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{TOP + HEIGHT + 50}" '
                   f'viewBox="0 0 {wide} {TOP + HEIGHT + 50}" font-family="sans-serif">\n'
                   f'<rect width="100%" height="100%" fill="#ffffff"/>\n' + "\n".join(body) + "\n</svg>\n")
