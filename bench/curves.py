# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Curves as an SVG: panels side by side in rows, with logarithmic or linear axes; a name has the same colour in all
panels."""

import math

COLOURS = "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#999999", "#56b4e9", "#e69f00", "#000000"
WIDTH, HEIGHT, GAP, LEFT, TOP, LEGEND = 230, 270, 25, 70, 40, 130


class Decades:
    """A logarithmic axis of whole decades; values below `least` are drawn there."""

    def __init__(self, values, length, least=1e-300):
        logs = [math.log10(max(v, least)) for v in values]
        self.low, self.high, self.length = math.floor(min(logs)), math.ceil(max(logs)), length
        self.high = max(self.high, self.low + 1)

    def __call__(self, value):
        exponent = min(max(math.log10(max(value, 1e-300)), self.low), self.high)
        return (exponent - self.low) / (self.high - self.low) * self.length

    def ticks(self):
        return [10.0**e for e in range(self.low, self.high + 1)]


class Linear:
    def __init__(self, values, length):
        self.values, self.length = sorted(set(values)), length
        self.low, self.high = self.values[0] - 0.5, self.values[-1] + 0.5

    def __call__(self, value):
        return (value - self.low) / (self.high - self.low) * self.length

    def ticks(self):
        return self.values[::max(1, len(self.values) // 6)]


class Even:
    """A linear axis with ticks at round numbers; values below `least` are drawn there."""

    def __init__(self, values, length, least=-math.inf):
        self.low, self.high, self.length = max(min(values), least), max(values), length
        span = self.high - self.low
        decade = 10.0 ** math.floor(math.log10(span))
        self.step = next(decade * s for s in (0.2, 0.5, 1, 2) if span / (decade * s) <= 8)

    def __call__(self, value):
        return (max(value, self.low) - self.low) / (self.high - self.low) * self.length

    def ticks(self):
        return [n * self.step for n in range(math.ceil(self.low / self.step), math.floor(self.high / self.step) + 1)]


def text(x, y, words, more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" {more}>{words}</text>'


def curve(points, across, down, colour):
    """A line, and the intervals of points that have one (x, y, half of the interval)."""
    places = " ".join(f"{across(p[0]):.1f},{HEIGHT - down(p[1]):.1f}" for p in sorted(points))
    parts = [f'<polyline points="{places}" fill="none" stroke="{colour}" stroke-width="1.5"/>']
    for x, y, *half in points:
        if half:
            parts.append(f'<line x1="{across(x):.1f}" x2="{across(x):.1f}" y1="{HEIGHT - down(y - half[0]):.1f}" '
                         f'y2="{HEIGHT - down(y + half[0]):.1f}" stroke="{colour}" stroke-width="3" opacity="0.5"/>')
    return parts


def panel(title, curves, marks, across, down, left, top, colours):
    parts = [f'<g transform="translate({left},{top})">',
             f'<rect width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="black"/>',
             text(WIDTH / 2, -8, title, 'text-anchor="middle"')]
    for value in down.ticks():
        y = HEIGHT - down(value)
        parts.append(f'<line x2="{WIDTH}" y1="{y:.1f}" y2="{y:.1f}" stroke="#dddddd"/>')
        if left == LEFT:
            parts.append(text(-6, y + 4, f"{value:g}", 'text-anchor="end"'))
    parts += [text(across(x), HEIGHT + 16, f"{x:g}", 'text-anchor="middle"') for x in across.ticks()]
    for name, points in curves.items():
        parts += curve(points, across, down, colours[name])
    for name, points in marks.items():
        parts += [f'<circle cx="{across(x):.1f}" cy="{HEIGHT - down(y):.1f}" r="4" fill="none" '
                  f'stroke="{colours[name]}"/>' for x, y in points]
    return parts + ["</g>"]


def svg(rows, note="", across=Linear, least=1e-300, down=Decades):
    """`rows`: lists of panels (title, {name: [(x, y) or (x, y, half of the interval)]}, {name: [(x, y)]} for hollow
    marks); the panels of a row share the scale of y."""
    names = list(dict.fromkeys(n for row in rows for _, curves, _ in row for n in curves))
    colours = {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(names)}
    width = LEFT + max(len(row) for row in rows) * (WIDTH + GAP) + LEGEND
    height = len(rows) * (TOP + HEIGHT + 30) + 30
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" '
             'font-size="12">', '<rect width="100%" height="100%" fill="white"/>']
    for r, row in enumerate(rows):
        scale_y = down([p[1] for _, curves, _ in row for points in curves.values() for p in points], HEIGHT, least)
        for c, (title, curves, marks) in enumerate(row):
            scale_x = across([p[0] for points in curves.values() for p in points], WIDTH)
            parts += panel(title, curves, marks, scale_x, scale_y, LEFT + c * (WIDTH + GAP),
                           TOP + r * (TOP + HEIGHT + 30), colours)
    parts += [text(width - LEGEND + 10, TOP + 20 + 18 * n, name, f'fill="{colours[name]}"')
              for n, name in enumerate(names)]
    return "\n".join([*parts, text(LEFT, height - 10, note), "</svg>", ""])
