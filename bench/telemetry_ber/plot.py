# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Curves of bit error rates as an SVG: one panel for each channel, one line for each equalizer."""

import math

COLOURS = {"zf": "#999999", "mmse": "#0072b2", "cma": "#d55e00", "fde1": "#009e73", "fde2": "#cc79a7"}
WIDTH, HEIGHT, GAP, LEFT, TOP = 210, 300, 20, 60, 40
DECADES = (-5, -1)


def across(value, values):
    low, high = min(values) - 0.5, max(values) + 0.5
    return (value - low) / (high - low) * WIDTH


def down(rate):
    exponent = min(max(math.log10(max(rate, 1e-9)), DECADES[0]), DECADES[1])
    return (DECADES[1] - exponent) / (DECADES[1] - DECADES[0]) * HEIGHT


def text(x, y, words, more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" {more}>{words}</text>'


def curve(kind, points, values):
    """Line, interval and, where there is a simulation to compare with, a hollow mark."""
    colour, parts, places = COLOURS[kind], [], []
    for p in points:
        k = next(k for k in p["kinds"] if k["kind"] == kind)
        x = across(p["ebn0_db"], values)
        places.append(f"{x:.1f},{down(k['ber']):.1f}")
        parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{down(k["ber"] - k["interval"]):.1f}" '
                     f'y2="{down(k["ber"] + k["interval"]):.1f}" stroke="{colour}" stroke-width="3" opacity="0.5"/>')
        if k["simulated"] is not None:
            parts.append(f'<circle cx="{x:.1f}" cy="{down(k["simulated"]):.1f}" r="4" fill="none" stroke="{colour}"/>')
    return [f'<polyline points="{" ".join(places)}" fill="none" stroke="{colour}" stroke-width="1.5"/>', *parts]


def panel(channel, points, left):
    points = sorted(points, key=lambda p: p["ebn0_db"])
    values = [p["ebn0_db"] for p in points]
    parts = [f'<g transform="translate({left},{TOP})">',
             f'<rect width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="black"/>',
             text(WIDTH / 2, -8, channel.upper(), 'text-anchor="middle"')]
    for exponent in range(DECADES[0], DECADES[1] + 1):
        y = down(10.0 ** exponent)
        parts.append(f'<line x2="{WIDTH}" y1="{y:.1f}" y2="{y:.1f}" stroke="#dddddd"/>')
        if left == LEFT:
            parts.append(text(-6, y + 4, f"1e{exponent}", 'text-anchor="end"'))
    parts += [text(across(v, values), HEIGHT + 16, v, 'text-anchor="middle"') for v in values]
    for kind in COLOURS:
        parts += curve(kind, points, values)
    return parts + ["</g>"]


def svg(points):
    channels = list(dict.fromkeys(p["channel"] for p in points))
    width = LEFT + len(channels) * (WIDTH + GAP) + 90
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{TOP + HEIGHT + 50}" '
             'font-family="sans-serif" font-size="12">', '<rect width="100%" height="100%" fill="white"/>']
    for n, channel in enumerate(channels):
        parts += panel(channel, [p for p in points if p["channel"] == channel], LEFT + n * (WIDTH + GAP))
    legend = width - 90
    for n, (kind, colour) in enumerate(COLOURS.items()):
        parts.append(text(legend, TOP + 20 + 18 * n, kind, f'fill="{colour}"'))
    parts.append(text(legend, TOP + 20 + 18 * len(COLOURS), "○ simulated"))
    parts.append(text(LEFT, TOP + HEIGHT + 40, "bit error rate over Eb/N0 in dB; bars: 95 % interval"))
    return "\n".join([*parts, "</svg>", ""])
