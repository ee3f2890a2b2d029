# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Texts for people: quantities, and columns as in `iqd get`."""

_PREFIXES = {"Hz": ((1e9, "G"), (1e6, "M"), (1e3, "k")), "S/s": ((1e9, "G"), (1e6, "M"), (1e3, "k")),
             "s": ((1, ""), (1e-3, "m"), (1e-6, "u"), (1e-9, "n")), "B": ((2**30, "Gi"), (2**20, "Mi"), (2**10, "ki"))}
_ENOUGH = 8


def _number(value):
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def quantity(value, unit=""):
    """`433.92 MHz`"""
    for factor, prefix in _PREFIXES.get(unit, ()):
        if abs(value) >= factor and (unit != "B" or value % factor == 0):
            return f"{_number(float(f'{value / factor:.12g}'))} {prefix}{unit}"
    return f"{_number(value)} {unit}".rstrip()


def value_text(value, unit=""):
    """A value of a key as an operator would write it."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return quantity(value, unit)
    if isinstance(value, list):
        shown = [value_text(one, unit) for one in value[:_ENOUGH]] + (["…"] if len(value) > _ENOUGH else [])
        return "[" + ", ".join(shown) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {value_text(one, unit)}" for key, one in value.items()) + "}"
    return str(value)


def _range_text(facts, unit):
    if "choices" in facts:
        return value_text(facts["choices"], unit)[1:-1]
    low, high = facts.get("range", (None, None))
    if low is None and high is None:
        return ""
    if high is None:
        return "≥ " + value_text(low, unit)
    return ("≤ " if low is None else value_text(low, unit) + " … ") + value_text(high, unit)


def columns(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)


def key_table(keys):
    """A line for each key of `GET /api/stages/NAME`."""
    rows = [("key", "value", "range", "default", "live", "by")]
    for name, facts in keys.items():
        unit = facts.get("unit", "")
        asked = f" (asked for {value_text(facts['asked'], unit)})" if "asked" in facts else ""
        default = value_text(facts["default"], unit) if "default" in facts else "(required)"
        rows.append((name, value_text(facts.get("value"), unit) + asked, _range_text(facts, unit), default,
                     "live" if facts.get("live") else "", facts.get("by", "")))
    return columns(rows)


def pipeline_table(status):
    """A line for each pipeline of `GET /api/status`."""
    rows = [("pipeline", "state", "source", "rate", "blocks", "lost", "dropped", "p50", "p99")]
    for p in status["pipelines"]:
        latency = p.get("latency_us", {})
        rows.append((p["name"], p["state"] + (f": {p['trouble']}" if p.get("trouble") else ""), p.get("source", ""),
                     quantity(p.get("sample_rate", 0), "S/s"), str(p.get("blocks", 0)), str(p.get("lost", 0)),
                     str(sum(p.get("dropped", {}).values())),
                     *(quantity(float(f"{latency.get(q, 0) / 1e6:.3g}"), "s") for q in ("p50", "p99"))))
    return columns(rows)
