# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""docs/noma-frame.md, its model in NumPy and `noma_modulator`: all three agree."""

import re
import unittest

import numpy as np

import iqd
import noma_frame_model as model

PAGE = (iqd.ROOT / "docs" / "noma-frame.md").read_text()
SMALL = model.Format(fft=64, carriers=42, prefix=7, frame=1003, users=3, training=4, pilots=150, data=333)
SMALLEST = model.Format(fft=64, carriers=16, prefix=1, frame=4 * 65, users=1, training=1, pilots=1, data=1)
LARGEST = model.Format(fft=8192, carriers=8190, prefix=4096, frame=5 * 12288 + 99, users=2, training=2, pilots=16380,
                       data=8190)
MANY = model.Format(fft=128, carriers=16, prefix=64, frame=5 * 192 + 191, users=32, training=2, pilots=31, data=16)


def text(bits):
    return "".join(map(str, bits))


class Page(unittest.TestCase):
    """The numbers on the page."""

    def test_sequences(self):
        found = re.findall(r"^\| PN(\d+), b\((\d+)\) … \| `([01]+)` \|$", PAGE, re.M)
        self.assertEqual([(int(order), int(first)) for order, first, _ in found],
                         [(15, 4096), (15, 20000), (23, 0), (23, 2 * 720), (23, 2 * 2**20)])
        for order, first, bits in found:
            self.assertEqual(bits, text(model.pn(int(order), int(first), len(bits))))

    def test_the_numerology(self):
        found = re.findall(r"^\|[^|]*\|([^|]+)\| ([\d,]+) \|$", PAGE, re.M)
        rows = {name.strip(): int(value.replace(",", "")) for name, value in found}
        f = model.SIX
        expected = {"FFT size, N": f.fft, "carriers in use, C": f.carriers,
                    "samples of the cyclic prefix, P": f.prefix, "samples per frame, F": f.frame,
                    "users that send at the same time, U": f.users, "pilot symbols, T": f.training,
                    "pilots in use, per user": f.pilots,
                    "data points in use, per user, D": f.data, "symbols per frame": f.symbols,
                    "data symbols": f.symbols - 2 - f.training, "pilot slots": f.pilot_slots,
                    "data slots": f.data_slots, "samples of the first cyclic prefix": f.first_prefix,
                    "data bits per frame, all users: BPSK": f.frame_bits("bpsk"), "QPSK": f.frame_bits("qpsk"),
                    "16-QAM": f.frame_bits("16qam"), "64-QAM": f.frame_bits("64qam")}
        self.assertEqual(rows, expected)

    def test_the_example(self):
        y = model.SIX.frames(1, "qpsk")
        number = r"(-?\d+\.\d+) ([+-]) (\d+\.\d+) j"
        rows = re.findall(rf"^\| (\d+) \| {number} \| {number} \|$", PAGE, re.M)
        self.assertGreaterEqual(len(rows), 6)
        for n, *parts in rows:
            for i, u in enumerate((0, 5)):
                re_, sign, im = parts[3 * i:3 * i + 3]
                self.assertLess(abs(y[u, int(n)] - complex(float(re_), float(sign + im))), 1e-6, (n, u))

    def test_the_example_by_hand(self):
        bits = model.SIX.payload(0, "qpsk")
        x = model.SIX.carriers_of(bits, "qpsk")
        p, q = (1 + 1j) / np.sqrt(2), (-1 + 1j) / np.sqrt(2)
        for u in range(6):
            np.testing.assert_allclose(x[0, u, :4], [np.sqrt(2), 0, -np.sqrt(2), 0])
            np.testing.assert_allclose(x[1, u, :11], [1] * 7 + [-1] * 4)
        np.testing.assert_allclose(x[2, 0, :13], [-p] * 11 + [q, p])
        np.testing.assert_allclose(x[2, 1, :3], [p, -p, q])
        np.testing.assert_allclose(x[7, 0, :12], [-p] * 11 + [q])
        self.assertEqual(text(bits[7680:7688]), "10101101")
        np.testing.assert_allclose(x[7, 1, :4], [q, q, -p, -q])
        np.testing.assert_allclose(x[33, 0, 95], model.mapped(bits[2 * 3839:2 * 3840]))
        np.testing.assert_allclose(x[33, 0, 96], model.known_points(1048576 + 3840, 1)[0])
        np.testing.assert_allclose(x[33, 0, 96], q)


class Modulator(iqd.SystemTest):
    def made(self, x, form, *keys, block=(), rows=None):
        np.save(self.folder / "x.npy", x)
        given = [f"{key}={value}" for key, value in vars(form).items()] + list(keys)
        done = iqd.command("exec", "noma_modulator", *(a for key in given for a in ("--config", key)),
                           "--in", f"in={self.folder}/x.npy", "--out", f"out={self.folder}/y.npy", *block)
        self.assertEqual(done.returncode, 0, done.stderr)
        return np.load(self.folder / "y.npy").reshape(rows or form.users, -1)

    def check(self, y, expected):
        self.assertEqual((y.dtype, y.shape), (np.complex64, expected.shape))
        self.assertLess(np.abs(y - expected).max(), 1e-5)

    def test_known_payload(self):
        for form, modulation, payload in ((model.SIX, "qpsk", 23), (model.SIX, "64qam", 15), (SMALL, "256qam", 9),
                                          (SMALLEST, "bpsk", 9), (LARGEST, "16qam", 23), (MANY, "qpsk", 23)):
            y = self.made(np.zeros(2 * form.frame, np.complex64), form, f"modulation={modulation}",
                          f"payload=pn{payload}")
            self.check(y, form.frames(2, modulation, payload))

    def test_coded_frames_of_unlike_users(self):
        for form, modulation in ((model.SIX, ["qpsk", "16qam", "64qam", "bpsk", "256qam", "qpsk"]), (model.SIX, "16qam")):
            text = modulation if isinstance(modulation, str) else f"[{', '.join(modulation)}]"
            keys = [f"modulation={text}", "code=80216e_2304_1_2"]
            y = self.made(np.zeros(2 * form.frame, np.complex64), form, *keys)
            expected = form.frames(2, modulation, code="80216e_2304_1_2")
            self.check(y, expected)
            y = self.made(np.zeros(form.frame, np.complex64), form, *keys, "user=2", rows=1)
            self.check(y, expected[2:3, :form.frame])

    def test_bits_become_words_of_each_user(self):
        modulation = ["16qam", "qpsk", "64qam", "qpsk", "qpsk", "qpsk"]
        bits = np.random.default_rng(2).integers(0, 2, sum(model.SIX.information_bits(modulation, "ldpc")), np.uint8)
        y = self.made(bits, model.SIX, f"modulation=[{', '.join(modulation)}]", "code=80216e_2304_1_2")
        self.check(y, model.SIX.frame_of(model.SIX.data_bits(bits, modulation, "ldpc"), modulation))

    def test_one_user_alone(self):
        expected = model.SIX.frames(2, "16qam")
        for u in (0, 3, 5):
            y = self.made(np.zeros(2 * model.SIX.frame, np.complex64), model.SIX, "modulation=16qam", f"user={u}",
                          "amplitude=0.5", rows=1)
            self.check(y, expected[u:u + 1] / 2)

    def test_bits(self):
        random = np.random.default_rng(1)
        amplitude = np.array([1, 0.5, 0.25])[:, None]
        bits = random.integers(0, 2, (2, SMALL.frame_bits("64qam")), np.uint8)
        expected = amplitude * np.concatenate([SMALL.frame_of(b, "64qam") for b in bits], axis=1)
        for block in ((), ("--block", 1000)):
            y = self.made(bits.reshape(-1), SMALL, "modulation=64qam", "amplitude=[1, 0.5, 0.25]", block=block)
            self.check(y, expected)

    def test_samples_do_not_depend_on_blocks(self):
        x = np.full(3000, np.nan, np.complex64)
        whole = self.made(x, SMALL)
        for block in (1, 7, 1000):
            np.testing.assert_array_less(np.abs(self.made(x, SMALL, block=("--block", block)) - whole), 1e-6)


if __name__ == "__main__":
    unittest.main()
