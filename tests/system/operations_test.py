# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""`iqd exec`: the operations on single samples, the tone source and the frequency demodulator, on arrays of all types
and lengths, against NumPy in double precision."""

import unittest

import numpy as np

import iqd

BLOCKS = ([], ["--block", 1], ["--block", 7], ["--block", 1000])
FLOOR = 1e-18


def signal(*shape, seed=1):
    r = np.random.default_rng(seed)
    return (r.standard_normal(shape) + 1j * r.standard_normal(shape)).astype(np.complex64)


def whole(dtype, n, seed=1):
    limits = np.iinfo(dtype)
    return np.random.default_rng(seed).integers(limits.min, limits.max, n, dtype, endpoint=True)


def decibels(x, n, k):
    return n * np.log10(np.where(x > FLOOR, x, FLOOR)) + k


class Operations(iqd.SystemTest):
    def run_stage(self, stage, inputs, *arguments, outputs=("out",)):
        """Returns the output, or a list of outputs."""
        command = ["exec", stage, *arguments]
        for port, x in inputs.items():
            np.save(self.folder / f"{port}.npy", x)
            command += ["--in", f"{port}={self.folder}/{port}.npy"]
        for port in outputs:
            command += ["--out", f"{port}={self.folder}/{port}-out.npy"]
        done = iqd.command(*command)
        self.assertEqual(done.returncode, 0, (command, done.stderr))
        results = [np.load(self.folder / f"{port}-out.npy") for port in outputs]
        return results if len(results) > 1 else results[0]

    def check(self, stage, inputs, expected, tolerance, *arguments, dtype=None, blocks=BLOCKS):
        for block in blocks:
            y = self.run_stage(stage, inputs, *arguments, *block)
            self.assertEqual(y.shape, expected.shape, (stage, block))
            self.assertEqual(y.dtype, np.dtype(dtype or expected.dtype), stage)
            if tolerance == 0:
                np.testing.assert_array_equal(y, expected, stage)
            else:
                np.testing.assert_allclose(y, expected, rtol=0, atol=tolerance, err_msg=stage)

    def test_two_complex_inputs(self):
        for shape in ((0,), (1,), (3001,), (2, 500)):
            a, b = signal(*shape), signal(*shape, seed=2)
            x, y = a.astype(complex), b.astype(complex)
            inputs = {"in0": a, "in1": b}
            self.check("add", inputs, a + b, 0)
            self.check("subtract", inputs, a - b, 0)
            self.check("multiply", inputs, x * y, 4e-6, dtype="<c8")
            self.check("multiply_conjugate", inputs, x * y.conj(), 4e-6, dtype="<c8")

    def test_real_and_whole_inputs(self):
        a, b = signal(1000).real, signal(1000, seed=2).real
        self.check("multiply", {"in0": a, "in1": b}, a * b, 0)
        self.check("add_const", {"in": a}, a + np.float32(0.3), 0, "--config", "value=0.3")
        for dtype in (np.int16, np.int32):
            a, b = whole(dtype, 1001), whole(dtype, 1001, seed=2)
            inputs = {"in0": a, "in1": b}
            self.check("add", inputs, a + b, 0, dtype=dtype)
            self.check("subtract", inputs, a - b, 0, dtype=dtype)
            self.check("multiply", inputs, a * b, 0, dtype=dtype)
            self.check("multiply_const", {"in": a}, a * dtype(-7), 0, "--config", "value=-7", dtype=dtype)
            self.check("add_const", {"in": a}, a + dtype(31000), 0, "--config", "value=31000", dtype=dtype)

    def test_the_shorter_of_two_counts(self):
        a, b = signal(3, 900), signal(3, 700, seed=2)
        for x, y in ((a, b), (b, a), (a, b[:, :0]), (a[:, :0], b)):
            n = min(x.shape[1], y.shape[1])
            self.check("add", {"in0": x, "in1": y}, x[:, :n] + y[:, :n], 0)
        self.check("subtract", {"in0": a[0], "in1": b[0, :1]}, a[0, :1] - b[0, :1], 0)

    def test_pairs_of_i16_are_complex(self):
        pairs = whole(np.int16, 2000).reshape(1000, 2)
        z = iqd.to_complex(pairs).astype(np.complex64)
        self.check("add", {"in0": pairs, "in1": pairs[::-1]}, z + z[::-1], 0)
        self.check("multiply_const", {"in": pairs}, 2 * z, 0, "--config", "value=2")

    def test_polar(self):
        z = signal(2000)
        wide = z.astype(complex)
        self.check("complex_to_arg", {"in": z}, np.angle(wide), 4e-7, dtype="<f4")
        for block in BLOCKS:
            mag, phase = self.run_stage("complex_to_mag_phase", {"in": z}, *block, outputs=("mag", "phase"))
            np.testing.assert_allclose(mag, np.abs(wide), rtol=2e-7)
            np.testing.assert_allclose(phase, np.angle(wide), atol=4e-7)
        alone = self.run_stage("complex_to_mag_phase", {"in": z}, outputs=("phase",))
        np.testing.assert_array_equal(alone, phase)
        self.check("mag_phase_to_complex", {"in0": mag, "in1": phase}, wide, 2e-6, dtype="<c8")

    def test_logarithms(self):
        x = np.concatenate([10 ** np.linspace(-20, 38, 500), [0, -1, np.nan, np.inf, 1e-42]]).astype(np.float32)
        keys = ["--config", "n=10", "--config", "k=-3"]
        with np.errstate(all="ignore"):
            self.check("log10", {"in": x}, decibels(x.astype(float), 10, -3), 5e-5, *keys, dtype="<f4")
            self.check("log10", {"in": x}, decibels(x.astype(float), 1, 0), 5e-6, dtype="<f4")
            a, b = np.append(x, [1, 0]), np.append(x[::-1] + 1, [0, 0]).astype(np.float32)
            ratio = (a / b).astype(float)
            self.check("snr_helper", {"in0": a, "in1": b}, np.abs(decibels(ratio, 10, -3)), 5e-5, *keys, dtype="<f4")

    def test_tones(self):
        n = np.arange(5000)
        for frequency in (0, 0.1234, -0.25, 0.5, -0.01):
            phi = 2 * np.pi * ((frequency * n) % 1) + 0.4
            keys = ["--config", f"frequency={frequency}", "--config", "phase=0.4", "--config", "amplitude=2"]
            nothing = {"in": np.zeros(5000, np.complex64)}
            self.check("signal_source", nothing, 2 * np.exp(1j * phi), 2e-6, *keys, dtype="<c8")
            self.check("signal_source", nothing, 2 * np.sin(phi), 2e-6, *keys, "--config", "waveform=sine",
                       "--config", "dtype=f32", dtype="<f4")

    def test_frequency_demodulation(self):
        z = signal(2, 2000)
        wide = z.astype(complex)
        expected = np.zeros(z.shape)
        expected[:, 1:] = np.angle(wide[:, 1:] * wide[:, :-1].conj())
        self.check("quadrature_demod", {"in": z}, 0.5 * expected, 1e-6, "--config", "gain=0.5", dtype="<f4")


if __name__ == "__main__":
    unittest.main()
