# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""`iqd exec`: every stage on arrays of all kinds, whole and in blocks, against NumPy in double precision."""

import json
import unittest

import numpy as np

import iqd
import references as ref

BLOCKS = ([], ["--block", 1], ["--block", 7], ["--block", 1000], ["--block", 4099])


def signal(*shape, seed=1, complex_values=True):
    r = np.random.default_rng(seed)
    x = r.standard_normal(shape)
    return (x + 1j * r.standard_normal(shape)).astype(np.complex64) if complex_values else x.astype(np.float32)


class ExecTest(iqd.SystemTest):
    stderr = ""

    def run_stage(self, stage, x, *arguments, ok=True):
        np.save(self.folder / "x.npy", x)
        done = iqd.command("exec", stage, "--in", f"in={self.folder}/x.npy", "--out", f"out={self.folder}/y.npy",
                           *arguments)
        if not ok:
            return done
        self.assertEqual(done.returncode, 0, (stage, x.shape, x.dtype, arguments, done.stderr))
        self.stderr = done.stderr
        return np.load(self.folder / "y.npy")

    def config(self, **keys):
        return [a for key, value in keys.items()
                for a in ("--config", f"{key.replace('__', '.')}={str(value).replace('True', 'true')}")]


class Exec(ExecTest):
    def check(self, stage, x, expected, dtype, tolerance, *arguments, blocks=BLOCKS):
        for block in blocks:
            y = self.run_stage(stage, x, *arguments, *block)
            self.assertEqual((y.shape, y.dtype), (expected.shape, np.dtype(dtype)), (stage, arguments, block))
            if y.size:
                worst = np.abs(y - expected).max()
                scale = max(np.abs(expected).max(), np.abs(iqd.to_complex(x)).max())
                self.assertLessEqual(worst, tolerance * scale, (stage, arguments, block))

    def shapes(self):
        return [signal(n) for n in (0, 1, 2, 3001)] + [signal(1, 500), signal(3, 777)]

    def test_every_stage_is_here(self):
        here = {"convert", "fir", "fft", "rotate", "complex_to_mag", "complex_to_mag_squared", "conjugate",
                "multiply_const", "spectrum", "peak_finder"}
        listed = {line.split()[0] for line in iqd.command("stages").stdout.splitlines()}
        self.assertLessEqual(here, listed)

    def test_elementwise(self):
        for x in self.shapes():
            z = x.astype(np.complex128)
            self.check("conjugate", x, z.conj(), "<c8", 0)
            self.check("complex_to_mag", x, np.abs(z), "<f4", 2e-7)
            self.check("complex_to_mag_squared", x, np.abs(z) ** 2, "<f4", 2e-7)
            self.check("multiply_const", x, z * (0.3 - 0.1j), "<c8", 3e-7, *self.config(value="0.3-0.1j"))
            self.check("rotate", x, ref.rotate(z, 0.123, 1.0, 0.5), "<c8", 5e-7,
                       *self.config(frequency=0.123, phase=0.5))

    def test_elementwise_of_odd_values(self):
        x = np.array([0, -0.0, np.inf, -np.inf, np.nan, 1e30, 1e-42, 3e38 + 3e38j], np.complex64)
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(self.run_stage("conjugate", x), x.conj())
            y = self.run_stage("complex_to_mag_squared", x)
            expected = x.real * x.real + x.imag * x.imag
        np.testing.assert_array_equal(y, expected)

    def test_rotate_over_a_rate(self):
        x = signal(5000)
        self.check("rotate", x, ref.rotate(x.astype(complex), -250e3, 2e6), "<c8", 5e-7, "--rate", "2 MS/s",
                   *self.config(frequency="-250 kHz"))

    def test_fir(self):
        taps = {"one": [1], "short": [1, -2, 0.5], "complex": [0.5, 0.25 - 1j, 2j], "long": np.hanning(301).tolist()}
        for x in self.shapes():
            for name, h in taps.items():
                text = json.dumps([[complex(t).real, complex(t).imag] for t in h] if name == "complex" else h)
                for decimation, method in ((1, "auto"), (3, "direct"), (4, "fft")):
                    self.check("fir", x, ref.fir(x.astype(complex), h, decimation), "<c8", 3e-6,
                               *self.config(taps=text, decimation=decimation, method=method),
                               blocks=BLOCKS[:1] + BLOCKS[2:4])

    def test_fir_of_real_values(self):
        for x in (signal(4000, complex_values=False), signal(2, 999, complex_values=False)):
            h = [0.25, 1, -0.5]
            self.check("fir", x, ref.fir(x.astype(float), h, 2), "<f4", 1e-6, *self.config(taps=h, decimation=2))

    def test_fir_with_taps_from_a_file(self):
        h = signal(33, seed=9)
        np.save(self.folder / "taps.npy", h)
        x = signal(2000)
        self.check("fir", x, ref.fir(x.astype(complex), h), "<c8", 1e-6, *self.config(taps=f"@{self.folder}/taps.npy"))

    def test_fir_designs(self):
        x = np.zeros(4096, np.complex64)
        x[0] = 1
        at = np.fft.fftfreq(4096)
        for kind, keys, passes, stops in (
                ("low_pass", {"cutoff": 0.1}, abs(at) < 0.07, abs(at) > 0.13),
                ("high_pass", {"cutoff": 0.2}, abs(at) > 0.23, abs(at) < 0.17),
                ("band_pass", {"low": 0.1, "high": 0.2}, (abs(at) > 0.13) & (abs(at) < 0.17), abs(at) > 0.23),
                ("band_reject", {"low": 0.1, "high": 0.2}, abs(at) > 0.23, (abs(at) > 0.13) & (abs(at) < 0.17))):
            given = {f"design__{k}": v for k, v in {"type": kind, "transition": 0.04, **keys}.items()}
            response = np.abs(np.fft.fft(self.run_stage("fir", x, *self.config(**given))))
            self.assertLess(np.abs(response[passes] - 1).max(), 0.01, kind)
            self.assertLess(response[stops].max(), 0.01, kind)

    def test_fft(self):
        for size in (1, 2, 7, 64, 1000):
            for x in (signal(3001), signal(2, 2500)):
                z = x.astype(complex)
                self.check("fft", x, ref.fft(z, size), "<c8", 1e-6, *self.config(size=size), blocks=BLOCKS[:1])
                self.check("fft", x, ref.fft(z, size, True, True), "<c8", 1e-6,
                           *self.config(size=size, inverse="true", shift="true"), blocks=BLOCKS[:1])
                self.check("fft", x, ref.fft(z, size, shift=True, shape="hamming"), "<c8", 1e-6,
                           *self.config(size=size, window="hamming", shift="true"), blocks=BLOCKS[:1])
        for block in (64, 65, 1001):
            self.check("fft", signal(3001), ref.fft(signal(3001).astype(complex), 64), "<c8", 1e-6,
                       *self.config(size=64), blocks=[["--block", block]])

    def test_fft_windows(self):
        x = signal(1280)
        for shape in ("rectangular", "hann", "hamming", "blackman", "blackman_harris", "kaiser"):
            self.check("fft", x, ref.fft(x.astype(complex), 128, shape=shape), "<c8", 1e-6,
                       *self.config(size=128, window=shape), blocks=BLOCKS[:1])

    def test_spectrum(self):
        x = signal(20_000)
        x += 5 * np.exp(2j * np.pi * 0.2 * np.arange(len(x))).astype(np.complex64)
        for size, shape in ((64, "hann"), (1000, "blackman"), (1024, "rectangular")):
            y = self.run_stage("spectrum", x, *self.config(size=size, window=shape))
            expected = ref.spectrum(x.astype(complex), size, shape)
            self.assertEqual(y.reshape(-1).shape, expected.shape)
            self.assertLess(np.abs(y.reshape(-1) - expected).max(), 1e-3)
        silence = self.run_stage("spectrum", np.zeros(128, np.complex64), *self.config(size=64))
        self.assertEqual(set(silence.reshape(-1)), {np.float32(-200)})

    def test_peak_finder(self):
        for x in (signal(1000, complex_values=False), np.array([1, 3, 3, 1, 5], np.float32), np.zeros(10, np.float32),
                  np.array([2], np.float32), np.zeros(0, np.float32)):
            for most in (1, 5, 16):
                y = self.run_stage("peak_finder", x, *self.config(threshold=0.5, max=most))
                np.testing.assert_array_equal(y.reshape(-1, 2), ref.peaks(x, 0.5, most))

    def test_convert(self):
        x = np.concatenate([signal(2000, complex_values=False),
                            np.array([0.5 / 128, 1.5 / 128, 1, -1, 5, -5, np.inf, -np.inf, np.nan], np.float32)])
        for dtype in ("i8", "i16", "i32"):
            for block in BLOCKS:
                np.testing.assert_array_equal(self.run_stage("convert", x, *self.config(dtype=dtype), *block),
                                              ref.to_integer(x, dtype))
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(self.run_stage("convert", x, *self.config(dtype="f16")), x.astype(np.float16))
        pairs = np.random.default_rng(2).integers(-32768, 32768, (3, 401, 2)).astype(np.int16)
        y = self.run_stage("convert", pairs, *self.config(dtype="cf32"))
        np.testing.assert_array_equal(y, iqd.to_complex(pairs))
        back = self.run_stage("convert", y, *self.config(dtype="sc16"))
        np.testing.assert_array_equal(back, pairs)
        self.assertEqual(back.dtype, np.dtype("<i2"))

    def test_sc16_where_floats_are_asked(self):
        pairs = np.random.default_rng(3).integers(-32768, 32768, (1000, 2)).astype(np.int16)
        z = iqd.to_complex(pairs)
        self.check("conjugate", pairs, z.conj(), "<c8", 0)
        self.check("fir", pairs, ref.fir(z, [1, 2, 3]), "<c8", 1e-6, *self.config(taps=[1, 2, 3]))

    def test_other_element_types_are_promoted(self):
        expected = np.arange(-20, 20).astype(complex)
        for dtype in ("<f4", "<f2", "<i8", "<i4", "<i2", "<i1"):
            y = self.run_stage("conjugate", np.arange(-20, 20).astype(dtype))
            np.testing.assert_array_equal(y, expected, dtype)
        y = self.run_stage("conjugate", np.arange(40).astype("<u1"))
        np.testing.assert_array_equal(y, np.arange(40).astype(complex))

    def test_whole_numbers_may_have_any_type_that_holds_them(self):
        """NumPy's integers are int64 unless something else is asked for."""
        bits = np.random.default_rng(6).integers(0, 2, (3, 1152))
        words = None
        for dtype in (np.uint8, np.int64, np.int32, np.int8, bool):
            np.save(self.folder / "bits.npy", bits.astype(dtype))
            done = iqd.command("exec", "ldpc_encoder", self.folder / "bits.npy", self.folder / "words.npy")
            self.assertEqual(done.returncode, 0, (dtype, done.stderr))
            words = np.load(self.folder / "words.npy") if words is None else words
            np.testing.assert_array_equal(np.load(self.folder / "words.npy"), words)
        np.save(self.folder / "bits.npy", bits + 256)
        done = iqd.command("exec", "ldpc_encoder", self.folder / "bits.npy", self.folder / "words.npy")
        self.assertEqual(done.returncode, 2)
        self.assertIn("takes <u1, the array is <i8", done.stderr)

    def test_a_real_array_beside_a_complex_one_is_promoted(self):
        z, x = signal(100), signal(100, complex_values=False)
        pairs = np.random.default_rng(4).integers(-32768, 32768, (100, 2)).astype(np.int16)
        for a, b, of in ((z, x, z), (x, z, z), (pairs, x, iqd.to_complex(pairs))):
            np.save(self.folder / "a.npy", a)
            np.save(self.folder / "b.npy", b)
            done = iqd.command("exec", "multiply", "--in", f"in0={self.folder}/a.npy", "--in", f"in1={self.folder}/b.npy",
                               "--out", f"out={self.folder}/y.npy")
            self.assertEqual(done.returncode, 0, done.stderr)
            y = np.load(self.folder / "y.npy")
            self.assertEqual(y.dtype, np.dtype("<c8"))
            np.testing.assert_array_equal(y, of.astype(np.complex64) * x)

    def test_an_item_may_come_by_itself(self):
        llr = signal(3, 2304, complex_values=False)

        def decoded(x):
            np.save(self.folder / "llr.npy", x)
            done = iqd.command("exec", "ldpc_decoder", "--in", f"llr={self.folder}/llr.npy",
                               "--out", f"bits={self.folder}/bits.npy")
            self.assertEqual(done.returncode, 0, done.stderr)
            return np.load(self.folder / "bits.npy")

        words = decoded(llr)
        self.assertEqual(words.shape, (3, 1152))
        np.testing.assert_array_equal(decoded(llr[1:2]), words[1:2])
        np.testing.assert_array_equal(decoded(llr[1]), words[1])

    def test_numbers_that_become_others_are_told_of(self):
        x = np.arange(1, 5)
        for array in (x + 0.1, x + 2**24):
            np.testing.assert_array_equal(self.run_stage("add_const", array, *self.config(value=0)),
                                          array.astype("<f4"))
            self.assertIn(f"input 'in': {array.dtype.str} is rounded", self.stderr)
        z = (x + 0.1) * (1 - 0.3j)
        np.testing.assert_array_equal(self.run_stage("conjugate", z), z.astype("<c8").conj())
        self.assertIn("<c16 is rounded", self.stderr)
        for array in (x + 0.5, x, x * (1 + 2j)):
            self.run_stage("conjugate", array)
            self.assertNotIn("rounded", self.stderr)

    def test_layouts_that_numpy_saves(self):
        x = signal(40, 25)
        for variant in (np.asfortranarray(x), x.astype(">c8"), x[::2, ::-1]):
            np.testing.assert_array_equal(self.run_stage("conjugate", variant), variant.conj())


class Refused(ExecTest):
    def refuse(self, stage, x, words, *arguments):
        done = self.run_stage(stage, x, *arguments, ok=False)
        self.assertEqual(done.returncode, 2, (stage, arguments, done.stderr))
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertFalse((self.folder / "y.npy").exists())

    def test_a_constant_that_no_float_holds(self):
        self.refuse("multiply_const", signal(4), ["value", "larger than a float can be"], *self.config(value="1e39"))

    def test_configurations(self):
        x = signal(100)
        self.refuse("fri", x, ["fri", "iqd stages"])
        self.refuse("fir", x, ["taps"])
        self.refuse("fir", x, ["tabs", "did you mean 'taps'"], *self.config(tabs=[1]))
        self.refuse("fir", x, ["decimation", "0"], *self.config(taps=[1], decimation=0))
        self.refuse("fir", x, ["cutoff", "half the sample rate"],
                    *self.config(design__cutoff=0.7, design__transition=0.1))
        self.refuse("fft", x, ["size", "many"], *self.config(size="many"))
        self.refuse("convert", x, ["dtype"], *self.config(dtype="i8"))
        self.refuse("multiply_const", x, ["value", "required"])
        self.refuse("conjugate", x, ["none.yaml"], "--config", "none.yaml")
        self.refuse("rotate", x, ["frequency", "kg"], *self.config(frequency="3 kg"))
        self.refuse("conjugate", x, ["rate"], "--rate", "fast")
        self.refuse("conjugate", x, ["rate"], "--rate", "-1")
        self.refuse("conjugate", x, ["block"], "--block", "0")
        self.refuse("conjugate", x, ["cuda:N"], "--backend", "gpu")

    def test_arrays(self):
        self.refuse("conjugate", np.array(["a", "b"]), ["x.npy"])
        self.refuse("conjugate", np.array([{"a": 1}], dtype=object), ["x.npy"])
        self.refuse("fir", signal(2, 3, 4), ["dimension"], *self.config(taps=[1]))
        self.refuse("peak_finder", signal(10), ["in", "f4"], *self.config(threshold=1))

    def test_files(self):
        good = self.folder / "x.npy"
        np.save(good, signal(100))
        raw = good.read_bytes()
        for damaged in (b"", b"PK\x03\x04", raw[:5], raw[:60], raw[:-1], raw + b"\0", b"\x93NUMPY\x09\x00" + raw[8:]):
            good.write_bytes(damaged)
            done = iqd.command("exec", "conjugate", "--in", f"in={good}", "--out", f"out={self.folder}/y.npy")
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("x.npy", done.stderr)
        done = iqd.command("exec", "conjugate", "--in", "in=/nowhere.npy", "--out", f"out={self.folder}/y.npy")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("/nowhere.npy", done.stderr)

    def test_ports(self):
        x = signal(10)
        self.refuse("conjugate", x, ["there is no port 'other'"], "--out", f"other={self.folder}/y.npy")
        self.refuse("conjugate", x, ["given twice"], "--in", f"in={self.folder}/x.npy")
        done = iqd.command("exec", "conjugate", "--out", f"out={self.folder}/y.npy")
        self.assertEqual(done.returncode, 2, done.stderr)


class Shapes(ExecTest):
    """Arrays that a stage cannot process are problems; arrays without items are not."""

    def run_inputs(self, stage, arrays, *arguments, out="out"):
        given = []
        for name, array in arrays.items():
            np.save(self.folder / f"{name}.npy", array)
            given += ["--in", f"{name}={self.folder}/{name}.npy"]
        return iqd.command("exec", stage, *given, "--out", f"{out}={self.folder}/y.npy", *arguments)

    def expect_refused(self, done, *words):
        self.assertEqual(done.returncode, 2, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)

    def test_inputs_of_other_lengths(self):
        for received in (1, 5000, 9999, 10001, 20000):
            done = self.run_inputs("aph_estimator", {"sent": signal(10000), "received": signal(received)},
                                   *self.config(samples=1024), out="report")
            self.expect_refused(done, "equally long", "sent", "received")

    def test_no_channels(self):
        none = np.zeros((0, 1000), np.complex64)
        stages = {"preamble_search": ("windows", {}), "clock_recovery": ("out", {"samples_per_symbol": 4}),
                  "carrier_sync": ("out", {}), "symbol_sync": ("out", {"samples_per_symbol": 4}),
                  "channelizer": ("out", {"channels": 8}), "soqpsk_modulator": ("out", {}), "test_waveform": ("out", {}),
                  "conjugate": ("out", {})}
        for stage, (out, keys) in stages.items():
            with self.subTest(stage):
                done = self.run_inputs(stage, {"in": none}, *self.config(**keys), out=out)
                self.expect_refused(done, "in: has 0 of [channel]; at least 1 is required")
        done = self.run_inputs("framer", {"in": none.real}, *self.config(chip_rate=0.1))
        self.expect_refused(done, "in: has 0 of [channel]; at least 1 is required")

    def test_no_vectors(self):
        for stage in "mtt_detector", "kbest_detector", "lmmse_detector", "one_pass_detector", "exhaustive_detector":
            for vectors in 0, 3:
                with self.subTest(stage=stage, vectors=vectors):
                    inputs = {"y": signal(vectors, 2), "h": signal(3, 2, 2), "noise": np.ones(3, np.float32)}
                    done = self.run_inputs(stage, inputs, "--block", "3", out="bits")
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertEqual(np.load(self.folder / "y.npy").shape, (vectors, 2, 2))
            inputs["h"] = inputs["h"][:0]
            self.expect_refused(self.run_inputs(stage, inputs, out="bits"), "has 0 of [group]")

    def test_no_kinds(self):
        done = self.run_inputs("ber_meter", {"in": np.zeros((4, 0, 100), np.uint8)}, *self.config(sequence="pn9"),
                               out="report")
        self.expect_refused(done, "in: has 0 of [kind]; at least 1 is required")


if __name__ == "__main__":
    unittest.main()
