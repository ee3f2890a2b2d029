#!/usr/bin/python3
# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""The simulated radio has channels with known differences: `iqd calibrate` measures them, and a source with its table
delivers channels that agree."""

import json
import unittest
import urllib.request

import numpy as np

import iqd

RATE = 1e6
GAINS = [0, -0.7, 1.3, -6]
PHASES = [0, 31, -150, 90]
DELAYS = [0, 0.37, -2.6, 11]


def values(numbers):
    return "/".join(map(str, numbers))


FLAWS = f"channel_gains={values(GAINS)},channel_phases={values(PHASES)},channel_delays={values(DELAYS)}"
NOISE = f"driver=iqdsim,scenario=noise,common=true,level=-15,channel_noise=-61,pace=false,{FLAWS}"
SOURCE = "soapy: {{args: '{args}', channels: [0, 1, 2, 3], rate: 1 MS/s, frequency: 1 GHz, gain: 20{more}}}"


def residual_db(x):
    """The difference of each channel from the first, within 0.4 of the rate, in dB relative to the first one's
    power."""
    spectra = np.fft.fft(x * np.hanning(x.shape[1]), axis=1)
    band = np.abs(np.fft.fftfreq(x.shape[1])) < 0.4
    power = np.sum(np.abs(spectra[0, band]) ** 2)
    return [10 * np.log10(np.sum(np.abs(s[band] - spectra[0, band]) ** 2) / power) for s in spectra[1:]]


class CalibrateTest(iqd.SystemTest):
    def source(self, args=NOISE, more=""):
        return SOURCE.format(args=args, more=more)

    def calibrate(self, *arguments, args=NOISE):
        return iqd.command("calibrate", "--source", self.source(args), *arguments)

    def write_table(self):
        table = self.folder / "table.yaml"
        done = self.calibrate("--out", table, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return table, json.loads(done.stdout)

    def pipeline(self, more="", extra="", args=NOISE):
        where = iqd.endpoint()
        return where, (f"source:\n  {self.source(args, more)}\nblock: 65536\nstages:\n  - multiply_const: {{value: 1}}\n"
                       f"publish:\n  - {{port: multiply_const, topic: x, bind: '{where}'}}\n{extra}")

    def test_finds_what_channels_differ_by(self):
        _, told = self.write_table()
        for c, found in enumerate(told["channels"]):
            self.assertAlmostEqual(found["gain_db"], GAINS[c], delta=0.005)
            self.assertAlmostEqual((found["phase_deg"] - PHASES[c] + 180) % 360 - 180, 0, delta=0.05)
            self.assertAlmostEqual(found["delay_s"] * RATE, DELAYS[c], delta=0.001)
            self.assertGreater(found["coherence"], 0.99)
            # The error bounds in the table must match the actual errors.
            if c > 0:
                self.assertLess(found["phase_error_deg"], 0.1)
                self.assertLess(abs(found["delay_s"] * RATE - DELAYS[c]), 6 * found["delay_error_s"] * RATE + 2e-4)

    def test_channels_agree_behind_the_table(self):
        self.write_table()
        for more, low, high in ((", format: cf32", -20, 20), (", calibration: table.yaml", -80, -36)):
            where, text = self.pipeline(more)
            reader = self.reader(where, "x")
            with self.subTest(more), self.daemon(text, "--wait-subscribers", 1) as daemon:
                message = reader.take(3)[-1]
                self.assertEqual(message.meta.get("calibrated"), True if "calibration" in more else None)
                for db in residual_db(message.samples):
                    self.assertTrue(low < db < high, db)
                self.assertEqual(daemon.stop(), 0, daemon.text)

    def test_a_tone_has_no_delay(self):
        table = self.folder / "tone.yaml"
        args = f"driver=iqdsim,scenario=tone,common=true,channel_noise=-60,pace=false,channel_gains={values(GAINS)}"
        done = self.calibrate("--out", table, "--json", args=args)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("too narrow to measure delays", done.stderr)
        self.assertNotIn("delay:", table.read_text(encoding="utf-8"))
        for c, found in enumerate(json.loads(done.stdout)["channels"]):
            self.assertIsNone(found["delay_s"])
            self.assertAlmostEqual(found["gain_db"], GAINS[c], delta=0.02)

    def test_refuses_what_cannot_be_measured(self):
        table = self.folder / "none.yaml"
        for args, words in (("driver=iqdsim,scenario=noise,pace=false", "coherence"),
                            (NOISE.replace("level=-15", "level=0"), "clipped")):
            done = self.calibrate("--out", table, args=args)
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn(words, done.stderr)
            self.assertIn("channel 1", done.stderr)
            self.assertFalse(table.exists())

    def test_a_table_of_other_settings_is_refused_at_the_start(self):
        self.write_table()
        _, text = self.pipeline(", calibration: table.yaml")
        file = self.folder / "other.yaml"
        file.write_text(text.replace("frequency: 1 GHz", "frequency: 1.1 GHz"), encoding="utf-8")
        for command in ("check", "run"):
            done = iqd.command(command, file)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("the table was measured at 1 GHz, but the source is at 1.1 GHz", done.stderr)

    def test_gains_that_the_table_is_not_of_are_refused_at_the_start(self):
        self.write_table()
        _, text = self.pipeline(", calibration: table.yaml")
        table = self.folder / "table.yaml"
        of_gain = table.read_text(encoding="utf-8")
        of_elements = of_gain.replace("gain_setting: 20", "gain_elements: {LNA: 20 dB, VGA: 3 dB}")
        for measured, source, words in (
                (of_gain, "agc: true", "calibration: agc: the radio changes its gain as it goes"),
                (of_gain, "gains: {LNA: 20}", "gains: the table was measured with `gain: 20 dB`"),
                (of_elements, "gain: 20", "gain: the table was measured with `gains: {LNA: 20 dB, VGA: 3 dB}`"),
                (of_elements, "gains: {LNA: 20, VGA: 4}", "the table was measured with VGA at 3 dB, but it is 4"),
                (of_elements, "gains: {LNA: 20.0 dB, VGA: 3}", "")):
            file = self.folder / "gains.yaml"
            file.write_text(text.replace("gain: 20,", f"{source},"), encoding="utf-8")
            table.write_text(measured, encoding="utf-8")
            with self.subTest(source):
                done = iqd.command("check", file)
                self.assertEqual(done.returncode, 2 if words else 0, done.stderr)
                self.assertIn(words, done.stderr)

    def test_an_automatic_gain_is_not_measured(self):
        source = self.source().replace("gain: 20", "agc: true")
        done = iqd.command("calibrate", "--source", source, "--out", self.folder / "none.yaml")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("agc: a table is valid for one gain: set `gain` or `gains` for the measurement", done.stderr)
        self.assertFalse((self.folder / "none.yaml").exists())

    def test_a_retune_suspends_it(self):
        self.write_table()
        monitor = f"127.0.0.1:{iqd.free_port()}"
        where, text = self.pipeline(", calibration: table.yaml", f"monitor: {{listen: '{monitor}'}}\n",
                                    NOISE.replace("pace=false,", ""))
        reader = self.reader(where, "x")

        def tune(keys):
            request = urllib.request.Request(f"http://{monitor}/api/stages/source", json.dumps(keys).encode(),
                                             method="PATCH")
            with urllib.request.urlopen(request) as answer:
                self.assertEqual(answer.status, 200)

        def message_that_is(calibrated):
            for _ in range(300):
                message = reader.take(1)[0]
                if message.calibrated == calibrated:
                    return reader.take(1)[0]
            self.fail(f"no calibrated message: {calibrated}\n{daemon.text}")

        with self.daemon(text, "--wait-subscribers", 1) as daemon:
            self.assertLess(max(residual_db(message_that_is(True).samples)), -36)
            for away, back in (({"frequency": 1.2e9}, {"frequency": 1e9}), ({"gain": 40}, {"gain": 20})):
                tune(away)
                self.assertGreater(max(residual_db(message_that_is(False).samples)), -20)
                daemon.wait_for_log("no longer calibrated")
                with urllib.request.urlopen(f"http://{monitor}/metrics") as answer:
                    self.assertIn('iqd_source_calibrated{pipeline="iqd",radio="soapy"} 0\n', answer.read().decode())
                tune(back)
                self.assertLess(max(residual_db(message_that_is(True).samples)), -36)
            self.assertEqual(daemon.stop(), 0, daemon.text)
            self.assertTrue(daemon.final[0]["calibrated"])


if __name__ == "__main__":
    unittest.main()
