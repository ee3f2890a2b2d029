# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Stages on arrays: the results are, to the bit, those of `iqd exec`."""

import os
import pathlib
import pickle
import random
import subprocess
import sys
import tempfile
import threading
import types
import unittest
import warnings

import numpy as np

import iqd
from iqd import _iqd, _stages, _yaml_keys

PROGRAM = os.environ["IQD"]
SHAPES = int(os.environ.get("IQD_PYTHON_SHAPES", "2"))  # of each stage
SEED = int(os.environ.get("IQD_PYTHON_SEED", "1"))
DTYPES = {"cf32": np.complex64, "f32": np.float32, "f16": np.float16, "i64": np.int64, "i32": np.int32, "i16": np.int16,
          "i8": np.int8, "u8": np.uint8}


def numbers(chance, element, shape):
    """Random values; sc16 has a last dimension for both parts."""
    if element == "sc16":
        return chance.integers(-2000, 2000, (*shape, 2), np.int16)
    if element == "cf32":
        return (chance.normal(size=shape) + 1j * chance.normal(size=shape)).astype(np.complex64)
    if element in ("f32", "f16"):
        return chance.normal(size=shape).astype(DTYPES[element])
    return chance.integers(0, 2, shape).astype(DTYPES[element])


def run_apart(code):
    """Runs code in an interpreter of its own, to its end."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)


def exec_outputs(entry, keys, arrays, inputs, outputs, folder, block=0):
    """The outputs of `iqd exec`, or None with its message if it refuses."""
    words = [PROGRAM, "exec", f"{entry}: {keys}", "--backend", "cpu", *(["--block", str(block)] if block else [])]
    for array, name in zip(arrays, inputs):
        np.save(folder / f"in_{name}.npy", array)
        words += ["--in", f"{name}={folder}/in_{name}.npy"]
    for name in outputs:
        words += ["--out", f"{name}={folder}/out_{name}.npy"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode != 0:
        return None, done.stderr
    return [np.load(folder / f"out_{name}.npy") for name in outputs], ""


class AllStages(unittest.TestCase):
    def test_results_are_those_of_exec(self):
        """Random shapes and types, for every stage that can run without further files."""
        tried = 0
        for described in _stages._described().values():
            for number in range(SHAPES):
                with self.subTest(stage=described[0], shape=number):
                    tried += self.compare(described, np.random.default_rng([SEED, number]))
        self.assertGreater(tried, 50 * SHAPES)

    def compare(self, described, chance):
        entry, _, _, inputs, outputs, sample, _ = described
        if not inputs or not outputs:
            return 0
        keys = sample.partition(":")[2].strip() or "{}"
        arrays = self.arrays(inputs, chance)
        block = int(chance.choice([0, 0, 1 + chance.integers(300)]))
        with tempfile.TemporaryDirectory() as folder:
            expected, refusal = exec_outputs(entry, keys, arrays, [i[0] for i in inputs], outputs, pathlib.Path(folder),
                                             block)
            (pathlib.Path(folder) / "keys.yaml").write_text(keys, encoding="utf-8")
            written = _iqd.read_yaml(f"{folder}/keys.yaml") or {}
        if expected is None:
            with self.assertRaises(iqd.Error, msg=refusal):
                iqd.stage(entry, backend="cpu", **written)(*arrays, block=block)
            return 0
        made = iqd.stage(entry, backend="cpu", **written)(*arrays, block=block)
        made = made if isinstance(made, tuple) else (made,)
        self.assertEqual(len(made), len(expected))
        for name, one, other in zip(outputs, expected, made):
            self.assertEqual((one.dtype, one.shape), (other.dtype, other.shape), name)
            self.assertEqual(one.tobytes(), np.asarray(other).tobytes(), name)
            self.assertEqual(len(other.axes), other.ndim, name)
        return 1

    def arrays(self, inputs, chance):
        length, rows = int(chance.integers(1, 3000)), int(chance.integers(1, 4))
        items = int(chance.integers(1, 9))
        element = None
        arrays = []
        for _, elements, dims, _, example in inputs:
            element = element if element in elements else random.Random(int(chance.integers(1 << 30))).choice(elements)
            if example or not dims.startswith("[n]"):
                shape = (items, *example) if dims.startswith(("[packet]", "[frame]", "[vector]", "[t]")) else tuple(example)
            else:
                shape = (rows, length) if rows > 1 else (length,)
            arrays.append(numbers(chance, element, shape))
        return arrays


class RandomChains(unittest.TestCase):
    """Chains on a stream of known rate and frequency, which `iqd exec` runs as a pipeline."""

    STAGES = {
        "fir": lambda c: {"taps": [round(c.uniform(-1, 1), 3) for _ in range(c.randint(1, 40))],
                          "decimation": c.randint(1, 5)},
        "rotate": lambda c: {"frequency": f"{c.randint(-200, 200)} kHz"},
        "resampler": lambda c: {"ratio": f"{c.randint(1, 4)}/{c.randint(1, 4)}"},
        "conjugate": lambda c: {},
        "agc": lambda c: {},
        "dc_block": lambda c: {},
        "fft": lambda c: {"size": c.choice([64, 100, 256]), "shift": c.choice([True, False])},
        "complex_to_mag": lambda c: {},
    }

    def test_results_are_those_of_exec(self):
        for seed in range(3 * SHAPES):
            with self.subTest(seed=seed):
                self.compare(random.Random(f"{SEED} {seed}"))

    def compare(self, chance):
        names = chance.choices([s for s in self.STAGES if s not in ("fft", "complex_to_mag")], k=chance.randint(1, 4))
        names += chance.choice([[], ["fft"], ["complex_to_mag"], ["fft", "complex_to_mag"]])
        keys = [self.STAGES[name](chance) for name in names]
        length, block = chance.randint(1, 60_000), chance.choice([0, 0, chance.randint(100, 9000)])
        shape = (length,) if chance.random() < 0.5 else (2, length)
        x = numbers(np.random.default_rng(length), "cf32", shape)
        with tempfile.TemporaryDirectory() as folder:
            expected = self.exec_chain(names, keys, x, block, pathlib.Path(folder))
        chain = iqd.chain(*(iqd.stage(n, **k) for n, k in zip(names, keys)), backend="cpu")
        made = chain(x, rate=2e6, frequency=433.92e6, block=block)
        made = made[-1] if isinstance(made, _stages.Results) else made
        self.assertEqual((expected.dtype, expected.shape), (made.dtype, made.shape), names)
        self.assertEqual(expected.tobytes(), np.asarray(made).tobytes(), f"{names} {keys} {x.shape} {block}")

    @staticmethod
    def exec_chain(names, keys, x, block, folder):
        np.save(folder / "in.npy", x)
        words = [PROGRAM, "exec", *(f"{n}: {_yaml_keys.text(k)}" for n, k in zip(names, keys)), folder / "in.npy",
                 folder / "out.npy", "--rate", "2e6", "--frequency", "433.92e6", "--backend", "cpu"]
        done = subprocess.run(words + (["--block", str(block)] if block else []), capture_output=True, text=True,
                              timeout=60, check=False)
        if done.returncode:
            raise AssertionError(done.stderr)
        return np.load(folder / "out.npy")


class Arrays(unittest.TestCase):
    x = (np.arange(4000) % 7 - 3 + 1j * (np.arange(4000) % 5)).astype(np.complex64)

    def test_nothing_is_copied_in_or_out(self):
        y = iqd.stage("conjugate")(self.x)
        np.testing.assert_array_equal(y, self.x.conj())
        self.assertIsNotNone(y.base)
        rows = np.zeros((3, 4000), np.complex64)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            iqd.stage("conjugate")(rows[:, 100:1100])  # rows that are apart
            with self.assertRaises(iqd.ConversionWarning):
                iqd.stage("conjugate")(self.x[::2])

    def test_converted_arrays(self):
        plain = iqd.stage("fir", taps=[1, 2, 1])
        expected = plain(self.x)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", iqd.ConversionWarning)
            for other in (self.x.astype(np.complex128), self.x.astype(">c8"), np.repeat(self.x, 2)[::2],
                          self.x.tolist()):
                np.testing.assert_array_equal(plain(other), expected)
            np.testing.assert_array_equal(plain(self.x.real.astype(np.uint16) + 3), plain(self.x.real + 3))
        read_only = self.x.copy()
        read_only.setflags(write=False)
        np.testing.assert_array_equal(plain(read_only), expected)

    def test_arrays_that_nobody_takes(self):
        fir = iqd.stage("fir", taps=[1])
        for wrong in (np.array(["a"]), np.zeros((2, 3, 4)), np.array([object()]), np.zeros(3, [("a", "f4")])):
            with self.assertRaises(iqd.ConfigError):
                fir(wrong)
        with self.assertRaises(iqd.ConfigError):
            fir()
        with self.assertRaises(iqd.ConfigError):
            fir(self.x, self.x)
        with self.assertRaises(iqd.ConfigError):
            fir(self.x, inn=self.x)
        with self.assertRaises(iqd.ConfigError):
            iqd.stage("ldpc_decoder", backend="cpu")(np.full(9, 1 << 40))

    def test_inputs_by_name(self):
        fir = iqd.stage("fir", taps=[1, 2])
        np.testing.assert_array_equal(fir(in_=self.x), fir(self.x))
        np.testing.assert_array_equal(fir(**{"in": self.x}), fir(self.x))
        add = iqd.stage("add")
        names = [i[0] for i in _stages._described()["add"][3]]
        np.testing.assert_array_equal(add(**{names[1]: 2 * self.x, names[0]: self.x}), add(self.x, 2 * self.x))
        for wrong in ({names[1]: self.x}, {"other": self.x}):
            with self.subTest(inputs=list(wrong)), self.assertRaises(iqd.ConfigError):
                add(**wrong)
        with self.assertRaises(iqd.ConfigError):
            add(self.x, self.x, self.x, **{names[0]: self.x})

    def test_what_is_no_array(self):
        class Broken:
            def __array__(self, dtype=None, copy=None):
                raise RuntimeError("no")

        with self.assertRaises(ValueError):
            iqd.stage("fir", taps=[1])([[1], [1, 2]])
        with self.assertRaises(RuntimeError):
            iqd.stage("fir", taps=[1])(Broken())

    def test_a_call_that_runs_at_the_end(self):
        """The interpreter ends in order while threads are in stages."""
        code = ("import threading, time, numpy, iqd\n"
                "fir, x = iqd.stage('fir', taps=numpy.ones(2000)), numpy.zeros(1 << 18, 'c8')\n"
                "def calls():\n    while True: fir(x)\n"
                "for _ in range(3): threading.Thread(target=calls, daemon=True).start()\n"
                "time.sleep(0.3)\n")
        done = run_apart(code)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_memory_of_large_arrays_is_bounded(self):
        code = ("import resource, numpy, iqd\n"
                "fir, x = iqd.stage('fir', taps=[1]), numpy.zeros(1 << 21, 'c8')\n"
                "before = resource.getrusage(0).ru_maxrss\n"
                "for k in range(40): fir(x[k:])\n"
                "print(resource.getrusage(0).ru_maxrss - before)\n")
        self.assertLess(int(run_apart(code).stdout), 450_000)

    def test_empty_arrays_and_nan(self):
        fir = iqd.stage("fir", taps=[1, 1])
        self.assertEqual(fir(np.zeros(0, np.complex64)).shape, (0,))
        y = fir(np.array([1, np.nan, 2, 3], np.float32))
        np.testing.assert_array_equal(np.isnan(y), [False, True, True, False])

    def test_all_mistakes_at_once(self):
        with self.assertRaises(iqd.ConfigError) as caught:
            iqd.stage("fir", tapss=[1], decimation=-1)
        self.assertEqual(len(caught.exception.problems), 2)
        self.assertIn("did you mean 'taps'", str(caught.exception))
        with self.assertRaises(iqd.ConfigError) as caught:
            iqd.stage("firr")
        self.assertIn("firr", str(caught.exception))
        self.assertIsInstance(pickle.loads(pickle.dumps(caught.exception)), iqd.ConfigError)

    def test_arguments_of_the_wrong_kind(self):
        for wrong in ({"from_": 3}, {"name": 5}, {"taps": object()}, {"taps": {1: 2}}):
            with self.subTest(keys=wrong), self.assertRaises(iqd.ConfigError):
                iqd.stage("fir", **{"taps": [1], **wrong})
        for wrong in ({"rate": -1}, {"rate": np.nan}, {"block": -5}):
            with self.subTest(call=wrong), self.assertRaises(iqd.ConfigError):
                iqd.stage("fir", taps=[1])(self.x, **wrong)
        for odd in (np.broadcast_to(self.x, (3, 4000)), self.x[::-1], np.asfortranarray(np.ones((3, 9), np.complex64)),
                    np.frombuffer(bytes(33), np.uint8)[1:].view(np.complex64), memoryview(self.x)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", iqd.ConversionWarning)
                np.testing.assert_array_equal(iqd.stage("fir", taps=[1])(odd), np.asarray(odd))

    def test_results_outlive_their_stage(self):
        kept = [iqd.stage("fir", taps=[k])(self.x) for k in range(1, 40)]
        for k, y in enumerate(kept, 1):
            np.testing.assert_array_equal(y, self.x * np.float32(k))

    def test_threads_share_a_stage(self):
        fir = iqd.stage("fir", taps=[1, 2, 3])
        inputs = [(self.x * np.float32(k)).astype(np.complex64) for k in range(8)]
        expected = [np.array(fir(x)) for x in inputs]
        wrong = []

        def call(k):
            for _ in range(200):
                if not np.array_equal(fir(inputs[k]), expected[k]):
                    wrong.append(k)

        threads = [threading.Thread(target=call, args=(k,)) for k in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(wrong, [])


class Knowledge(unittest.TestCase):
    """What results know of themselves."""

    def setUp(self):
        x = np.exp(2j * np.pi * 0.1 * np.arange(4096)).astype(np.complex64)
        self.y = iqd.stage("fir", taps=[1], decimation=4)(x, rate=2e6, frequency=433e6)
        self.bins = iqd.chain(iqd.stage("fft", size=256, shift=True))(x, rate=2e6, frequency=433e6)

    def test_rates_and_axes(self):
        self.assertEqual((self.y.rate, self.y.frequency, self.y.port), (5e5, 433e6, "fir.out"))
        np.testing.assert_allclose(self.y.axes["n"][:3], [0, 2e-6, 4e-6])
        name = list(self.bins.axes)[-1]
        np.testing.assert_allclose(self.bins.axes[name][[0, 128]], [432e6, 433e6])

    def test_slices_keep_what_is_theirs(self):
        part = self.y[10:20:2]
        self.assertIsInstance(part, iqd.Array)
        np.testing.assert_array_equal(part.axes["n"], self.y.axes["n"][10:20:2])
        frame = self.bins[3]
        self.assertEqual(list(frame.axes), list(self.bins.axes)[1:])
        self.assertNotIsInstance(self.y[[1, 2]], iqd.Array)

    def test_operations_give_plain_arrays(self):
        for plain in (self.y + 1, np.abs(self.y), np.concatenate([self.y, self.y]), self.y == self.y, self.y[::-1],
                      self.y[True]):
            self.assertIs(type(plain), np.ndarray)
        total = np.zeros(self.y.shape, np.complex64)
        np.add(self.y, 1, out=total)
        np.testing.assert_array_equal(total, np.asarray(self.y) + 1)
        again = self.y.copy()
        again += 1
        self.assertEqual((type(again), again.rate), (iqd.Array, self.y.rate))

    def test_copies_and_every_second_entry(self):
        for array, rate in ((self.y.copy(), 5e5), (self.y[::2], 2.5e5), (self.y[4::2][1:], 2.5e5), (self.bins.T, 2e6 / 256)):
            self.assertEqual((type(array), array.rate), (iqd.Array, rate))
        np.testing.assert_allclose(self.y[4::2][1:].axes["n"], self.y.axes["n"][6::2])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", iqd.ConversionWarning)
            turned = iqd.stage("rotate", frequency="100 kHz")(self.y[::2])
        np.testing.assert_allclose(np.angle(turned[1] / self.y[2]) / (2 * np.pi), 0.4, atol=1e-5)
        self.assertEqual(list(self.bins.T.axes), [])

    def test_pickles(self):
        for array in (self.y, self.bins[2:5]):
            again = pickle.loads(pickle.dumps(array))
            np.testing.assert_array_equal(again, array)
            self.assertEqual((again.rate, again.frequency), (array.rate, array.frequency))
            self.assertEqual(list(again.axes), list(array.axes))
        stage = pickle.loads(pickle.dumps(iqd.stage("fir", taps=[1, 2])))
        np.testing.assert_array_equal(stage(np.ones(3, np.float32)), [1, 3, 3])
        several = iqd.stage("complex_to_mag_phase")(np.ones(5, np.complex64))
        again = pickle.loads(pickle.dumps(several))
        self.assertEqual(again._fields, several._fields)
        np.testing.assert_array_equal(again[0], several[0])

    def test_a_call_continues_with_what_the_array_knows(self):
        again = iqd.stage("fir", taps=[1], decimation=2)(self.y)
        self.assertEqual((again.rate, again.frequency), (2.5e5, 433e6))

    def test_help(self):
        text = type(iqd.stage("fir", taps=[1])).__doc__
        for word in ("taps", "decimation", "default 1", "<= 1048576", "Inputs", "Outputs"):
            self.assertIn(word, text)
        self.assertIn("fir", iqd.stages())


class Chains(unittest.TestCase):
    x = np.random.default_rng(3).normal(size=(2, 20000)).astype(np.float32).view(np.complex64)

    def test_blocks_are_the_whole(self):
        chain = iqd.chain(iqd.stage("fir", taps=np.hanning(63), decimation=3), iqd.stage("complex_to_mag"),
                          iqd.stage("fir", taps=np.ones(33)))
        whole = chain(self.x, rate=1e6, block=0)
        chance = random.Random(4)
        for block in (1, 7, 1000, 4999, 100_000):
            x = self.x[:, :300] if block == 1 else self.x
            cuts = sorted(chance.sample(range(x.shape[1]), 9))
            pieces = np.split(x, cuts, axis=1)
            parts = list(chain.blocks(iter(pieces), block=block, rate=1e6))
            np.testing.assert_array_equal(np.concatenate(parts, axis=1), whole[:, :sum(p.shape[1] for p in parts)])
            if block != 1:
                self.assertEqual(sum(p.shape[1] for p in parts), whole.shape[1])
            last = [p for p in parts if p.shape[1]][-1]
            np.testing.assert_allclose(last.axes["n"][-1], (sum(p.shape[1] for p in parts) - 1) * 3e-6)

    def test_a_gap_begins_a_new_stream(self):
        pieces = [types.SimpleNamespace(data=self.x[:, :1000], sample=0, gap=0),
                  types.SimpleNamespace(data=self.x[:, 1000:2000], sample=5000, gap=4000)]
        fir = iqd.stage("fir", taps=[1, 1], decimation=2)
        parts = list(fir.blocks(iter(pieces), block=500, rate=1e6))
        np.testing.assert_array_equal(np.concatenate(parts[2:], axis=1), fir(self.x[:, 1000:2000]))
        self.assertEqual([round(p.axes["n"][0] * 1e6) for p in parts], [0, 500, 5000, 5500])

    def test_blocks_of_other_arrays(self):
        rows = np.arange(6000, dtype=np.float32).view(np.complex64).reshape(2, 3, 500)
        parts = list(iqd.stage("conjugate").blocks(rows, block=80))
        np.testing.assert_array_equal(np.concatenate(parts, axis=2), rows.conj())
        pairs = np.arange(4000, dtype=np.int16).reshape(2000, 2)
        parts = list(iqd.stage("fir", taps=[1]).blocks(pairs, block=300))
        np.testing.assert_array_equal(np.concatenate(parts), iqd.stage("fir", taps=[1])(pairs))
        for other in (np.zeros((9, 1), np.int16), np.zeros((9, 3), np.int16), np.zeros(9, np.int16), np.array(["a"])):
            with self.subTest(shape=other.shape), self.assertRaises(iqd.ConfigError):
                list(iqd.stage("fir", taps=[1]).blocks(iter([pairs, other]), block=300))
        known = iqd.stage("fir", taps=[1])(self.x[0], rate=1e6)
        self.assertEqual(next(iqd.stage("fir", taps=[1]).blocks(iter([known]), block=100)).rate, 1e6)

    def test_state_continues(self):
        agc = iqd.stage("agc")
        parts = list(agc.blocks(self.x[0], block=100))
        np.testing.assert_array_equal(np.concatenate(parts), agc(self.x[0], block=0))

    def test_several_results(self):
        chain = iqd.chain(iqd.stage("fir", taps=[1]), iqd.stage("complex_to_mag", name="level"),
                          ports=["fir.out", "level.out"])
        out = chain(self.x)
        self.assertEqual(out.keys(), ["fir.out", "level.out"])
        np.testing.assert_array_equal(out["level"], out["level.out"])
        self.assertTrue("fir.out" in out and out["fir.out"] in out and "nothing" not in out)
        with self.assertRaises(KeyError):
            out["nothing"]
        for wrong in (lambda: iqd.chain("fir"), lambda: iqd.chain(), lambda: iqd.stage("agc", backend="gpu"),
                      lambda: iqd.chain(iqd.stage("agc", backend="cpu"), iqd.stage("agc", backend="cuda"))):
            with self.assertRaises(iqd.ConfigError):
                wrong()

    def test_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "a.yaml"
            path.write_text("name: a\nsource:\n  generate: {rate: 1 MS/s}\nstages:\n  - fir: {taps: [1, 2, 1]}\n"
                            "  - complex_to_mag:\npublish:\n  - {port: complex_to_mag.out, topic: x, bind: ipc://x}\n",
                            encoding="ascii")
            chain = iqd.from_yaml(path)
            expected = iqd.chain(iqd.stage("fir", taps=[1, 2, 1]), iqd.stage("complex_to_mag"))(self.x)
            np.testing.assert_array_equal(chain(self.x), expected)
            path.write_text("stages: [\n", encoding="ascii")
            with self.assertRaises(iqd.ConfigError):
                iqd.from_yaml(path)
            for wrong in ("- a\n", "pipelines: 3\n", "stages: 3\n", "stages:\n  - fir: [1]\n", "name: a\n"):
                path.write_text(wrong, encoding="ascii")
                with self.subTest(text=wrong), self.assertRaises(iqd.ConfigError):
                    iqd.from_yaml(path)
            path.write_text("stages:\n  - fir: {taps: [1, 2]}\n  - agc: {from: source}\n", encoding="ascii")
            np.testing.assert_array_equal(iqd.from_yaml(path)(self.x), iqd.stage("agc")(self.x))
        with self.assertRaises(iqd.ConfigError):
            iqd.from_yaml("/nowhere.yaml")


if __name__ == "__main__":
    unittest.main()
