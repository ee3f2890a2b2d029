# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""A user's own function in Python: on arrays however they are cut, its shapes, and mistakes reported with their place."""

import functools
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import unittest

import numpy as np

import iqd

MINE = '''import numpy as np


def scale(x, meta, k):
    return k * x


def mean(x, meta, taps=4):
    """A moving average over the last samples."""
    return sum(x[..., meta.past - i:meta.past - i + meta.n] for i in range(taps)) / np.float32(taps)


def around(x, meta):
    return x[:, 2:-3] - 2 * x[:, :-5] + 3 * x[:, 5:]


def groups(x, meta):
    """Three numbers of each ten samples."""
    y = x[:, meta.past:].reshape(x.shape[0], -1, 10)
    return np.stack([y.real.max(-1), y.imag.min(-1), np.abs(x[:, :-1]).max() * 0 + y[..., 0].real], -1).reshape(len(x), -1)


def spectrum(x, meta):
    return np.abs(np.fft.fft(x.reshape(x.shape[0], -1, 16)))


def loud(x, meta, threshold):
    new = x[0, meta.past:meta.past + meta.n]
    found = np.flatnonzero(np.abs(new) > threshold)
    return np.stack([meta.position + found, found], -1)


def together(x, meta):
    return x[0] + 1j * x[1]
'''


def noise(*shape, seed=1):
    r = np.random.default_rng(seed)
    return (r.standard_normal(shape) + 1j * r.standard_normal(shape)).astype(np.complex64)


class PythonStage(iqd.SystemTest):
    def setUp(self):
        super().setUp()
        self.write("mine.py", MINE)

    def write(self, name, text):
        (self.folder / name).write_text(text, encoding="utf-8")

    def iqd(self, *arguments, code=0, **options):
        done = iqd.command(*arguments, cwd=self.folder, **options)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def execute(self, inputs, config, *arguments, code=0, **options):
        ports = []
        for name, x in inputs.items():
            np.save(self.folder / f"{name}.npy", x)
            ports += ["--in", f"{name}={name}.npy"]
        keys = [word for key in config for word in ("--config", key)]
        done = self.iqd("exec", "python", *keys, *ports, "--out", "out=y.npy", *arguments, code=code, **options)
        return np.load(self.folder / "y.npy") if code == 0 else done.stderr

    def every_cut(self, x, function, *keys, blocks=(1, 7, 64, 1000)):
        """The result, which is the same however the stream is cut."""
        config = ["file=mine.py", f"function={function}", *keys]
        whole = self.execute({"in": x}, config)
        for block in blocks:
            np.testing.assert_array_equal(self.execute({"in": x}, config, "--block", block), whole, str(block))
        return whole

    def test_a_function_of_samples(self):
        for shape in ((0,), (1,), (3001,), (3, 500)):
            x = noise(*shape)
            np.testing.assert_array_equal(self.every_cut(x, "scale", "params.k=2.5"), np.float32(2.5) * x)

    def test_the_past_is_zero_where_there_is_none(self):
        x = noise(3001)
        padded = np.concatenate([np.zeros(3, np.complex64), x])
        expected = sum(padded[3 - i:3 - i + len(x)] for i in range(4)) / np.float32(4)
        np.testing.assert_array_equal(self.every_cut(x, "mean", "past=3"), expected)

    def test_past_and_future_of_several_channels(self):
        x = noise(2, 3001)
        padded = np.concatenate([np.zeros((2, 2)), x, np.zeros((2, 3))], 1).astype(np.complex64)
        np.testing.assert_array_equal(self.every_cut(x, "around", "past=2", "future=3"),
                                      padded[:, 2:-3] - 2 * padded[:, :-5] + 3 * padded[:, 5:])

    def test_a_ratio_of_rates(self):
        x = noise(2, 3007)
        y = x[:, :3000].reshape(2, 300, 10)
        expected = np.stack([y.real.max(-1), y.imag.min(-1), y[..., 0].real], -1).reshape(2, -1)
        got = self.every_cut(x, "groups", "decimation=10", "interpolation=3", "past=5", "out.element=f32")
        np.testing.assert_array_equal(got, expected)

    def test_frames_of_bins(self):
        x = noise(1607)
        got = self.every_cut(x, "spectrum", "decimation=16", "out={element: f32, dims: '[frame][bin 16]'}")
        np.testing.assert_array_equal(got, np.abs(np.fft.fft(x[:1600].reshape(100, 16))).astype("f4"))

    def test_items_that_it_finds(self):
        x = noise(3001)
        got = self.every_cut(x, "loud", "params.threshold=2.5", "past=7", blocks=(),
                             *["out={element: i64, dims: '[find][value 2]', most: 500}"])
        np.testing.assert_array_equal(got[:, 0], np.flatnonzero(np.abs(x) > 2.5))
        config = ["file=mine.py", "function=loud", "params.threshold=2.5",
                  "out={element: i64, dims: '[find][value 2]', most: 500}"]
        cut = self.execute({"in": x}, config, "--block", "64")
        np.testing.assert_array_equal(cut[:, 0], got[:, 0])

    def test_two_inputs_and_other_types(self):
        a, b = np.arange(100, dtype="<i4"), np.arange(100, 200, dtype="<i4")
        self.write("f.py", "def f(x0, x1, meta, n): return x0 - n * x1")
        y = self.execute({"in0": a, "in1": b}, ["file=f.py", "in=[i32, i32]", "out.element=i64", "params.n=3"])
        np.testing.assert_array_equal(y, a - 3 * b)
        pairs = np.arange(20, dtype="<i2").reshape(10, 2)
        self.write("f.py", "def f(x, meta): return x[..., ::-1]")
        y = self.execute({"in": pairs}, ["file=f.py", "in=[sc16]", "out.element=sc16"])
        np.testing.assert_array_equal(y, pairs[:, ::-1])

    def test_channels_become_one(self):
        x = noise(2, 3001)
        np.testing.assert_array_equal(self.every_cut(x, "together", "out.dims='[sum 1][n]'"),
                                      x[0] + np.complex64(1j) * x[1])

    def test_parameters_have_the_types_that_they_look_like(self):
        values = {"a": "2", "b": "2.5", "c": "0.3-0.1j", "d": "true", "e": "[1, [2, x], 'a, b', []]", "g": "fast", "h": "null"}
        self.write("f.py", "def f(x, meta, **p):\n  assert p == dict(a=2, b=2.5, c=0.3-0.1j, d=True, e=[1, [2, 'x'], 'a, b', []], "
                "g='fast', h=None), p\n  assert type(p['a']) is int and type(p['d']) is bool\n  return x")
        self.execute({"in": noise(3)}, ["file=f.py", *(f"params.{k}={v}" for k, v in values.items())])

    def test_what_it_knows_of_a_block(self):
        self.write("f.py", '''def f(x, meta):
  assert meta.sample == meta.position and meta.n == x.shape[1] - 7 and (meta.past, meta.future) == (5, 2), meta
  assert meta.valid_past == min(5, meta.position) and meta.valid_future == min(2, 200 - meta.position - meta.n), meta
  assert meta.fresh == (meta.position == 0) and meta.gap == 0 and meta.channels == ("0",) and meta.rate == 2e6, meta
  assert not x.flags.writeable and not x[0, :5 - meta.valid_past].any()
  return meta.position + x[:, 5:-2] * 0''')
        for block in ("200", "64", "3"):
            y = self.execute({"in": np.ones(200, "c8")}, ["file=f.py", "past=5", "future=2"], "--block", block, "--rate", "2e6")
            np.testing.assert_array_equal(y, np.arange(200) // int(block) * int(block))

    def pipeline(self, stage, more=""):
        self.write("p.yaml", f"""source:
  generate: {{rate: 1e6, samples: 4096}}
stages:
  - python: {stage}
{more}publish:
  - {{port: python.out, topic: t, bind: "tcp://127.0.0.1:{iqd.free_port()}"}}
""")

    def refused(self, stage, start, *words):
        """`check` and `run` report these words. `start`: how the line begins; `@key` is the key's place."""
        self.pipeline(stage)
        start = re.sub(r"^@(\w+)", lambda key: f"p.yaml:4:{len('  - python: ') + stage.index(key[1]) + 1}", start)
        for verb in ("check", "run"):
            lines = self.iqd(verb, "p.yaml", code=2).stderr.splitlines()
            self.assertEqual(len(lines), 1, lines)
            self.assertTrue(lines[0].startswith(start), (lines[0], start))
            for word in words:
                self.assertIn(word, lines[0])

    def test_mistakes_have_a_place(self):
        self.write("bad.py", "import numpy as np\n\ndef f(x, meta):\n    return x +\n")
        self.write("lacks.py", "def g(x, meta): return x\nimport no_such_module\n")
        self.write("sum.py", "def f(x): return x\n")
        self.write("helped.py", "import helper\ndef f(x, meta): return x\n")
        self.write("helper.py", "\n\nx = 1 / 0\n")
        self.write("empty.py", "\n")
        self.write("secret.py", "x")
        (self.folder / "secret.py").chmod(0)
        self.refused("{file: bad.py}", "bad.py:4:15 stages[0].python: SyntaxError: invalid syntax")
        self.refused("{file: lacks.py}", "lacks.py:2 stages[0].python: ModuleNotFoundError", "no_such_module")
        self.refused("{file: mine.py}", "mine.py stages[0].python: there is no function f", "scale, mean, around")
        self.refused("{file: sum.py}", "sum.py:1 stages[0].python: f takes 1 array", "expected f(x, meta, …)")
        self.refused("{file: helped.py}", str(self.folder / "helper.py") + ":3 stages[0].python: ZeroDivisionError")
        self.refused("{file: none.py}", "@file stages[0].python.file: none.py", "cannot be read")
        self.refused("{file: empty.py}", "@file stages[0].python.file: empty.py is empty")
        if os.geteuid() != 0:
            self.refused("{file: secret.py}", "@file stages[0].python.file: secret.py cannot be read")
        self.refused("{file: mine.py, function: scale}", "p.yaml:4:", "parameter 'k' of scale has no value")
        self.refused("{file: mine.py, function: mean, params: {tabs: 3}}", "p.yaml:4:", "mean has no parameter 'tabs'",
                     "did you mean 'taps'")
        self.refused("{code: \"def f(x, meta): return x\", file: mine.py}", "@code stages[0].python.code: `file` is set")
        self.refused("{}", "p.yaml:4:", "needs `file:`")
        self.refused("{file: mine.py, interpreter: /usr/bin/nopython}", "@interpreter stages[0].python.interpreter",
                     "apt install python3")
        self.refused("{file: mine.py, function: spectrum, out: {dims: \"[bin\"}}", "p.yaml:4:", "is not a list of dimensions")
        self.refused("{file: mine.py, function: spectrum, out: {dims: \"[beam][n]\"}}", "p.yaml:4:", "needs an extent")

    def test_a_python_without_numpy(self):
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", self.folder / "bare"], check=True)
        self.refused(f"{{file: mine.py, function: around, interpreter: {self.folder}/bare/bin/python}}", "p.yaml:4",
                     "has no NumPy", "python3-numpy")

    def test_another_interpreter_has_modules_of_its_own(self):
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", "--system-site-packages", self.folder / "own"],
                       check=True)
        (site,) = (self.folder / "own" / "lib").glob("python*/site-packages")
        (site / "ours.py").write_text("answer = 42\n", encoding="utf-8")
        self.write("f.py", "import ours\ndef f(x, meta): return x * ours.answer")
        config = ["file=f.py"]
        y = self.execute({"in": np.ones(5, "c8")}, [*config, f"interpreter={self.folder}/own/bin/python"])
        np.testing.assert_array_equal(y, np.full(5, 42))
        self.assertIn("No module named 'ours'", self.execute({"in": np.ones(5, "c8")}, config, code=2))

    def test_a_model(self):
        (self.folder / "detector.onnx").write_bytes(b"no model")
        self.refused("{file: detector.onnx}", "p.yaml:4", "has no ONNX Runtime", "pip install onnxruntime")
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", "--system-site-packages", self.folder / "own"],
                       check=True)
        (site,) = (self.folder / "own" / "lib").glob("python*/site-packages")
        (site / "onnxruntime.py").write_text('''
class Port:
    def __init__(self, name): self.name = name
class SessionOptions: pass
class InferenceSession:
    def __init__(self, path, options, providers):
        assert open(path, "rb").read() == b"no model"
    def get_inputs(self): return [Port("samples"), Port("gain")]
    def get_outputs(self): return [Port("result")]
    def run(self, names, feed):
        assert names == ["result"] and feed["samples"].dtype == "float32" and feed["samples"].shape[-1] == 2
        return [feed["gain"] * feed["samples"].sum(-1)]
''', encoding="utf-8")
        x = noise(100)
        y = self.execute({"in": x}, ["file=detector.onnx", f"interpreter={self.folder}/own/bin/python", "params.gain=2",
                                     "out.element=f32"])
        np.testing.assert_allclose(y, 2 * (x.real + x.imag), rtol=1e-6)

    def test_where_there_is_no_part_in_python_that_is_said(self):
        self.pipeline("{file: mine.py, function: around, past: 2, future: 3}")
        done = self.iqd("check", "p.yaml", code=2, env={**os.environ, "IQD_PYTHON_WORKER": "/none"})
        self.assertIn("apt install python3-iqd", done.stderr)

    def test_a_part_of_another_version_is_refused(self):
        own = pathlib.Path(iqd.__file__).parents[2] / "python" / "iqd"
        for script in own.glob("_worker*.py"):
            text = script.read_text(encoding="utf-8")
            self.write(script.name, text.replace("PROTOCOL = ", "PROTOCOL = 1000 + "))
        self.pipeline("{file: mine.py, function: around, past: 2, future: 3}")
        done = self.iqd("check", "p.yaml", code=2, env={**os.environ, "IQD_PYTHON_WORKER": str(self.folder / "_worker.py")})
        self.assertIn("another version of iqd", done.stderr)

    def test_a_changed_module_is_read_by_a_reload(self):
        self.write("helper.py", "gain = 2\n")
        self.write("f.py", "import helper\ndef f(x, meta): return helper.gain * x\n")
        where = iqd.endpoint()
        text = f"""name: p
source: {{generate: {{rate: 1e6, pace: true}}}}
stages:
  - signal_source: {{waveform: constant}}
  - python: {{file: f.py}}
publish:
  - {{port: python.out, topic: t, bind: "{where}"}}
"""
        with self.daemon(text) as daemon:
            reader = self.reader(where, "t")
            self.collect(reader, lambda m: abs(m.x[0]) == 2)
            self.write("helper.py", "gain = 3\n")
            daemon.signal(signal.SIGHUP)
            daemon.wait_for_log("python.file changed between two blocks")
            messages = self.collect(reader, lambda m: abs(m.x[0]) == 3)
            self.assertContinuous(messages)
            for m in messages:
                self.assertEqual(len(set(m.x.tolist())), 1, "a block has one function")
            self.assertEqual(daemon.stop(), 0, daemon.text)

    def test_over_http_values_change_and_code_does_not(self):
        port = iqd.free_port()
        text = f"""name: p
source: {{generate: {{rate: 1e6, pace: true}}}}
stages:
  - python: {{file: mine.py, function: scale, params: {{k: 2}}}}
publish:
  - {{port: python.out, topic: t, bind: "{iqd.endpoint()}"}}
monitor: {{listen: "127.0.0.1:{port}"}}
"""

        patch = functools.partial(iqd.patch, port, "python")

        with self.daemon(text) as daemon:
            daemon.wait_for(lambda p: p["published"] > 0)
            soon = "python.params changed at once"
            self.assertIn(soon, patch(params={"k": 3}))
            self.assertIn(soon, patch(**{"params.k": 8}))
            for key, value in (("file", "other.py"), ("file", "/etc/passwd"), ("function", "mean"), ("code", MINE),
                               ("past", 3), ("interpreter", "/bin/sh"), ("workers", 2), ("memory", "2 GiB")):
                self.assertEqual(json.loads(patch(**{key: value}))["problems"],
                                 [f"python.{key} cannot be set live: change it in the file and reload"])
            self.assertIn("has no parameter 'q'", patch(params={"k": 3, "q": 1}))
            # A reload reads a changed file; a file with a mistake changes nothing, and PATCH continues with what runs.
            self.write("mine.py", MINE + "\ndef scale(x, meta, k): return x +\n")
            self.assertIn(soon, patch(params={"k": 4}))
            daemon.signal(signal.SIGHUP)
            daemon.wait_for_log("reload refused: ")
            self.assertIn("mine.py:", daemon.text)
            self.assertIn("SyntaxError", daemon.text)
            self.write("mine.py", MINE.replace("k * x", "-k * x"))
            daemon.signal(signal.SIGHUP)
            daemon.wait_for_log("python.file changed between two blocks")
            self.assertEqual(daemon.stop(), 0, daemon.text)
            self.assertConserved(daemon.final[0])
            self.assertEqual(daemon.final[0]["published"], daemon.final[0]["received"])


if __name__ == "__main__":
    unittest.main()
