# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Figures with error bars, beside those of a simulation in double precision; for the benches of this folder.

Words of a frame share its channel, so they are lost together. An error bar therefore counts fewer draws than words:
n / D, with D = W var / (p (1 - p)) for frames of W words, where var is the variance of the frames' shares of lost
words. D is 1 if each word is lost by itself, and W, the largest, if a frame loses all or none. Where all or none of the
words are lost, D is not known, and a frame counts as one draw. Bars are two standard deviations, so that one figure in
twenty is outside by chance. Bit error rates are means over frames."""

import argparse
import dataclasses
import json
import pathlib
import sys

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "tests" / "support"), str(ROOT / "bench")]

ROUNDED = 0.005  # the simulation's shares have two decimals


@dataclasses.dataclass(frozen=True)
class Share:
    """How many of `words` words each frame lost."""
    lost: np.ndarray
    words: int

    @property
    def rate(self):
        return float(np.mean(self.lost)) / self.words

    @property
    def total(self):
        return len(self.lost) * self.words

    @property
    def alike(self):
        """D"""
        spread = self.rate * (1 - self.rate)
        if spread == 0 or len(self.lost) == 1:
            return self.words
        return float(np.clip(self.words * np.var(self.lost / self.words, ddof=1) / spread, 1, self.words))

    @property
    def draws(self):
        return self.total / self.alike

    @property
    def bar(self):
        """Of no or all words as if one draw differed."""
        if self.draws < 2:
            return np.inf
        p = np.clip(self.rate, 1 / self.draws, 1 - 1 / self.draws)
        return 2 * float(np.sqrt(p * (1 - p) / self.draws))

    def outside(self, simulated, frames):
        """Whether `simulated`, a share of `frames` frames, differs by more than chance explains."""
        there = frames * self.words / self.alike
        p = (self.rate * self.draws + simulated * there) / (self.draws + there)
        return abs(self.rate - simulated) > 2 * np.sqrt(p * (1 - p) * (1 / self.draws + 1 / there)) + ROUNDED

    def __str__(self):
        return f"{self.rate:.3f}" + (f" ± {self.bar:.3f}" if np.isfinite(self.bar) else "")


@dataclasses.dataclass(frozen=True)
class Mean:
    """A value of each frame."""
    values: np.ndarray

    @property
    def rate(self):
        return float(np.mean(self.values))

    @property
    def bar(self):
        return 2 * float(np.std(self.values, ddof=1)) / np.sqrt(len(self.values)) if len(self.values) > 1 else np.inf

    def outside(self, simulated, frames):
        """Whether 19 of 20 means over `frames` of our values are on one side of `simulated`, widened by our own bar."""
        means = np.random.default_rng(1).choice(self.values, (2000, frames)).mean(1)
        low, high = np.quantile(means, (0.025, 0.975))
        slack = self.bar + 0.05 * simulated  # two digits there
        return not low - slack <= simulated <= high + slack

    def __str__(self):
        return f"{self.rate:.2g}" + (f" ± {self.bar:.1g}" if np.isfinite(self.bar) else "")


class Sheet:
    """A table in Markdown. Simulated figures stand in brackets, bold where ours is outside."""

    def __init__(self):
        self.figures = {}

    def head(self, title, columns):
        self.title = title
        if title:
            print(f"\n### {title}\n")
        print(f"| {' | '.join(columns)} |\n|{' --- |' * len(columns)}", flush=True)

    def row(self, name, figures, simulated=None, frames=1, before=()):
        """`figures` and `simulated`: by column; `before`: further cells."""
        cells = []
        for column, figure in figures.items():
            known = (simulated or {}).get(column)
            outside = known is not None and bool(figure.outside(known, frames))
            text = str(figure) + ("" if known is None else f" ({known:.3g})")
            cells.append(f"**{text}**" if outside else text)
            self.figures[f"{self.title}: {name}, {column}"] = {
                "rate": figure.rate, "bar": figure.bar, "simulated": known, "outside": outside}
        print(f"| {' | '.join([name, *map(str, before), *cells])} |", flush=True)

    def finish(self, path):
        """Says which figures are outside, and writes all to `path`, if there is one."""
        compared = [name for name, figure in self.figures.items() if figure["simulated"] is not None]
        outside = [name for name in compared if self.figures[name]["outside"]]
        if compared:
            print(f"\n{len(outside)} of {len(compared)} figures are outside.")
        for name in outside:
            print(f"outside: {name}", file=sys.stderr)
        if path:
            path.write_text(json.dumps(self.figures, indent=1) + "\n", encoding="utf-8")


def parser_of(doc, figures=True):
    """`figures`: there is a Sheet."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backend", default="cpu", help="cpu or cuda")
    parser.add_argument("--seed", type=int, default=1)
    if figures:
        parser.add_argument("--json", type=pathlib.Path, help="also write the figures to this file")
    return parser
