# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""tools/demo_view.py and demo_dpd.py: their verdicts, and that they run. $IQD is the program."""

import argparse
import pathlib
import subprocess
import sys
import unittest

import numpy as np

import iqd

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"
sys.path.append(str(TOOLS))
import demo_dpd
import demo_view

EXPECTED = {"fde1": 7e-4}


def status(found=1000, errors=4300, **more):
    """The final status of a run that received 1000 packets."""
    meter = {"stage": "ber_meter", "kind": "fde1"}
    events = [{"stage": "preamble_search", "event": "found", "count": found},
              {**meter, "event": "bits", "count": found * 6144}, {**meter, "event": "bit_errors", "count": errors}]
    return {"pipelines": [{"received": 12_672_000, "lost": 0, "dropped": {"lanes": 0}, "events": events, **more}]}


class Verdict(unittest.TestCase):
    def verdict(self, last, code=0, packets=1000, missing=0):
        return demo_view.verdict(last, argparse.Namespace(packets=packets, missing=missing), EXPECTED, code)

    def test_right(self):
        self.assertIsNone(self.verdict(status()))

    def test_wrong(self):
        for words, wrong in (("exited with 3", self.verdict(status(), code=3)), ("no packets", self.verdict(None)),
                             ("no packets", self.verdict(status(), packets=0)),
                             ("dropped", self.verdict(status(dropped={"lanes": 202_752}))),
                             ("lost", self.verdict(status(lost=1))), ("missing 2", self.verdict(status(), missing=2)),
                             ("900 of 1000", self.verdict(status(found=900))),
                             ("fde1 had 9000 errors", self.verdict(status(errors=9000)))):
            self.assertIn(words, wrong or "right")

    def test_each_meter_has_rows(self):
        last = status()
        of = {"stage": "refined", "kind": "fde1"}
        last["pipelines"][0]["events"] += [{**of, "event": "bits", "count": 6144000},
                                           {**of, "event": "bit_errors", "count": 2000}]
        expected = {**EXPECTED, "fde1 refined": 3e-4}
        self.assertEqual(demo_view.error_rates(last, expected),
                         [("fde1", 6144000, 4300, 7e-4), ("fde1 refined", 6144000, 2000, 3e-4)])

    def test_constellation(self):
        soft = np.array([1.0, 1.0, -1.0, -1.0] * 100).reshape(1, 1, -1)
        rows = demo_view.constellation(soft)
        marks = [(r, c) for r, row in enumerate(rows) for c, mark in enumerate(row) if mark != " "]
        (top, right), (bottom, left) = marks
        self.assertTrue(top < bottom and left < right, rows)
        self.assertEqual({len(row) for row in demo_view.constellation(None)}, {demo_view.COLUMNS})


class Run(unittest.TestCase):
    def test_runs_and_judges(self):
        """A machine that is too slow for the rate drops samples, and the demo reports it."""
        done = subprocess.run([sys.executable, "-B", TOOLS / "demo_view.py", "--iqd", iqd.IQD, "--pipeline",
                               iqd.PIPELINES / "telemetry.yaml", "--seconds", "2"],
                              capture_output=True, text=True, timeout=100, check=False)
        last = done.stdout.strip().splitlines()[-1]
        self.assertIn(last.split(":")[0], ("Right", "NOT RIGHT"), done.stdout + done.stderr)
        self.assertEqual(done.returncode, 0 if last.startswith("Right") else 1)
        if done.returncode != 0:
            self.assertIn("samples were dropped", last)
        self.assertRegex(done.stdout, r"fde1 +\d\.\d\de-0\d of [\d,]+ bits   expected 7.00e-04")


class Predistortion(unittest.TestCase):
    def capture(self, low, high, top=0.0):
        """A carrier in the middle, with these powers on its sides, in dBc."""
        spectrum = np.full(4096, -90.0)
        spectrum[1024:2048], spectrum[2048:3072], spectrum[1843:2253] = low, high, top
        return {"levels": {"adjacent_low": low, "adjacent_high": high}, "report": np.zeros(11), "spectrum": spectrum}

    def verdict(self, first, now, applied=1, code=0):
        events = [{"stage": "aph_estimator", "event": "trained", "count": applied}]
        ports = [{"to": "apply send/aph_predistorter.coefficients", "messages": applied}]
        status = {"pipelines": [{}, {}, {"events": events, "ports": ports}]}
        return demo_dpd.verdict(status, argparse.Namespace(first=first, now=now), code)

    def test_right(self):
        self.assertIsNone(self.verdict(self.capture(-43, -44), self.capture(-57, -54)))

    def test_wrong(self):
        first, now = self.capture(-43, -44), self.capture(-57, -54)
        for words, wrong in (("exited with 3", self.verdict(first, now, code=3)),
                             ("no messages arrived", self.verdict(None, None)),
                             ("was not trained", self.verdict(None, now, applied=0)),
                             ("fell by 9.0", self.verdict(first, self.capture(-57, -52))),
                             ("fell by nan", self.verdict(first, self.capture(np.nan, np.nan)))):
            self.assertIn(words, wrong or "right")

    def test_picture(self):
        rows = demo_dpd.picture(self.capture(-43, -43), self.capture(-63, -63))
        self.assertEqual({len(row) for row in rows}, {demo_dpd.COLUMNS})
        middle, side = demo_dpd.COLUMNS // 2, demo_dpd.COLUMNS * 3 // 8
        shown = ["".join(row[column] for row in rows) for column in (middle, side)]
        self.assertEqual(shown, ["#" * 15, " " * 8 + "." * 4 + "#" * 3], "a row is 5 dB")

    def test_runs_and_judges(self):
        """On a machine that is too slow nothing is learned, and the demo reports it."""
        done = subprocess.run([sys.executable, "-B", TOOLS / "demo_dpd.py", "--iqd", iqd.IQD, "--pipeline",
                               iqd.PIPELINES / "dpd_lte10.yaml", "--seconds", "3"],
                              capture_output=True, text=True, timeout=100, check=False)
        last = done.stdout.strip().splitlines()[-1]
        self.assertIn(last.split(":")[0], ("Right", "NOT RIGHT"), done.stdout + done.stderr)
        self.assertEqual(done.returncode, 0 if last.startswith("Right") else 1)
        if done.returncode == 0:
            self.assertRegex(done.stdout, r"ACLR      low -4\d\.\d -> -[5-9]\d\.\d dBc")


if __name__ == "__main__":
    unittest.main()
