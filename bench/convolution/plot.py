# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Curves over a length as an SVG: times above, operations below; a panel for each sweep, a line for each method."""

import math

COLOURS = {"direct": "#0072b2", "fft": "#009e73", "tiled": "#0072b2", "overlap": "#d55e00", "cufft": "#009e73",
           "global": "#999999", "shared": "#cc79a7", "cufft_padded": "#56b4e9"}
WIDTH, HEIGHT, GAP, LEFT, TOP = 260, 260, 30, 80, 30


class Scale:
    """From values to places, by their logarithms, in whole decades."""

    def __init__(self, values, length):
        logs = [math.log10(value) for value in values]
        self.low, self.high, self.length = math.floor(min(logs)), math.floor(max(logs)) + 1, length

    def __call__(self, value):
        return (math.log10(value) - self.low) / (self.high - self.low) * self.length

    def decades(self):
        return [10.0 ** exponent for exponent in range(self.low, self.high + 1)]


def text(x, y, words, more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" {more}>{words}</text>'


def panel(curves, down, title, left, top):
    """`curves`: method → [(length, figure)]; `down` is the scale of the figures, one for a row of panels."""
    across = Scale([x for points in curves.values() for x, _ in points], WIDTH)
    parts = [f'<g transform="translate({left},{top})">',
             f'<rect width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="black"/>',
             text(WIDTH / 2, -8, title, 'text-anchor="middle"')]
    for value in down.decades():
        y = HEIGHT - down(value)
        parts.append(f'<line x2="{WIDTH}" y1="{y:.1f}" y2="{y:.1f}" stroke="#dddddd"/>')
        if left == LEFT:
            parts.append(text(-6, y + 4, f"{value:g}", 'text-anchor="end"'))
    parts += [text(across(value), HEIGHT + 16, f"{value:g}", 'text-anchor="middle"') for value in across.decades()]
    for method, points in curves.items():
        places = " ".join(f"{across(x):.1f},{HEIGHT - down(y):.1f}" for x, y in sorted(points))
        parts.append(f'<polyline points="{places}" fill="none" stroke="{COLOURS[method]}" stroke-width="1.5"/>')
    return parts + ["</g>"]


def svg(panels):
    """`panels`: (title, {method: [(length, microseconds, operations)]}), of each sweep."""
    width, height = LEFT + len(panels) * (WIDTH + GAP) + 100, 2 * (TOP + HEIGHT + 30)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" '
             'font-size="12">', '<rect width="100%" height="100%" fill="white"/>']
    for row, unit in ((0, "µs"), (1, "operations")):
        down = Scale([p[1 + row] for _, curves in panels for points in curves.values() for p in points], HEIGHT)
        for column, (title, curves) in enumerate(panels):
            drawn = {method: [(p[0], p[1 + row]) for p in points] for method, points in curves.items()}
            parts += panel(drawn, down, f"{title}: {unit}", LEFT + column * (WIDTH + GAP),
                           TOP + row * (TOP + HEIGHT + 30))
    methods = list(dict.fromkeys(method for _, curves in panels for method in curves))
    parts += [text(width - 100, TOP + 20 + 18 * n, method, f'fill="{COLOURS[method]}"')
              for n, method in enumerate(methods)]
    return "\n".join([*parts, "</svg>", ""])
