# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""docs/ofdm-frame.md, its model in NumPy and `ofdm_modulator`: all three agree."""

import dataclasses
import re
import unittest

import numpy as np

import iqd
import ldpc_model
import ofdm_model as model

PAGE = (iqd.ROOT / "docs" / "ofdm-frame.md").read_text()
CODE = "80216e_2304_1_2"
SMALL = model.Format(fft=64, carriers=42, prefix=7, frame=1003, tx=3, pilot_every=10)
SMALLEST = model.Format(fft=64, carriers=16, prefix=1, frame=195, tx=1, pilot_every=2)
LARGEST = model.Format(fft=8192, carriers=8190, prefix=4096, frame=4 * 12288 + 99, tx=2, pilot_every=8190)
COMBS = dataclasses.replace(SMALL, midambles=4)
COMBS_OF_FIVE = dataclasses.replace(model.FIVE, midambles=1)
LONG_PREFIX = model.Format(fft=64, carriers=62, prefix=32, frame=3 * 96 + 95, tx=1, pilot_every=62)


def text(bits):
    return "".join(map(str, bits))


class Page(unittest.TestCase):
    """The numbers on the page."""

    def test_sequences(self):
        found = re.findall(r"^\| b\((\d+)\) … \| `([01]+)` \|$", PAGE, re.M)
        self.assertEqual([int(first) for first, _ in found], [4096, 8192, 16384, 20000, 26331])
        for first, bits in found:
            self.assertEqual(bits, text(model.pn(15, int(first) + np.arange(len(bits)))))

    def test_numerologies(self):
        found = re.findall(r"^\|[^|]*\|([^|]+)\| ([\d,]+) \| ([\d,]+) \|$", PAGE, re.M)
        rows = {name.strip(): (a, b) for name, a, b in found}
        for i, f in enumerate((model.FIVE, model.TWENTY)):
            expected = {"FFT size, N": f.fft, "carriers in use, C": f.carriers,
                        "samples of the cyclic prefix, P": f.prefix, "samples per frame, F": f.frame,
                        "transmit antennas, T": f.tx, "symbols per frame": f.symbols,
                        "data symbols, D": f.data_symbols,
                        "pilots per symbol": f.is_pilot.sum(), "data carriers, K": (~f.is_pilot).sum(),
                        "samples of the first cyclic prefix": f.frame - f.symbols * (f.prefix + f.fft) + f.prefix,
                        "data bits per frame: QPSK": f.bits("qpsk"), "16-QAM": f.bits("16qam"),
                        "64-QAM": f.bits("64qam")}
            for name, value in expected.items():
                self.assertEqual(int(rows[name][i].replace(",", "")), value, name)

    def test_the_code(self):
        rows = re.findall(r"^\| \d+ \| ((?:`\d+@\d+` ?)+) \|$", PAGE, re.M)
        expected = [row.split() for row in ldpc_model.CODE.split(",")]
        self.assertEqual([row.replace("`", "").split() for row in rows], expected)
        parity = re.search(r"parity bits of the first word .* begin with `([01]+)`", PAGE)[1]
        word = ldpc_model.encode(model.pn(23, np.arange(ldpc_model.K))[None])[0]
        self.assertEqual(parity, text(word[ldpc_model.K:ldpc_model.K + len(parity)]))

    def test_the_example(self):
        y = model.FIVE.frames(1, "qpsk")
        number = r"(-?\d+\.\d+) ([+-]) (\d+\.\d+) j"
        rows = re.findall(rf"^\| (\d+) \| {number} \| {number} \|$", PAGE, re.M)
        self.assertGreaterEqual(len(rows), 6)
        for n, *parts in rows:
            for a in (0, 1):
                re_, sign, im = parts[3 * a:3 * a + 3]
                self.assertLess(abs(y[a, int(n)] - complex(float(re_), float(sign + im))), 1e-6, (n, a))
        x = model.FIVE.carriers_of(model.pn(23, np.arange(model.FIVE.bits("qpsk"))), "qpsk")
        np.testing.assert_allclose(x[3:8, :, 0], -(1 + 1j) / np.sqrt(2))
        np.testing.assert_allclose(x[8, :, 0], np.array([-1 - 1j, -1 + 1j]) / np.sqrt(2))
        np.testing.assert_allclose(x[0, :, :4], [[2, 0, 0, 0], [0, 0, -2, 0]])
        self.assertEqual(x[3, 0, 12], 1)


class Modulator(iqd.SystemTest):
    def made(self, x, form, *keys, block=()):
        np.save(self.folder / "x.npy", x)
        given = [f"{key}={value}" for key, value in vars(form).items()] + list(keys)
        done = iqd.command("exec", "ofdm_modulator", *(a for key in given for a in ("--config", key)),
                           "--in", f"in={self.folder}/x.npy", "--out", f"out={self.folder}/y.npy", *block)
        self.assertEqual(done.returncode, 0, done.stderr)
        return np.load(self.folder / "y.npy").reshape(form.tx, -1)

    def check(self, y, expected):
        self.assertEqual((y.dtype, y.shape), (np.complex64, expected.shape))
        self.assertLess(np.abs(y - expected).max(), 1e-5)

    def test_known_payload(self):
        for form, modulation, code, payload in ((model.FIVE, "qpsk", "none", 23), (model.FIVE, "16qam", CODE, 15),
                                                (model.TWENTY, "64qam", CODE, 23), (SMALL, "256qam", "none", 9),
                                                (COMBS, "16qam", "none", 23), (COMBS_OF_FIVE, "qpsk", CODE, 23),
                                                (LONG_PREFIX, "16qam", "none", 23), (SMALLEST, "qpsk", "none", 9),
                                                (LARGEST, "256qam", CODE, 23)):
            y = self.made(np.zeros(2 * form.frame, np.complex64), form, f"modulation={modulation}", f"code={code}",
                          f"payload=pn{payload}")
            self.check(y, form.frames(2, modulation, code, payload))

    def test_bits(self):
        random = np.random.default_rng(1)
        for form, modulation, code in ((model.FIVE, "64qam", CODE), (SMALL, "qpsk", "none"),
                                       (SMALL, ["16qam", "qpsk", "256qam"], "none"),
                                       (model.FIVE, ["64qam", "silent"], CODE)):
            bits = random.integers(0, 2, (2, form.information_bits(modulation, code)), np.uint8)
            expected = np.concatenate([form.frame_of(b, modulation, code) for b in bits], axis=1)
            for block in ((), ("--block", 1000)):
                words = modulation if isinstance(modulation, str) else "[" + ", ".join(modulation) + "]"
                y = self.made(bits.reshape(-1), form, f"modulation={words}", f"code={code}", "amplitude=0.5",
                              block=block)
                self.check(y, expected / 2)

    def test_announced_modulations(self):
        random = np.random.default_rng(2)
        for modulation in (["16qam", "qpsk", "256qam"], ["silent", "64qam", "qpsk"], "64qam"):
            bits = random.integers(0, 2, SMALL.bits(modulation), np.uint8)
            words = modulation if isinstance(modulation, str) else "[" + ", ".join(modulation) + "]"
            y = self.made(bits, SMALL, f"modulation={words}", "announce=true")
            self.check(y, SMALL.frame_of(bits, modulation, announce=True))

    def test_samples_do_not_depend_on_blocks(self):
        x = np.full(3000, np.nan, np.complex64)
        whole = self.made(x, SMALL)
        for block in (1, 7, 1000):
            np.testing.assert_array_less(np.abs(self.made(x, SMALL, block=("--block", block)) - whole), 1e-6)


if __name__ == "__main__":
    unittest.main()
